#include "prompt_device.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>

#include "device_facts.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// Whose GPUs a target runs on; empty: anybody's.
std::string vendor_of(Target target) {
  switch (target) {
    case Target::Cuda:
      return "nvidia";
    case Target::Hip:
    case Target::Hipkittens:
      return "amd";
    case Target::Cpp:
    case Target::Triton:
    case Target::Torch:
      return "";
  }
  return "";
}

bool fits(const GpuFacts& gpu, const std::string& vendor) {
  // The tests' device stands for all.
  return vendor.empty() || gpu.vendor == vendor || gpu.vendor == "fake";
}

/// One that is not here, by its name in the catalog.
Result<GpuFacts> find_in_catalog(const GpuCatalog& catalog, const std::string& name, const std::string& vendor) {
  const auto models = find_gpu_models(catalog, name);
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const auto* model) { return fits(model->facts, vendor); });
  if (found != models.end()) return (*found)->facts;
  if (!models.empty())
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is no GPU for this target", models.front()->facts.name)};
  return Error{ErrorCode::NotFound, fmt::format("unknown GPU {}; kgen devices --all lists those that are known", name)};
}

Error missing(const Error& error, Target target) {
  return {ErrorCode::MissingDevice,
          fmt::format("target {} needs a GPU: {}; have it judged where one is: --launch-prefix \"ssh NODE\" or --spool "
                      "DIR, and --gpu NAME for the prompts",
                      to_string(target), error.message)};
}

PromptDevice of_gpu(const GpuFacts& gpu) { return {device_facts(gpu), gpu}; }

Result<PromptDevice> of_cpu() {
  KERNELGEN_TRY(const auto facts, read_cpu_facts());
  return PromptDevice{device_facts(facts), std::nullopt};
}

GpuInventory read_fitting(const PromptDeviceOptions& options, const Installation& installation,
                          const GpuCatalog& catalog, Context& context) {
  GpuProbeOptions probe{.program = installation.gpu_probe, .environment = context.environment.clean, .cache_dir = {}};
  // Only to know what was measured before.
  if (const auto cache_dir = choose_cache_dir(options.cache_dir, context.environment)) probe.cache_dir = *cache_dir;
  auto reading = read_gpus(probe, catalog, context.processes, context.stop);
  // A machine whose GPUs cannot be asked has none; the reason is told where one is needed.
  if (!reading) return {{}, reading.error().message};
  const auto vendor = vendor_of(options.target);
  auto& gpus = reading->gpus;
  const auto others = std::remove_if(gpus.begin(), gpus.end(), [&](const auto& gpu) { return !fits(gpu, vendor); });
  if (others != gpus.end() && others == gpus.begin())
    reading->reason = fmt::format("{} is no GPU for it", gpus.front().name);
  gpus.erase(others, gpus.end());
  return *std::move(reading);
}

}  // namespace

Result<PromptDevice> find_prompt_device(const PromptDeviceOptions& options, Context& context) {
  const bool native = is_native(options.target);
  if (options.target == Target::Cpp || (!native && options.device == "cpu")) return of_cpu();
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto catalog, read_gpu_catalog(installation.devices_dir));
  const auto reading = read_fitting(options, installation, catalog, context);
  const auto& asked = options.gpu.empty() ? options.device : options.gpu;
  const auto chosen = choose_gpu(reading, catalog, asked);
  if (chosen) {
    auto device = of_gpu(*chosen);
    if (options.judged_here && options.device.empty())
      device.judging = static_cast<int>(gpus_like_first(reading).size());
    return device;
  }
  if (options.judged_here && (native || !options.device.empty())) return missing(chosen.error(), options.target);
  // A GPU that is here is not contradicted by a name.
  if (!options.gpu.empty() && !reading.gpus.empty()) return chosen.error();
  if (!options.gpu.empty()) {
    KERNELGEN_TRY(const auto facts, find_in_catalog(catalog, options.gpu, vendor_of(options.target)));
    return of_gpu(facts);
  }
  return native ? Result<PromptDevice>(PromptDevice{}) : of_cpu();
}

}  // namespace kernelgen::cli
