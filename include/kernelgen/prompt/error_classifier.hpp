#pragma once

/// \file
/// Classifies the error of a failed candidate: its class, the lines that show it, its numbers, and what to change.

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

/// The error of a failed candidate. docs/errors.md lists the classes.
struct ErrorReport {
  /// Stable and dotted: "triton.arange_bounds", "cxx.undeclared", "resource.shared_memory", "accuracy.mismatch". The
  /// template of that name below hints/ has advice for it. Empty for a correct candidate.
  std::string error_class;
  /// The tool's own lines that show the error, at most a dozen, in their order.
  std::vector<std::string> lines;
  /// The numbers of a resource that ran out, by name: {"required", 102400}, {"limit", 101376}.
  std::vector<std::pair<std::string, std::int64_t>> numbers;
  /// The constants to change and their new values, in Markdown; empty where numbers or source do not tell.
  std::string advice;
  /// A text that is equal for two occurrences of the same error, whatever its line numbers, sizes and addresses are.
  std::string fingerprint;

  /// The number with that name.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
};

/// Classifies the error in a record. Pure and thread-safe; takes any text, a megabyte in about a tenth of a second.
/// `source` is the candidate's; with it, advice on resources names the constants to change.
[[nodiscard]] ErrorReport classify_error(const EvaluationRecord& record, std::string_view source = {});

/// Whether a compiler refused the candidate: a native source, or an extension that a torch module builds.
[[nodiscard]] bool is_compile_error(const EvaluationRecord& record);

/// Whether an error class says more than the class of its outcome: "cxx.undeclared" is more specific than
/// "compile:syntax", "accuracy.nan" is not more specific than "accuracy:nan".
[[nodiscard]] bool is_more_specific(std::string_view error_class, std::string_view outcome_class);

/// Every class that classify_error() can give, sorted.
[[nodiscard]] std::vector<std::string> error_classes();

}  // namespace v0
}  // namespace kernelgen
