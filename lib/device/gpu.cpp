#include <kernelgen/device/gpu.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include <kernelgen/platform/platform.hpp>

#include "device/gpu_json.hpp"
#include "device/gpu_program.hpp"
#include "device/kept_fact.hpp"
#include "platform/cards.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// What it says without any driver.
constexpr std::string_view k_no_driver = "there is no GPU driver";
/// The first use of a driver after boot, without its persistence service, can take many seconds for each device.
constexpr std::chrono::seconds k_facts_timeout{120};
constexpr std::chrono::seconds k_bandwidth_timeout{120};
constexpr int k_kept_schema = 1;
/// A copy reaches 0.8 and more of the peak. Below this, another process used the device, so the result is not kept.
constexpr double k_min_share = 0.5;

struct Measurement {
  int schema = 0;
  std::string uuid;
  int driver_version = 0;
  double copy_bytes_per_second = 0;
};
BOOST_DESCRIBE_STRUCT(Measurement, (), (schema, uuid, driver_version, copy_bytes_per_second))

fs::path measurement_file(const GpuFacts& gpu, const fs::path& cache_dir) {
  return kept_fact_file(gpu, cache_dir, ".json");
}

std::optional<double> read_measurement(const GpuFacts& gpu, const fs::path& cache_dir) {
  const auto kept = read_kept_fact<Measurement>(measurement_file(gpu, cache_dir), k_kept_schema, gpu);
  if (!kept || !(kept->copy_bytes_per_second > 0)) return std::nullopt;
  return kept->copy_bytes_per_second;
}

void keep_measurement(const GpuFacts& gpu, double bytes_per_second, const fs::path& cache_dir) {
  keep_fact(measurement_file(gpu, cache_dir),
            Measurement{k_kept_schema, gpu.uuid, gpu.driver_version, bytes_per_second});
}

/// The model that is most like the device, if several share its name.
const GpuModel* model_of(const GpuFacts& gpu, const GpuCatalog& catalog) {
  const auto distance = [&](const GpuModel* model) {
    const auto have = model->facts.memory_bytes;
    return have > gpu.memory_bytes ? have - gpu.memory_bytes : gpu.memory_bytes - have;
  };
  const GpuModel* best = nullptr;
  for (const auto* model : find_gpu_models(catalog, gpu.name)) {
    if (model->facts.architecture != gpu.architecture || model->facts.multiprocessors != gpu.multiprocessors) continue;
    if (best == nullptr || distance(model) < distance(best)) best = model;
  }
  return best;
}

void fill_in(GpuFacts& gpu, const GpuCatalog& catalog) {
  if (const auto* model = model_of(gpu, catalog)) {
    gpu.model = model->facts.name;
    gpu.memory_cache_bytes = model->facts.memory_cache_bytes;
    gpu.memory_bytes_per_second = model->facts.memory_bytes_per_second;
    gpu.fp32_per_second = model->facts.fp32_per_second;
    gpu.tf32_per_second = model->facts.tf32_per_second;
    gpu.fp16_per_second = model->facts.fp16_per_second;
    gpu.cluster_blocks = model->facts.cluster_blocks;
    gpu.cluster_blocks_optin = model->facts.cluster_blocks_optin;
    gpu.cluster_barrier_ns = model->facts.cluster_barrier_ns;
    gpu.grid_barrier_ns = model->facts.grid_barrier_ns;
  } else if (gpu.memory_clock_khz > 0 && gpu.memory_bus_bits > 0) {
    // Data is transferred at both edges of the clock.
    gpu.memory_bytes_per_second = 2.0 * gpu.memory_clock_khz * 1e3 * gpu.memory_bus_bits / 8;
  }
}

/// The variables that may hide GPUs: "ROCR_VISIBLE_DEVICES is '9': unset it, or name devices that are there"; empty
/// without any.
std::string explain_hiding(const std::vector<const Platform*>& of, const GpuProbeOptions& options) {
  std::set<std::string> names;
  for (const auto* platform : of) names.insert(platform->hiding_variables.begin(), platform->hiding_variables.end());
  std::vector<std::string> set;
  for (const auto& name : names)
    if (const auto hidden = options.environment.find(name); hidden != options.environment.end())
      set.push_back(fmt::format("{} is '{}'", name, sanitize_line(hidden->second, 100)));
  if (set.empty()) return {};
  return fmt::format("{}: unset {}, or name devices that are there", join(set, " and "),
                     set.size() == 1 ? "it" : "them");
}

