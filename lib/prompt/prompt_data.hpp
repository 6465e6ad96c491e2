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

/// What becomes of everything that was measured or asked of this machine.
enum class Measured { Shown, Blank };

/// Optional parts, in the order in which a token budget drops them.
enum class Part { Examples, Earlier, Knowledge, Profile, Device };
[[nodiscard]] std::string to_string(Part part);

/// What a critic looks at: the variants of its prompt. Without one, the outcome decides.
inline constexpr std::string_view k_correctness = "correctness";
inline constexpr std::string_view k_optimization = "optimization";

/// How a request is turned into variables.
struct DataOptions {
  Measured measured = Measured::Shown;
  /// Parts that are left out.
  std::vector<Part> dropped;
};

/// The variables; long texts are in `inserts`. Blank data depends on nothing but the task, the candidates, the kinds
/// and the outcome classes: it is the same on every machine.
[[nodiscard]] TemplateData make_prompt_data(const PromptRequest& request, const DataOptions& options, Inserts& inserts);

/// "812 ns", "12.5 us", "1.310 ms".
[[nodiscard]] std::string format_time(double nanoseconds);

/// Variables of an outcome class: "is_compile", "is_compile_undeclared_identifier".
[[nodiscard]] std::vector<std::string> class_variables(const Outcome& outcome);

}  // namespace v0
}  // namespace kernelgen
