#pragma once

/// \file
/// HIP as a C++ compiler takes it: the syntax that only HIP has, in other words.

#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Rewrites a HIP source for the headers in apps/runner/hip_cpu. Each line stays where it is, so that diagnostics name
/// the lines of the source. Accepts any text: what it does not understand is left to the compiler.
///
///     k<T><<<grid, block>>>(x)         a launch by kgen_hip::kgen_kernel()
///     extern __shared__ float s[];     a pointer from kgen_hip::dynamic_lds()
///     __shared__ float s[N];           followed by kgen_hip::note_lds(s)
///     (void*)kernel, when launched     the kernel itself: the launch has to know its parameters
///     asm("...") of a device, and matrix instructions   an error that says why
[[nodiscard]] std::string rewrite_hip_for_cpu(std::string_view source);

}  // namespace v0
}  // namespace kernelgen
