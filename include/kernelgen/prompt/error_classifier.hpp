#pragma once

/// \file
/// What an outcome's error is: a class, the lines that say it, its numbers, and which hint belongs to it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// An error, understood. docs/errors.md lists the classes.
struct ErrorReport {
  /// Stable and dotted: "triton.arange_bounds", "cxx.undeclared", "resource.shared_memory", "accuracy.mismatch". Empty
  /// for a correct candidate.
  std::string error_class;
  /// The tool's own lines that decide, first things first; at most a dozen.
  std::vector<std::string> lines;
  /// What the text counts, by name: {"required", 102400}, {"limit", 101376}.
  std::vector<std::pair<std::string, std::int64_t>> numbers;
  /// The prompts' template with advice, below hints/: the class, or a wider one where the class has no hint of its own.
  std::string hint;
  /// What to change and by how much, where the numbers and the source tell; else empty. In Markdown.
  std::string advice;
  /// Equal for two occurrences of the same error, whatever its line numbers, sizes and addresses are.
  std::string fingerprint;

  /// A number by its name.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
};

/// Classifies what a record says of its candidate. Pure and thread-safe; any text will do, and a megabyte takes
/// about a tenth of a second. `source` is the candidate's; with it, advice on resources names the constants to change.
[[nodiscard]] ErrorReport classify_error(const EvaluationRecord& record, std::string_view source = {});

/// Whether an error class says more than the class of its outcome: "cxx.undeclared" does beside "compile:syntax",
/// "accuracy.nan" does not beside "accuracy:nan".
[[nodiscard]] bool says_more(std::string_view error_class, std::string_view outcome_class);

/// Every class that classify_error() knows, sorted.
[[nodiscard]] std::vector<std::string> error_classes();

}  // namespace v0
}  // namespace kernelgen
