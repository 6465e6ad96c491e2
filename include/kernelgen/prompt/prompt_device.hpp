#pragma once

/// \file
/// What prompts say about the device that judges.

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A processor in words: model, cores, vector instructions, caches, memory. Facts that its kernel does not tell are
/// left out.
[[nodiscard]] std::vector<DeviceFact> device_facts(const CpuFacts& facts);

/// A GPU in words: architecture, multiprocessors, threads, registers, shared memory, caches, memory, peaks.
[[nodiscard]] std::vector<DeviceFact> device_facts(const GpuFacts& facts);

/// Facts for prompts, and the GPU that they are about.
struct PromptDevice {
  std::vector<DeviceFact> facts;
  /// Unset: a processor, or unknown.
  std::optional<GpuFacts> gpu;
  /// GPUs of this machine that share what is judged; 1 where there is one at most, or one was named.
  int gpu_count = 1;
};

/// What is known about the device before anything is judged.
struct PromptDeviceOptions {
  Installation installation{};
  Target target = Target::Cpp;
  /// A GPU of this machine, or one of the catalog where this machine has none of its maker. Empty: what there is.
  std::string gpu{};
  /// The same as EvaluationOptions::device.
  std::string device{};
  /// Holds the bandwidths that were measured before. Empty: they are unknown.
  std::filesystem::path cache_dir{};
  /// What the program that asks the driver sees; see clean_environment().
  std::map<std::string, std::string> environment{};
  /// Whether this machine judges. A GPU that is missing is an error then.
  bool is_judged_here = false;
};

/// The device that will judge: the processor for `cpp`, else the GPU that was named, or the first one. Without any GPU,
/// it is the processor for Python targets, and native ones get no facts. MissingDevice for a GPU that is not there or
/// contradicts those that are; NotFound for one that the catalog does not know.
[[nodiscard]] Result<PromptDevice> find_prompt_device(const PromptDeviceOptions& options, ProcessRunner& runner,
                                                      const std::stop_token& stop);

/// The device that made a record, wherever that was. A GPU gets the facts of its model in the catalog; a processor that
/// is not this machine's has its name alone. No facts where the record names no device.
[[nodiscard]] PromptDevice prompt_device_of(const EnvironmentReport& environment, const GpuCatalog& catalog);

/// Writes a prompt for the GPU that judges, or for none.
void set_prompt_gpu(PromptRequest& request, const std::optional<GpuFacts>& gpu);

}  // namespace v0
}  // namespace kernelgen
