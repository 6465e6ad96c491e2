#pragma once

/// \file
/// HIP as a C++ compiler takes it: the syntax that only HIP has, in other words.

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

using BuiltinNames = std::set<std::string, std::less<>>;

/// Rewrites a HIP source for the headers in apps/runner/hip_cpu. Each line stays where it is, so that diagnostics name
/// the lines of the source. Accepts any text: what it does not understand is left to the compiler.
///
///     k<T><<<grid, block>>>(x)         a launch by kgen_hip::kgen_kernel()
///     extern __shared__ float s[];     a pointer from kgen_hip::dynamic_lds()
///     __shared__ float s[N];           followed by kgen_hip::note_lds(s)
///     (void*)kernel, when launched     the kernel itself: the launch has to know its parameters
///     asm("...") of a device            an error that says why
///     __builtin_amdgcn_...(x)           likewise, unless it is one of `builtins`, which the headers have
[[nodiscard]] std::string rewrite_hip_for_cpu(std::string_view source, const BuiltinNames& builtins = {});

/// The names in a text that begin like built-in functions of AMD's compilers, "__builtin_amdgcn_readlane".
[[nodiscard]] BuiltinNames find_amdgcn_builtins(std::string_view text);

/// The first name in a HIP source that clang has and g++ lacks, such as ext_vector_type; unset if there is none.
[[nodiscard]] std::optional<std::string> find_clang_extension(std::string_view source);

}  // namespace v0
}  // namespace kernelgen
