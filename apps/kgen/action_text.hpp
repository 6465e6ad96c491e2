#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/action.hpp>

namespace kernelgen::cli {

/// The result of a step in a few words: "correct", "compile:redefinition", "worth optimizing", "no_code".
[[nodiscard]] std::string outcome_text(const ActionResult& result);
/// The color for it; empty: none.
[[nodiscard]] std::string_view outcome_color(const ActionResult& result);
/// The message of a failed action, with kgen's options against it, or the result of an analysis. Empty: there is
/// neither.
[[nodiscard]] std::string outcome_message(const ActionResult& result);

}  // namespace kernelgen::cli
