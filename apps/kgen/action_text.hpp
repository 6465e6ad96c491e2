#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/action.hpp>

namespace kernelgen::cli {

/// The result of a step in a few words: "correct", "compile:redefinition", "worth optimizing", "no_code".
[[nodiscard]] std::string outcome_text(const ActionResult& result);
/// The color for it; empty: none.
[[nodiscard]] std::string_view outcome_color(const ActionResult& result);
/// What was wrong with it, or what an analysis says, with kgen's options for it. Empty: nothing.
[[nodiscard]] std::string outcome_message(const ActionResult& result);

}  // namespace kernelgen::cli
