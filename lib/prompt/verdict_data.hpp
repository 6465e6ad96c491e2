#pragma once

/// \file
/// The verdict on a candidate, as variables of a template.

#include <cstddef>
#include <string>
#include <string_view>

#include <kernelgen/prompt/prompt_builder.hpp>

#include "prompt/prompt_data.hpp"

namespace kernelgen {
inline namespace v0 {

/// The variable that names the hint of an outcome, below hints/.
inline constexpr const char* k_error_hint = "error_hint_name";

/// A line of a tool's, a candidate's or a model's text. Marks of fences in it would begin or end a block of the prompt.
[[nodiscard]] std::string quoted_line(std::string_view text, std::size_t max_bytes);

/// One line for the history: "accuracy:mismatch: output is 3 times ...", "correct, 1.31 times as fast ...".
[[nodiscard]] std::string describe_attempt(const Attempt& attempt, Measured measured);

/// Sets the variables of the outcome, its diagnostics, the errors of outputs, weights and times of one attempt.
void set_verdict(TemplateData& data, const Attempt& attempt, Measured measured, VerbatimTexts& verbatim);

}  // namespace v0
}  // namespace kernelgen
