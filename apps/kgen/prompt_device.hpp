#pragma once

#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

#include "commands.hpp"

namespace kernelgen::cli {

/// What the options say about the device that prompts are written for.
struct PromptDeviceOptions {
  Target target = Target::Cpp;
  /// A GPU of this machine, or one of the catalog where this machine has none of its maker. Empty: what there is.
  std::string gpu;
  /// "cpu", or a GPU of this machine, as --device says it.
  std::string device;
  std::string cache_dir;
  /// It is judged on this machine: a GPU that is missing is an error.
  bool judged_here = false;
};

/// Facts for prompts, and the GPU that they are of.
struct PromptDevice {
  std::vector<DeviceFact> facts;
  std::optional<GpuFacts> gpu;
  /// How many GPUs share what is judged on this machine; 1 where none does, or one was named.
  int judging = 1;
};

/// The processor for cpp. Else the GPU that was named, or the first one; without any, the processor for Python targets
/// and no facts for native ones. MissingDevice for a GPU that is not there or contradicts those that are; NotFound for
/// one that the catalog does not know.
[[nodiscard]] Result<PromptDevice> find_prompt_device(const PromptDeviceOptions& options, Context& context);

}  // namespace kernelgen::cli