/// Why there is no GPU of a platform of which the machine has a card.
std::string explain_card(const Platform& platform, const GpuProbeOptions& options) {
  if (const auto problem = platform.find_node_problem(options.root))
    return fmt::format("there is an {} card, but {}: {}", platform.maker, problem->what, problem->remedy);
  if (const auto hiding = explain_hiding({&platform}, options); !hiding.empty())
    return fmt::format("there is an {} card, and {}", platform.maker, hiding);
  return fmt::format("there is an {} card, and its driver shows no GPU: {}", platform.maker, platform.driver_remedy);
}

/// Why no GPU is visible, with what may hide it.
std::string explain_absence(std::string reason, const GpuInventory& reading, const GpuProbeOptions& options) {
  for (const auto& [vendor, why] : reading.absent)
    // The driver's own reason may be this one.
    if (!contains(reason, "/dev/") && platform_of(vendor).find_node_problem(options.root))
      return contains(reason, k_no_driver) ? why : reason + "; " + why;
  if (contains(reason, k_no_driver)) return reason;
  const auto hiding = explain_hiding(platforms(), options);
  return hiding.empty() ? reason : reason + ", and " + hiding;
}

/// Explains each card of which there is no GPU.
void explain_cards(GpuInventory& reading, const GpuProbeOptions& options) {
  for (const auto* card : cards_on_bus(options.root))
    if (std::none_of(reading.gpus.begin(), reading.gpus.end(),
                     [&](const auto& gpu) { return gpu.vendor == card->vendor; }))
      reading.absent[card->vendor] = explain_card(*card, options);
}

}  // namespace

std::string GpuFacts::to_line() const {
  return fmt::format("{} ({}), {} {}s, {:.0f} GiB", name, architecture, multiprocessors,
                     platform_of(vendor).words.multiprocessor, static_cast<double>(memory_bytes) / (1ULL << 30));
}

std::string format_driver_version(int driver_version) {
  return fmt::format("{}.{}", driver_version / 1000, driver_version % 1000 / 10);
}

Result<GpuInventory> read_gpus(const GpuProbeOptions& options, const GpuCatalog& catalog, ProcessRunner& runner,
                               std::stop_token stop) {
  KERNELGEN_TRY(const auto outcome, run_gpu_probe(options, {"facts"}, k_facts_timeout, runner, std::move(stop)));
  GpuInventory reading;
  if (outcome.exit_code == k_probe_lacks_device) {
    explain_cards(reading, options);
    reading.reason = explain_absence(probe_error_line(outcome), reading, options);
    return reading;
  }
  if (!outcome.success()) return Error{ErrorCode::Unavailable, "cannot ask for GPUs: " + probe_error_line(outcome), {}};
  for (const auto line : split_lines(outcome.standard_output)) {
    const auto json = parse_json(line);
    if (!json) return unreadable_probe(json.error().message);
    auto gpu = from_value<GpuFacts>(*json);
    if (!gpu) return unreadable_probe(gpu.error().message);
    if (gpu->uuid.empty()) return unreadable_probe("a device without a UUID");
    fill_in(*gpu, catalog);
    gpu->measured_bytes_per_second = read_measurement(*gpu, options.cache_dir);
    reading.gpus.push_back(std::move(*gpu));
  }
  std::stable_partition(reading.gpus.begin(), reading.gpus.end(), [](const auto& gpu) { return !gpu.integrated; });
  explain_cards(reading, options);
  if (reading.gpus.empty()) reading.reason = explain_absence("the driver lists no device", reading, options);
  return reading;
}

Result<double> measure_gpu_bandwidth(const GpuFacts& gpu, const GpuProbeOptions& options, ProcessRunner& runner,
                                     std::stop_token stop) {
  if (const auto kept = read_measurement(gpu, options.cache_dir)) return *kept;
  KERNELGEN_TRY(const auto outcome,
                run_gpu_probe(options, {"bandwidth", gpu.uuid}, k_bandwidth_timeout, runner, std::move(stop)));
  if (outcome.exit_code == k_probe_lacks_device)
    return Error{
        ErrorCode::MissingDevice, "cannot measure the bandwidth of " + gpu.name + ": " + probe_error_line(outcome), {}};
  if (!outcome.success())
    return Error{
        ErrorCode::Unavailable, "cannot measure the bandwidth of " + gpu.name + ": " + probe_error_line(outcome), {}};
  const auto json = parse_json(outcome.standard_output);
  if (!json) return unreadable_probe(json.error().message);
  const auto measured = from_value<Measurement>(*json);
  if (!measured) return unreadable_probe(measured.error().message);
  if (!(measured->copy_bytes_per_second > 0)) return unreadable_probe("no bandwidth");
  if (measured->copy_bytes_per_second >= k_min_share * gpu.memory_bytes_per_second.value_or(0))
    keep_measurement(gpu, measured->copy_bytes_per_second, options.cache_dir);
  return measured->copy_bytes_per_second;
}

}  // namespace v0
}  // namespace kernelgen
