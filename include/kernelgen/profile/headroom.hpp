#pragma once

/// \file
/// Computes how far a kernel is from a lower bound of its task's time. Advice for a search, never part of a verdict.

#include <optional>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/headroom.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The inputs of find_headroom(), borrowed.
struct HeadroomRequest {
  const TaskDescription& description;
  /// The record of a correct kernel.
  const EvaluationRecord& record;
  const GpuFacts& gpu;
  /// Tells the number of launches. nullptr: it is unknown.
  const Profile* profile = nullptr;
};

/// The largest of the floors that are known (docs/flow.md): bytes that must be moved over the measured bandwidth,
/// operations that cannot be saved over the peak, for recurrent layers the chain of their steps with the cheapest
/// exchange between them, one launch. Each is rather too low than too high. The bytes are those of the record
/// (TimingReport::memory_floor); without them those of TaskFacts::least_read_bytes. Nothing for a kernel without a
/// time, and where neither the chain nor the bytes with their bandwidth are known. Pure.
[[nodiscard]] std::optional<Headroom> find_headroom(const HeadroomRequest& request);

}  // namespace v0
}  // namespace kernelgen
