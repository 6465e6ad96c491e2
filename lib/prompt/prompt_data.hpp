#pragma once

/// \file
/// A request as the variables of a template. docs/prompts.md lists them.

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/prompt/prompt_builder.hpp>

#include "prompt/templates.hpp"

namespace kernelgen {
inline namespace v0 {

/// Whether values that were measured, or asked of this machine, are shown. A fingerprint is made with blanks.
enum class Measured { Shown, Blank };

/// The variants of a critic's prompt: its subject. Without a variant, the outcome decides.
inline constexpr std::string_view k_correctness = "correctness";
inline constexpr std::string_view k_optimization = "optimization";

/// What to show of a request.
struct DataOptions {
  Measured measured = Measured::Shown;
  /// Optional parts that are left out.
  std::vector<PromptPart> dropped;
};

/// The request without anything about how its candidates did, beside whether they are correct.
[[nodiscard]] PromptRequest without_feedback(PromptRequest request);

/// The variables of a request; long texts are in `verbatim`. Blank data depends only on the task, the candidates, the
/// kinds of prompts and the outcome classes, so it is the same on every machine.
[[nodiscard]] TemplateData make_prompt_data(const PromptRequest& request, const DataOptions& options,
                                            VerbatimTexts& verbatim);

/// Whether a part is left out.
[[nodiscard]] bool is_dropped(const DataOptions& options, PromptPart part);

/// Formats a time: "812 ns", "12.5 us", "1.310 ms".
[[nodiscard]] std::string format_time(double nanoseconds);

/// The language that a request's candidate is written in.
[[nodiscard]] Language language_of(const PromptRequest& request);

/// The variables that an outcome class sets: "is_compile", "is_compile_undeclared_identifier".
[[nodiscard]] std::vector<std::string> class_variables(const Outcome& outcome);

}  // namespace v0
}  // namespace kernelgen
