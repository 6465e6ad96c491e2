#pragma once

/// \file
/// What a prompt tells of the families of a task: variables that follow from sizes, and the example that it shows.

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/prompt/prompt_builder.hpp>

#include "prompt/family_sizes.hpp"
#include "prompt/templates.hpp"

namespace kernelgen {
inline namespace v0 {

/// The variable with the name of the example below examples/; empty for the form of the target.
inline constexpr const char* k_family_example = "family_example";

/// Where kernels are to run.
struct KernelPlace {
  Target target = Target::Cpp;
  bool is_amd = false;
  /// Features of the GPU's architecture (Platform::kernel_features); empty where it is not known.
  std::vector<std::string> features;
};

/// The template below examples/ for a task, such as "cuda/scan"; empty where only the form of the target fits.
[[nodiscard]] std::string family_example(const TaskDescription& description, const KernelPlace& place);

/// Sets the variables of docs/prompts.md that follow from the sizes of a task's operations.
void set_families(TemplateData& data, const TaskDescription& description, const KernelPlace& place);

}  // namespace v0
}  // namespace kernelgen
