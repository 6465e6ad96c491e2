#pragma once

/// \file
/// What a step needs beside its candidate, as variables of a template: the form of an answer, knowledge about
/// recurrences, the time to beat.

#include <kernelgen/prompt/prompt_builder.hpp>

#include "prompt/prompt_data.hpp"

namespace kernelgen {
inline namespace v0 {

/// Sets these variables. Blank data knows neither the GPU nor any time.
void set_step(TemplateData& data, const PromptRequest& request, const DataOptions& options);

}  // namespace v0
}  // namespace kernelgen
