#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/action.hpp>

namespace kernelgen::cli {

/// What the tools said that watched a candidate: "thread clean; address not finished: it was not done within 180 s".
/// Empty: none did.
[[nodiscard]] std::string sanitizers_line(const EvaluationRecord& record);

/// The result of a step in a few words: "correct", "correct, watched", "compile:redefinition", "worth optimizing",
/// "no_code".
[[nodiscard]] std::string outcome_text(const ActionResult& result);
/// The color for it; empty: none.
[[nodiscard]] std::string_view outcome_color(const ActionResult& result);
/// The message of a failed action, with kgen's options against it, or the result of an analysis, or what watched a
/// correct kernel. Empty: there is none.
[[nodiscard]] std::string outcome_message(const ActionResult& result);

}  // namespace kernelgen::cli
