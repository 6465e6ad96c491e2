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
                                                const Installation& installation, Context& context) {
  NcuProfilerOptions options{.installation = installation, .environment = context.environment.clean};
  if (!python.empty()) options.python = python;
  if (timeout) options.timeout = *timeout;
  return make_ncu_profiler(std::move(options), context.processes);
}

}  // namespace kernelgen::cli
