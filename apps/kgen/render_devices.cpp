#include "render_devices.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include <kernelgen/platform/platform.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "core/json.hpp"
#include "device/gpu_json.hpp"
#include "support/text.hpp"
#include "support/units.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_shown_line_bytes = 300;

std::string fact(std::string_view name, std::string_view text) {
  return fmt::format("   {:<20}{}\n", name, sanitize_line(text, k_shown_line_bytes));
}

/// A rate in units of 10^12; "-" where it is unknown.
std::string tera(const std::optional<double>& per_second, int digits = 0) {
  return per_second ? fmt::format("{:.{}f}", *per_second / 1e12, digits) : "-";
}

}  // namespace

std::string render_devices(const CpuFacts& cpu, const GpuInventory& reading, const GpuUses& uses) {
  std::string text = cpu.to_line() + '\n';
  if (reading.gpus.empty()) text += "no GPU: " + sanitize_line(reading.reason, k_shown_line_bytes) + '\n';
  for (const auto& gpu : reading.gpus) {
    text += fmt::format("GPU {}: {}{}\n", gpu.index, sanitize_line(gpu.name, k_shown_line_bytes),
                        gpu.integrated ? " (integrated: chosen last)" : "");
    text += fact("UUID", gpu.uuid);
    const auto& platform = platform_of(gpu.vendor);
    if (gpu.driver_version > 0)
      text += fact("driver", fmt::format("for {} {}", platform.toolkit, format_driver_version(gpu.driver_version)));
    auto facts = device_facts(gpu);
    for (const auto& [name, value] : facts)
      if (name != "device") text += fact(name, value);
    if (const auto use = uses.find(gpu.uuid); use != uses.end() && !use->second.to_line().empty())
      text += fact("now", use->second.to_line());
    if (!platform.label.empty()) text += fact("note", platform.label);
  }
  // Without any GPU, the reason says it.
  if (!reading.gpus.empty())
    for (const auto& [vendor, why] : reading.absent) text += sanitize_line(why, k_shown_line_bytes) + '\n';
  return text;
}

std::string devices_to_json(const CpuFacts& cpu, const GpuInventory& reading, const GpuUses& uses) {
  boost::json::array gpus;
  for (const auto& gpu : reading.gpus) {
    auto facts = to_value(gpu);
    const auto use = uses.find(gpu.uuid);
    facts.as_object()["use"] = use == uses.end() ? boost::json::value() : to_value(use->second);
    gpus.push_back(std::move(facts));
  }
  boost::json::object absent;
  for (const auto& [vendor, why] : reading.absent) absent[vendor] = why;
  return to_pretty_json(boost::json::object{
      {"cpu", cpu.to_line()}, {"gpus", std::move(gpus)}, {"reason", reading.reason}, {"absent", std::move(absent)}});
}

std::string render_catalog(const GpuCatalog& catalog) {
  std::string text = fmt::format("{:<16}{:<8}{:>5}{:>12}{:>8}{:>9}{:>7}{:>7}{:>7}{:>7}\n", "", "", "", "shared KiB",
                                 "L2 MiB", "mem GiB", "TB/s", "fp32", "tf32", "fp16");
  for (const auto& [gpu, also, source] : catalog) {
    const auto shared_kib = gpu.shared_bytes_per_block_optin >> 10;
    text += fmt::format("{:<16}{:<8}{:>5}{:>12}{:>8.0f}{:>9.0f}{:>7}{:>7}{:>7}{:>7}\n", gpu.name, gpu.architecture,
                        gpu.multiprocessors, shared_kib == 0 ? "-" : std::to_string(shared_kib),
                        double(gpu.l2_bytes) / k_mib, double(gpu.memory_bytes) / k_gib,
                        tera(gpu.memory_bytes_per_second, 2), tera(gpu.fp32_per_second), tera(gpu.tf32_per_second),
                        tera(gpu.fp16_per_second));
  }
  return text +
         "Multiprocessors (SMs or CUs; pairs of CUs with RDNA); shared memory of a block; rates in TFLOP/s,\n"
         "tf32 and fp16 of the matrix units without sparsity. --json has everything, and where it is from.\n";
}

std::string catalog_to_json(const GpuCatalog& catalog) {
  boost::json::array gpus;
  for (const auto& model : catalog) gpus.push_back(to_value(model));
  return to_pretty_json(boost::json::object{{"gpus", std::move(gpus)}});
}

}  // namespace kernelgen::cli
