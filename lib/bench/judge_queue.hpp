#pragma once

/// \file
/// The order of requests that wait for the judge of one device, and which of them another device takes over.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace kernelgen {
inline namespace v0 {

/// Whether a device has a judge of a task.
enum class JudgeState {
  Warm,    ///< the judge is there
  Cold,    ///< it has to be started
  Evicts,  ///< it has to be started, and another judge ends for it
};

/// The cost of starting a judge. All work here is in units of one evaluation: starting a judge takes about as long, and
/// a judge that ends for it will have to be started again.
[[nodiscard]] int startup_cost(JudgeState state);

/// Maximal number of times that the first request is overtaken.
inline constexpr int k_most_overtakes = 16;

/// Maximal number of tasks that a device admits at a time.
inline constexpr std::size_t k_most_admissions = 4;

/// Bytes of device memory for each task that is admitted beside others, with the context of its process.
inline constexpr std::uint64_t k_admission_bytes = std::uint64_t{16} << 30;

/// The number of tasks that a device of this memory admits at a time, where idle judges hold `idle_bytes`; 1: each
/// needs the device for itself. 0 bytes: unknown.
[[nodiscard]] std::size_t admissions_at_a_time(std::uint64_t memory_bytes, std::uint64_t idle_bytes);

/// A request that waits for a judge, or for the admission of its task.
struct QueuedRequest {
  /// True if the judge of its task is warm. Starting one for a task of gigabytes takes as long as a verdict.
  bool warm = false;
  /// The number of later requests that overtook it while it was the first.
  int overtaken = 0;
};

/// What a device is used for now.
struct DeviceWork {
  /// True if a judge is in use, or starts.
  bool has_judge = false;
  /// The number of tasks that are admitted beside each other.
  std::size_t admissions = 0;
};

/// True if a judge may be used: it has the device and its memory for itself.
[[nodiscard]] bool may_use_judge(const DeviceWork& now);
/// True if another task may be admitted, `most` at a time.
[[nodiscard]] bool may_admit(const DeviceWork& now, std::size_t most);
/// True if the first task that waits for its admission may begin before `first`, the first request of all: it joins
/// those that are being admitted, so that they are not admitted one by one where others come between. That counts as
/// overtaking.
[[nodiscard]] bool may_join(const DeviceWork& now, const QueuedRequest& first);

/// The index of the next request: the first one with a warm judge, else the first; but the first is overtaken at most
/// k_most_overtakes times. Only the first counts, so that a judge that was started for it serves as many of its task
/// before the next one is due, however many wait. Requires: `waiting` is not empty and in the order of arrival.
[[nodiscard]] std::size_t next_in_queue(std::span<const QueuedRequest> waiting);

/// A request that waits for a judge, as an equal device sees it that has nothing to do.
struct MovableRequest {
  /// The evaluations of its own device that arrived before it, with the current one.
  int ahead = 0;
  JudgeState there = JudgeState::Cold;  ///< its judge on its own device
  JudgeState here = JudgeState::Cold;   ///< its judge on the device that has nothing to do
};

/// The index of the request that such a device takes over: one that it begins before its own device would, the first of
/// those with the judge that costs least to start. Nothing if none gains. Requires: `waiting` is in the order of
/// arrival.
[[nodiscard]] std::optional<std::size_t> request_to_take_over(std::span<const MovableRequest> waiting);

}  // namespace v0
}  // namespace kernelgen
