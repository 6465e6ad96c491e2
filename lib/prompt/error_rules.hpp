#pragma once

/// \file
/// Which words of which tool make which class. Data, in the order in which it is tried.

#include <span>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// A text that holds the parts of the pattern, in their order, is of this class.
struct ErrorRule {
  std::string_view error_class;
  /// Parts that stand in this order, with '*' between them.
  std::string_view pattern;
};

/// Reasons that Triton gives in a kernel, or at its launch.
[[nodiscard]] std::span<const ErrorRule> triton_rules();
/// Whole reasons of Python and torch, with the type in front.
[[nodiscard]] std::span<const ErrorRule> python_rules();
/// Types of exceptions, for those whose words are the candidate's own.
[[nodiscard]] std::span<const ErrorRule> exception_rules();
/// Messages of compilers, assemblers and linkers, without their place.
[[nodiscard]] std::span<const ErrorRule> compiler_rules();
/// Notes that say what an unspecific message of a compiler is about.
[[nodiscard]] std::span<const ErrorRule> compiler_note_rules();
/// What the runtimes of CUDA and HIP and their drivers call their errors.
[[nodiscard]] std::span<const ErrorRule> runtime_rules();

}  // namespace v0
}  // namespace kernelgen
