#include <kernelgen/compile/local_compiler.hpp>

#include <fmt/format.h>

#include <utility>

#include <kernelgen/platform/platform.hpp>

#include "compile/compiler_table.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The compilers of what a processor runs: `cpp`, and `hip` in place of a GPU.
Result<std::unique_ptr<KernelCompiler>> make_cpu_compilers(const LocalCompilerOptions& options, CppCompilerOptions cpp,
                                                           ProcessRunner& runner) {
  if (options.installation.hip_cpu_dir.empty()) return make_cpp_compiler(std::move(cpp), runner);
  HipCpuCompilerOptions hip{.other_compiler = cpp.compiler,
                            .headers_dir = options.installation.hip_cpu_dir.string(),
                            .abi_dir = cpp.abi_dir,
                            .output_dir = cpp.output_dir,
                            .sandbox = cpp.sandbox,
                            .environment = cpp.environment};
  std::vector<std::unique_ptr<KernelCompiler>> compilers(2);
  KERNELGEN_TRY(compilers[0], make_cpp_compiler(std::move(cpp), runner));
  KERNELGEN_TRY(compilers[1], make_hip_cpu_compiler(std::move(hip), runner));
  return make_compiler_table(std::move(compilers));
}

/// The compilers of what an AMD GPU runs: `hip`, and `hipkittens`, which says what it lacks when it is used.
Result<std::unique_ptr<KernelCompiler>> make_hip_compilers(HipccCompilerOptions options, ProcessRunner& runner) {
  HipkittensCompilerOptions kittens{.hip = options};
  kittens.hip.flags = HipkittensCompilerOptions{}.hip.flags;
  std::vector<std::unique_ptr<KernelCompiler>> compilers(2);
  KERNELGEN_TRY(compilers[0], make_hipcc_compiler(std::move(options), runner));
  KERNELGEN_TRY(compilers[1], make_hipkittens_compiler(std::move(kittens), runner));
  return make_compiler_table(std::move(compilers));
}

/// The compilers of what an NVIDIA GPU runs: `cuda`, and `hip` in place of AMD's.
Result<std::unique_ptr<KernelCompiler>> make_nvcc_compilers(NvccCompilerOptions options, std::string hip_headers_dir,
                                                            ProcessRunner& runner) {
  if (hip_headers_dir.empty()) return make_nvcc_compiler(std::move(options), runner);
  std::vector<std::unique_ptr<KernelCompiler>> compilers(2);
  KERNELGEN_TRY(compilers[0], make_nvcc_compiler(options, runner));
  options.hip_headers_dir = std::move(hip_headers_dir);
  KERNELGEN_TRY(compilers[1], make_nvcc_compiler(std::move(options), runner));
  return make_compiler_table(std::move(compilers));
}

Result<std::unique_ptr<KernelCompiler>> make_uncached(const LocalCompilerOptions& options, const std::string& store,
                                                      ProcessRunner& runner) {
  CppCompilerOptions cpp{.compiler = options.compiler,
                         .abi_dir = options.installation.abi_dir.string(),
                         .output_dir = store,
                         .sandbox = options.installation.sandbox.string(),
                         .environment = options.environment};
  if (!options.gpu) return make_cpu_compilers(options, std::move(cpp), runner);
  const auto& gpu = *options.gpu;
  switch (platform_of(gpu.vendor).compiler) {
    case DeviceCompiler::HostCpp:
      cpp.target = Target::Cuda;
      cpp.flags.insert(cpp.flags.end(), {"-x", "c++"});
      return make_cpp_compiler(std::move(cpp), runner);
    case DeviceCompiler::Nvcc:
      return make_nvcc_compilers({.architecture = gpu.architecture,
                                  .driver_version = gpu.driver_version,
                                  .abi_dir = std::move(cpp.abi_dir),
                                  .output_dir = store,
                                  .sandbox = std::move(cpp.sandbox),
                                  .environment = options.environment},
                                 options.installation.hip_cuda_dir.string(), runner);
    case DeviceCompiler::Hipcc:
      return make_hip_compilers({.architecture = gpu.architecture,
                                 .abi_dir = std::move(cpp.abi_dir),
                                 .output_dir = store,
                                 .sandbox = std::move(cpp.sandbox),
                                 .environment = options.environment},
                                runner);
    case DeviceCompiler::None:
      break;
  }
  return Error{ErrorCode::UnsuitableDevice,
               fmt::format("there is no compiler of native kernels for {}", gpu.to_line())};
}

}  // namespace

Result<std::unique_ptr<KernelCompiler>> make_local_compiler(const LocalCompilerOptions& options,
                                                            ProcessRunner& runner) {
  if (options.cache_dir.empty())
    return Error{ErrorCode::InvalidArgument, "a compiler needs a cache directory for what it builds"};
  const auto store = (options.cache_dir / "artifacts").string();
  KERNELGEN_TRY(auto compiler, make_uncached(options, store, runner));
  KERNELGEN_TRY(auto cached, make_caching_compiler(std::move(compiler), {.directory = store}));
  return std::unique_ptr<KernelCompiler>(std::move(cached));
}

}  // namespace v0
}  // namespace kernelgen
