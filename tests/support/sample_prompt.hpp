#pragma once

#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen::testing {

/// A request for examples/tasks/gru_hidden.py with every part that a prompt of that kind may have.
[[nodiscard]] PromptRequest sample_prompt_request(PromptKind kind, Target target = Target::Cpp);

/// A candidate that was judged correct, with times.
[[nodiscard]] Attempt correct_attempt(const std::string& id, const std::string& source, double speedup);
/// A candidate with another verdict; an inaccurate one has errors of outputs, a broken one diagnostics.
[[nodiscard]] Attempt failed_attempt(const std::string& id, const std::string& source, const Outcome& outcome);

}  // namespace kernelgen::testing
