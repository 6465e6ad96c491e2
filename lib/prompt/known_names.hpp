#pragma once

/// \file
/// Names that sources use without including or importing them.

#include <string_view>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// The header that declares a name of the C or C++ library or of a toolkit, "std::" left out: "thread" is "<thread>".
/// Empty for any other name. A name of both CUDA and HIP gives the header of the target's own toolkit.
[[nodiscard]] std::string_view header_of(std::string_view name, Target target);

/// The function that a name such as `_mm256_exp_ps` computes, "exp": not an instruction, but a library function of
/// Intel's compiler alone. Empty for any other name.
[[nodiscard]] std::string_view vector_math_function(std::string_view name);

/// Whether a Python file has to import this name before it uses it: "math", "torch", "tl", "Optional".
[[nodiscard]] bool is_imported_name(std::string_view name);

}  // namespace v0
}  // namespace kernelgen
