#pragma once

/// \file
/// The doctor's findings about GPUs, as pure functions of what was read.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>

#include "platform/cards.hpp"

namespace kernelgen {
inline namespace v0 {

/// The profiler of a platform's GPUs.
struct FoundProfiler {
  const Platform* platform = nullptr;
  /// The path of ncu, rocprofv3 or rocprof, or why there is none.
  Result<std::string> program = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// What to do if there is none.
  std::string remedy{};
  /// What keeps this user from reading counters.
  std::optional<PlatformProblem> counters{};
};

/// Facts about the GPUs of a machine, and the tools for them.
struct GpuEnvironment {
  Result<GpuInventory> reading = Error{ErrorCode::NotFound, "not looked for", {}};
  /// The platforms of which the machine has a card, with or without a driver.
  std::vector<const Platform*> cards;
  /// The path of nvcc, or why there is none.
  Result<std::string> nvcc = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// Version of nvcc, {13, 0}; zeros if nvcc did not report it.
  std::pair<int, int> nvcc_release{0, 0};
  /// The path of hipcc or amdclang++, or why there is none.
  Result<std::string> hipcc = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// Its version of ROCm; zeros if it did not report it.
  std::pair<int, int> hipcc_release{0, 0};
  /// What it lacks to compile for the first AMD GPU.
  std::optional<PlatformProblem> hipcc_problem{};
  /// What keeps programs from the GPUs of the first card without any.
  std::optional<PlatformProblem> card_problem{};
  /// One for each platform with a GPU here.
  std::vector<FoundProfiler> profilers{};
  /// What GPUs do now, by UUID, as far as drivers tell it in files.
  std::map<std::string, GpuUse> uses{};
  /// The processes on the devices now, one a line, as Platform::process_list prints them.
  std::string processes;
};

/// The first GPU that is hardware; null without one.
[[nodiscard]] const GpuFacts* first_gpu(const GpuEnvironment& situation);

/// The newest CUDA or ROCm that the driver of a GPU serves: {13, 0}.
[[nodiscard]] std::pair<int, int> driver_release(const GpuFacts& gpu);

/// What a torch was built for: "13.0", "6.3.42131"; empty for neither.
struct TorchBuild {
  std::string version;
  std::string cuda;
  std::string hip;
};

/// The findings "GPU", "nvcc", "hipcc" and "profiler" where they matter, and "GPU use" where foreign processes use it.
[[nodiscard]] std::vector<DoctorFinding> gpu_findings(const GpuEnvironment& situation);

/// The problem with a torch on this machine; nothing if it works.
[[nodiscard]] std::optional<DoctorFinding> torch_on_gpu(const GpuEnvironment& situation, const TorchBuild& torch,
                                                        const std::string& python);

}  // namespace v0
}  // namespace kernelgen
