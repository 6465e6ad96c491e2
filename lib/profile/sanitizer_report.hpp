#pragma once

/// \file
/// Reads what sanitizers print. Pure; accepts any text, because a candidate can print, too.

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// One error that a sanitizer found in a candidate.
struct SanitizerFinding {
  /// The detail of the outcome: "unstable", "race", "memory", "undefined", "uninitialized", "barrier".
  std::string detail;
  Diagnostic diagnostic;
};

/// The errors in the output of ThreadSanitizer, AddressSanitizer and UndefinedBehaviorSanitizer, each place once. An
/// error counts only if a frame of it lies in the candidate: in `source_name`, or in the shared object `artifact_name`.
[[nodiscard]] std::vector<SanitizerFinding> read_native_findings(std::string_view text, std::string_view source_name,
                                                                 std::string_view artifact_name);

/// The answer of a tool of compute-sanitizer.
struct ComputeSanitizerReport {
  /// The tool wrote its summary, so it watched to the end.
  bool is_complete = false;
  /// Why the tool or the driver could not start under it, which says nothing about the candidate; empty: they did.
  std::string not_started;
  /// Errors in kernels that are not those of a framework or a library, each place once.
  std::vector<SanitizerFinding> findings;
};

/// Reads the output of `compute-sanitizer --tool memcheck|racecheck|initcheck|synccheck`. Warnings of racecheck do not
/// count: threads that write the same value.
[[nodiscard]] ComputeSanitizerReport read_compute_sanitizer(std::string_view text);

/// The failure in the result of kernelgen_profile; empty where it has none. A text that is no result has one.
[[nodiscard]] std::string read_failure(std::string_view text);

/// The answer of kernelgen_profile in the mode "shaken".
struct ShakenReport {
  /// Why nothing was called; empty: it was.
  std::string skipped;
  std::vector<SanitizerFinding> findings;
};

/// Reads the result of kernelgen_profile in the mode "shaken". An Error for what is none, and for a candidate that
/// failed.
[[nodiscard]] Result<ShakenReport> read_shaken(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
