#pragma once

/// \file
/// The meaning of a profile, in sentences for a person or a model to act on.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/headroom.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One finding about what limits a module's speed.
struct ProfileFinding {
  /// Stable name: "launch_bound", "no_own_kernel", "library_share", "memory_bound", "compute_bound", "latency_bound",
  /// "few_blocks", "low_occupancy", "uncoalesced", "bank_conflicts", "matrix_units", "copies", "type_casts",
  /// "small_blocks", "shared_memory_use", "stalls", "chain"; of findings_for_stage() also "roofline", "many_registers",
  /// "few_registers".
  std::string name;
  /// The observation, with numbers, and what it suggests.
  std::string message;
  /// About the share of the call that it concerns, 0 to 1; for the order.
  double weight = 0;
};

/// The dependent steps that a kernel goes through by itself, one after the other.
struct StepChain {
  std::int64_t steps = 0;
  /// The least possible time of a call with these steps; unset: unknown.
  std::optional<double> floor_ns;
};

/// The chain of a candidate that keeps the time loop of a recurrent task in a kernel; nothing for others. `headroom` is
/// that of the candidate. Pure.
[[nodiscard]] std::optional<StepChain> step_chain_of(const TaskDescription& task, Recurrence recurrence,
                                                     const std::optional<Headroom>& headroom);

/// Findings, the most important first. Pure. Without facts about the device, those that depend on its size are left
/// out. Kernels that go through a chain get "chain" in place of what does not fit them: few blocks, low occupancy and
/// much shared memory are their purpose.
[[nodiscard]] std::vector<ProfileFinding> find_bottlenecks(const Profile& profile,
                                                           const std::optional<GpuFacts>& gpu = std::nullopt,
                                                           const std::optional<StepChain>& chain = std::nullopt);

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
/// is known and what warps wait for, then at most three findings: those about the stage go before the others. For fused
/// operations also what the number of registers suggests. Pure.
[[nodiscard]] std::vector<ProfileFinding> findings_for_stage(const Profile& profile, std::string_view stage,
                                                             const std::optional<GpuFacts>& gpu = std::nullopt,
                                                             TaskLevel level = TaskLevel::Unknown,
                                                             const std::optional<StepChain>& chain = std::nullopt);

}  // namespace v0
}  // namespace kernelgen
