#pragma once

/// \file
/// What a model meant: the code, the analysis or the critique in its reply. Pure; any text is survived.

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

/// The code in a reply, or why there is none. `problem` is one line a model can act on; it is set exactly when `code`
/// is not.
struct ExtractedCode {
  std::optional<std::string> code;
  std::string problem;
};

/// The last fence that holds the target's entry point (kgen_run, ModelNew), with <think> and <answer> taken away,
/// unclosed fences closed, and a reply that is code without any fence taken whole. Prose, HTML and error texts are
/// never code. A reply that was cut (FinishReason::Length) in the middle of its code holds none.
[[nodiscard]] ExtractedCode extract_code(const Reply& reply, Target target);

/// The JSON object of an analysis reply, fenced or not, with prose around it. Missing members keep their defaults,
/// "no", "false" and 0 are false. InvalidArgument when there is no object, with what was found instead.
[[nodiscard]] Result<Analysis> read_analysis(std::string_view reply);

/// What a critic said about a candidate: one thing that is wrong with it, or that holds it up.
struct Critique {
  std::string problem;
  /// Where that shows: lines, numbers.
  std::string evidence;
  /// The one change to make, or the whole reply when it was no JSON.
  std::string change;
  bool operator==(const Critique&) const = default;
};

/// The JSON object of a critic's reply, as above. A reply without one is taken as it is, in `change`; InvalidArgument
/// when it is empty.
[[nodiscard]] Result<Critique> read_critique(std::string_view reply);

}  // namespace v0
}  // namespace kernelgen
