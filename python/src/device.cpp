#include "device.hpp"

#include <utility>

#include <kernelgen/bench/local_judge.hpp>

namespace kernelgen_python {

using namespace kernelgen;

Result<std::optional<GpuFacts>> choose_device(const std::string& device, std::optional<Target> target,
                                              const Installation& installation, ProcessRunner& runner,
                                              const std::stop_token& stop) {
  const bool needs = target && needs_gpu(*target);
  if (device == "cpu" && needs) {
    return Error{ErrorCode::InvalidArgument,
                 "option device is \"cpu\"; a " + std::string(to_string(*target)) + " candidate runs on a GPU"};
  }
  if (device == "cpu" || (target && traits_of(*target).device == TargetDevice::Cpu)) return std::optional<GpuFacts>();
  const auto catalog = read_gpu_catalog(installation.devices_dir);
  if (!catalog) return Error(catalog.error());
  const auto found = read_gpus(
      {.program = installation.gpu_probe, .environment = clean_environment(current_environment()), .cache_dir = {}},
      *catalog, runner, stop);
  if (!found) return Error(found.error());
  auto gpu = choose_gpu(gpus_for(*found, target ? traits_of(*target).gpu_vendor : ""), *catalog, device);
  if (gpu) return std::optional(*std::move(gpu));
  if (device.empty() && !needs && gpu.error().code == ErrorCode::MissingDevice) return std::optional<GpuFacts>();
  return std::move(gpu).error();
}

Result<std::unique_ptr<KernelCompiler>> open_compiler(LocalCompilerOptions options, ProcessRunner& runner) {
  if (options.cache_dir.empty()) {
    auto directory = default_cache_dir(current_environment());
    if (!directory) return std::move(directory).error();
    options.cache_dir = *std::move(directory);
  }
  return make_local_compiler(options, runner);
}

}  // namespace kernelgen_python
