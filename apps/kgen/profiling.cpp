#include "profiling.hpp"

#include <filesystem>

#include <kernelgen/bench/compiling_profiler.hpp>

#include "support/try.hpp"

namespace kernelgen::cli {

Result<std::unique_ptr<KernelCompiler>> make_profile_compiler(const std::optional<GpuFacts>& gpu,
                                                              const std::string& cache_dir,
                                                              const Installation& installation, Context& context) {
  KERNELGEN_TRY(const auto cache, choose_cache_dir(cache_dir, context.environment));
  const auto store = (std::filesystem::path(cache) / "artifacts").string();
  const auto abi_dir = installation.abi_dir.string();
  const auto sandbox = installation.sandbox.string();
  KERNELGEN_TRY(
      auto compiler,
      gpu ? make_nvcc_compiler({.architecture = gpu->architecture,
                                .driver_version = gpu->driver_version,
                                .abi_dir = abi_dir,
                                .output_dir = store,
                                .sandbox = sandbox,
                                .environment = context.environment.clean},
                               context.processes)
          : make_cpp_compiler(
                {.abi_dir = abi_dir, .output_dir = store, .sandbox = sandbox, .environment = context.environment.clean},
                context.processes));
  KERNELGEN_TRY(auto cached, make_caching_compiler(std::move(compiler), {.directory = store}));
  return std::unique_ptr<KernelCompiler>(std::move(cached));
}

Result<std::unique_ptr<Profiler>> make_profiler(std::chrono::milliseconds timeout, const std::string& python,
                                                const Installation& installation, Context& context) {
  NcuProfilerOptions options{.installation = installation, .environment = context.environment.clean};
  if (!python.empty()) options.python = python;
  options.timeout = timeout;
  return make_ncu_profiler(std::move(options), context.processes);
}

Result<std::unique_ptr<Profiler>> make_candidate_profiler(const GpuFacts& gpu, const std::string& cache_dir,
                                                          const std::string& python, const Installation& installation,
                                                          Context& context) {
  KERNELGEN_TRY(auto profiler, make_profiler(NcuProfilerOptions{}.timeout, python, installation, context));
  KERNELGEN_TRY(auto compiler, make_profile_compiler(gpu, cache_dir, installation, context));
  return make_compiling_profiler(std::move(profiler), std::move(compiler));
}

}  // namespace kernelgen::cli
