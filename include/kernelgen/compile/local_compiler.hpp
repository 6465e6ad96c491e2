#pragma once

/// \file
/// The compiler of evaluations on this machine, for other uses of what it builds.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What to build for, and where to keep it.
struct LocalCompilerOptions {
  Installation installation{};
  /// The cache directory of evaluations: what one of them built is not built again.
  std::filesystem::path cache_dir{};
  /// The GPU to build `cuda`, `hip` or `hipkittens` candidates for. Unset: `cpp` candidates for the processor, and
  /// `hip` candidates that it executes in place of a GPU.
  std::optional<GpuFacts> gpu{};
  /// The same as CppCompilerOptions::environment.
  std::optional<std::map<std::string, std::string>> environment{};
  /// The same as CppCompilerOptions::compiler.
  std::string compiler = "c++";
};

/// Makes a compiler that works in a sandbox and keeps what it built. MissingTool without the compiler that it needs.
/// `runner` must outlive it.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_local_compiler(const LocalCompilerOptions& options,
                                                                          ProcessRunner& runner);

}  // namespace v0
}  // namespace kernelgen
