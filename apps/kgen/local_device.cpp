#include "local_device.hpp"

#include <utility>

#include <kernelgen/compile/local_compiler.hpp>

#include "support/try.hpp"

namespace kernelgen::cli {

Result<PromptDevice> find_prompt_device(PromptDeviceOptions options, Context& context) {
  KERNELGEN_TRY(options.installation, context.find_installation());
  // Without a cache directory, bandwidths that were measured before are not known.
  if (const auto cache = choose_cache_dir(options.cache_dir.string(), context.environment)) options.cache_dir = *cache;
  options.environment = context.environment.clean;
  return kernelgen::find_prompt_device(options, context.processes, context.stop);
}

Result<std::unique_ptr<KernelCompiler>> make_local_compiler(std::optional<GpuFacts> gpu, const std::string& cache_dir,
                                                            const Installation& installation, Context& context) {
  LocalCompilerOptions options{
      .installation = installation, .gpu = std::move(gpu), .environment = context.environment.clean};
  KERNELGEN_TRY(options.cache_dir, choose_cache_dir(cache_dir, context.environment));
  return kernelgen::make_local_compiler(options, context.processes);
}

Result<std::unique_ptr<Profiler>> make_profiler(const std::string& python,
                                                std::optional<std::chrono::milliseconds> timeout,
                                                const Installation& installation, Context& context,
                                                ProfilerSandbox sandbox) {
  LocalProfilerOptions options{.installation = installation, .environment = context.environment.clean};
  options.sandbox = sandbox;
  if (!python.empty()) options.python = python;
  if (timeout) options.timeout = *timeout;
  return make_local_profiler(std::move(options), context.processes);
}

Result<Devices> read_devices(const std::string& cache_dir, Context& context) {
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto catalog, read_gpu_catalog(installation.devices_dir));
  Devices devices;
  devices.probe.program = installation.gpu_probe;
  devices.probe.environment = context.environment.clean;
  KERNELGEN_TRY(devices.probe.cache_dir, choose_cache_dir(cache_dir, context.environment));
  KERNELGEN_TRY(devices.cpu, read_cpu_facts());
  KERNELGEN_TRY(devices.gpus, read_gpus(devices.probe, catalog, context.processes, context.stop));
  for (const auto& gpu : devices.gpus.gpus)
    if (const auto use = platform_of(gpu.vendor).read_use(gpu.uuid, devices.probe.root)) devices.uses[gpu.uuid] = *use;
  return devices;
}

Result<std::vector<DoctorFinding>> examine_machine(const std::string& python, const std::string& cache_dir,
                                                   Context& context) {
  DoctorOptions doctor;
  doctor.installation = context.find_installation();
  if (!python.empty()) doctor.python = python;
  KERNELGEN_TRY(doctor.cache_dir, choose_cache_dir(cache_dir, context.environment));
  doctor.kernelbench_dir = context.environment.kernelbench_dir;
  doctor.environment = context.environment.clean;
  return kernelgen::examine_machine(doctor, context.processes, context.stop);
}

}  // namespace kernelgen::cli
