#pragma once

/// \file
/// A profiler that builds what it profiles.

#include <memory>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/profile/profiler.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Compiles a native candidate that comes without an artifact, then hands it on; others go through as they are. What
/// does not compile is Profile::unavailable, with the compiler's class of error. InvalidArgument without both of them.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_compiling_profiler(std::unique_ptr<Profiler> profiler,
                                                                        std::unique_ptr<KernelCompiler> compiler);

}  // namespace v0
}  // namespace kernelgen
