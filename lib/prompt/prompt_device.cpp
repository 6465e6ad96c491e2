#include <kernelgen/prompt/prompt_device.hpp>

#include <algorithm>

#include <fmt/format.h>

#include <kernelgen/platform/platform.hpp>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// One that is not here, by its name in the catalog.
Result<GpuFacts> find_in_catalog(const GpuCatalog& catalog, const std::string& name, const std::string& vendor) {
  const auto models = find_gpu_models(catalog, name);
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const auto* model) { return serves_vendor(model->facts.vendor, vendor); });
  if (found != models.end()) return (*found)->facts;
  if (!models.empty())
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is no GPU for this target", models.front()->facts.name)};
  return Error{ErrorCode::NotFound, fmt::format("unknown GPU {}: it is neither here nor in the catalog of GPUs", name)};
}

Error missing(const Error& error, Target target) {
  return {ErrorCode::MissingDevice,
          fmt::format("target {} needs a GPU: {}; have it judged where one is", to_string(target), error.message)};
}

PromptDevice of_gpu(const GpuFacts& gpu) { return {device_facts(gpu), gpu}; }

Result<PromptDevice> of_cpu() {
  KERNELGEN_TRY(const auto facts, read_cpu_facts());
  return PromptDevice{device_facts(facts), std::nullopt};
}

GpuInventory read_fitting(const PromptDeviceOptions& options, const GpuCatalog& catalog, ProcessRunner& runner,
                          const std::stop_token& stop) {
  // The cache only tells what was measured before.
  const GpuProbeOptions probe{
      .program = options.installation.gpu_probe, .environment = options.environment, .cache_dir = options.cache_dir};
  const auto reading = read_gpus(probe, catalog, runner, stop);
  // If the GPUs of a machine cannot be listed, it counts as having none; the reason is shown where a GPU is needed.
  if (!reading) return {{}, reading.error().message};
  return gpus_for(*reading, traits_of(options.target).gpu_vendor);
}

/// "cpu: AMD EPYC 7B13, 2 cores" of a record.
PromptDevice of_recorded_cpu(const std::string& line) {
  const auto here = read_cpu_facts();
  if (here && here->to_line() == line) return {device_facts(*here), std::nullopt};
  constexpr std::string_view k_prefix = "cpu: ";
  return {{{"processor", line.rfind(k_prefix, 0) == 0 ? line.substr(k_prefix.size()) : line}}, std::nullopt};
}

}  // namespace

Result<PromptDevice> find_prompt_device(const PromptDeviceOptions& options, ProcessRunner& runner,
                                        const std::stop_token& stop) {
  const bool needs = needs_gpu(options.target);
  if (traits_of(options.target).device == TargetDevice::Cpu || (!needs && options.device == "cpu")) return of_cpu();
  if (options.device == "cpu" && options.is_judged_here)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("target {} needs a GPU, not the cpu: there it has no time to be improved",
                             to_string(options.target))};
  KERNELGEN_TRY(const auto catalog, read_gpu_catalog(options.installation.devices_dir));
  const auto reading = read_fitting(options, catalog, runner, stop);
  const auto& asked = options.gpu.empty() ? options.device : options.gpu;
  const auto chosen = choose_gpu(reading, catalog, asked);
  if (chosen) {
    auto device = of_gpu(*chosen);
    if (options.is_judged_here && options.device.empty())
      device.gpu_count = static_cast<int>(gpus_like_first(reading).size());
    return device;
  }
  if (options.is_judged_here && (needs || !options.device.empty())) return missing(chosen.error(), options.target);
  // A GPU that is here is not contradicted by a name.
  if (!options.gpu.empty() && !reading.gpus.empty()) return chosen.error();
  if (!options.gpu.empty()) {
    KERNELGEN_TRY(const auto facts, find_in_catalog(catalog, options.gpu, traits_of(options.target).gpu_vendor));
    return of_gpu(facts);
  }
  return needs ? Result<PromptDevice>(PromptDevice{}) : of_cpu();
}

PromptDevice prompt_device_of(const EnvironmentReport& environment, const GpuCatalog& catalog) {
  const auto& line = environment.device;
  if (line.empty()) return {};
  if (environment.device_uuid.empty()) return of_recorded_cpu(line);
  // GpuFacts::to_line(): "NVIDIA H200 (sm_90), 132 SMs, 140 GiB".
  const auto name = line.substr(0, line.find(" ("));
  const auto models = find_gpu_models(catalog, name);
  GpuFacts gpu;
  if (!models.empty()) gpu = models.front()->facts;
  gpu.name = name;
  gpu.uuid = environment.device_uuid;
  // What the catalog does not know is in the line.
  auto facts = models.empty() ? std::vector<DeviceFact>{{"device", line}} : device_facts(gpu);
  return {std::move(facts), std::move(gpu)};
}

void set_prompt_gpu(PromptRequest& request, const std::optional<GpuFacts>& gpu) {
  request.on_gpu = gpu.has_value();
  request.gpu_vendor = gpu ? gpu->vendor : "";
  request.gpu_architecture = gpu ? gpu->architecture : "";
  request.gpu = gpu;
}

}  // namespace v0
}  // namespace kernelgen
