#pragma once

/// \file
/// The meaning of a profile, in sentences for a person or a model to act on.

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

/// One finding about what limits a module's speed.
struct ProfileFinding {
  /// Stable name: "launch_bound", "no_own_kernel", "library_share", "memory_bound", "compute_bound", "latency_bound",
  /// "few_blocks", "low_occupancy", "uncoalesced", "bank_conflicts", "matrix_units", "copies", "type_casts",
  /// "small_blocks", "shared_memory_use"; of findings_for_stage() also "roofline", "many_registers", "few_registers".
  std::string name;
  /// The observation, with numbers, and what it suggests.
  std::string message;
  /// About the share of the call that it concerns, 0 to 1; for the order.
  double weight = 0;
};

/// Findings, the most important first. Pure. Without facts about the device, those that depend on its size are left
/// out.
[[nodiscard]] std::vector<ProfileFinding> find_bottlenecks(const Profile& profile,
                                                           const std::optional<GpuFacts>& gpu = std::nullopt);

/// Position of a call between the limits of memory and of the multiprocessors.
struct RooflinePosition {
  /// Percentages of the peaks, over all counted kernels, weighted by their durations.
  double memory_pct = 0;
  double compute_pct = 0;
  /// "device memory at 81 % of its peak, multiprocessors at 35 %: memory-bound".
  std::string sentence;
};

/// Nothing unless both counters were read. Pure.
[[nodiscard]] std::optional<RooflinePosition> roofline_position(const Profile& profile);

/// Findings for a model that works on a stage; an empty stage is any other step. First the roofline position where it
/// is known, then at most three findings: those about the stage go before the others. For fused operations also what
/// the number of registers suggests. Pure.
[[nodiscard]] std::vector<ProfileFinding> findings_for_stage(const Profile& profile, std::string_view stage,
                                                             const std::optional<GpuFacts>& gpu = std::nullopt,
                                                             TaskLevel level = TaskLevel::Unknown);

}  // namespace v0
}  // namespace kernelgen
