#pragma once

/// \file
/// What a profile means, in sentences that a person or a model can act on.

#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace v0 {

/// One thing that holds a module up.
struct ProfileFinding {
  /// Stable: "launch_bound", "no_own_kernel", "library_share", "memory_bound", "compute_bound", "latency_bound",
  /// "few_blocks", "low_occupancy", "uncoalesced", "copies".
  std::string name;
  /// What was seen, with numbers, and what it suggests.
  std::string message;
  /// About which share of the call it concerns, 0 to 1; for the order.
  double weight = 0;
};

/// The most important first. Pure. Without facts of the device, what depends on its size is left out.
[[nodiscard]] std::vector<ProfileFinding> find_bottlenecks(const Profile& profile,
                                                           const std::optional<GpuFacts>& gpu = std::nullopt);

}  // namespace v0
}  // namespace kernelgen
