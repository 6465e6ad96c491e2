#pragma once

/// \file
/// How far a kernel is from what no kernel of its task can beat. Advice for a search, never part of a verdict.

#include <optional>
#include <string_view>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/headroom.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What a floor is computed from. Borrows.
struct HeadroomRequest {
  /// The task's source.
  std::string_view reference;
  const TaskDescription& description;
  /// Of a correct kernel.
  const EvaluationRecord& record;
  const GpuFacts& gpu;
  /// Says how many kernels are launched. nullptr: nobody knows.
  const Profile* profile = nullptr;
};

/// The largest of the floors that are known for the task's family (docs/flow.md): bytes that must be moved over the
/// measured bandwidth, operations that cannot be saved over the peak, one launch. Each is rather too low than too high.
/// Nothing for a family that is not known, a kernel without a time, and a device whose bandwidth is not known. Pure.
[[nodiscard]] std::optional<Headroom> find_headroom(const HeadroomRequest& request);

}  // namespace v0
}  // namespace kernelgen
