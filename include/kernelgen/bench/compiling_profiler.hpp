#pragma once

/// \file
/// A profiler that compiles candidates before it profiles them.

#include <memory>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/profile/profiler.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Makes a profiler that compiles native candidates without an artifact before it passes them to `profiler`; other
/// candidates pass unchanged. If compilation fails, Profile::unavailable has the compiler's class of error.
/// InvalidArgument if either argument is null.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_compiling_profiler(std::unique_ptr<Profiler> profiler,
                                                                        std::unique_ptr<KernelCompiler> compiler);

}  // namespace v0
}  // namespace kernelgen
