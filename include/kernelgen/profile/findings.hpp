#pragma once

/// \file
/// What a profile means, in sentences that a person or a model can act on.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One thing that holds a module up.
struct ProfileFinding {
  /// Stable: "launch_bound", "no_own_kernel", "library_share", "memory_bound", "compute_bound", "latency_bound",
  /// "few_blocks", "low_occupancy", "uncoalesced", "copies", "type_casts", "small_blocks"; of findings_for_stage() also
  /// "roofline", "many_registers", "few_registers".
  std::string name;
  /// What was seen, with numbers, and what it suggests.
  std::string message;
  /// About which share of the call it concerns, 0 to 1; for the order.
  double weight = 0;
};

/// The most important first. Pure. Without facts of the device, what depends on its size is left out.
[[nodiscard]] std::vector<ProfileFinding> find_bottlenecks(const Profile& profile,
                                                           const std::optional<GpuFacts>& gpu = std::nullopt);

/// Where a call lies between what memory and what the multiprocessors can do.
struct RooflinePosition {
  /// Of their peaks, over all counted kernels, weighted by their durations.
  double memory_pct = 0;
  double compute_pct = 0;
  /// "device memory at 81 % of its peak, multiprocessors at 35 %: memory-bound".
  std::string sentence;
};

/// Nothing without both counters. Pure.
[[nodiscard]] std::optional<RooflinePosition> roofline_position(const Profile& profile);

/// What a model should read before it works on a stage; an empty stage is any other step. The roofline position where
/// it is known, then at most three findings: those that the stage is about go before the others. For fused operations
/// also what the number of registers suggests. Pure.
[[nodiscard]] std::vector<ProfileFinding> findings_for_stage(const Profile& profile, std::string_view stage,
                                                             const std::optional<GpuFacts>& gpu = std::nullopt,
                                                             TaskLevel level = TaskLevel::Unknown);

}  // namespace v0
}  // namespace kernelgen
