#pragma once

/// \file
/// Reads the code, the analysis or the critique out of a model's reply. The functions are pure and take any text.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Limit of ExtractedCode::change, in bytes.
inline constexpr std::size_t k_max_change = 240;

/// The code in a reply, or the reason why there is none.
struct ExtractedCode {
  std::optional<std::string> code;
  /// One line that a model can act on; empty where there is code.
  std::string problem;
  /// What the code changed, as the reply says in a line "Change: ..." before its first fence; without markup, of at
  /// most k_max_change bytes. Empty where it says nothing, and where there is no code.
  std::string change{};
};

/// Finds the last fenced block that defines the target's entry point (kgen_run, ModelNew), whatever the tag of its
/// fence. `<think>` and `<answer>` are removed, an unclosed fence ends with the reply, and a reply that is code without
/// any fence is taken whole. Prose, HTML and error texts are never code. A reply that was cut (FinishReason::Length) in
/// the middle of its code holds none.
[[nodiscard]] ExtractedCode extract_code(const Reply& reply, Target target);

/// Reads the JSON object of an analysis reply, fenced or not, with prose around it. Missing members keep their
/// defaults; "no", "false" and 0 are false. InvalidArgument when there is no object; the message quotes what was found
/// instead.
[[nodiscard]] Result<Analysis> read_analysis(std::string_view reply);

/// A critic's opinion of a candidate: the one thing that is wrong with it, or that costs most time.
struct Critique {
  std::string problem;
  /// Lines and numbers that show the problem.
  std::string evidence;
  /// The one change to make; the whole reply where it was no JSON.
  std::string change;
  bool operator==(const Critique&) const = default;
};

/// Reads the JSON object of a critic's reply, with the same tolerance. A reply without an object is returned whole, in
/// `change`. InvalidArgument when the reply is empty.
[[nodiscard]] Result<Critique> read_critique(std::string_view reply);

}  // namespace v0
}  // namespace kernelgen
