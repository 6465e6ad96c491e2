#pragma once

/// \file
/// The order of requests that wait for the judge of one device, and which of them another device takes over.

#include <cstddef>
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

/// The number of evaluations that warm judges of a device begin in a row while an earlier request waits for a judge to
/// be started.
inline constexpr int k_most_in_a_row = 16;

/// The index of the next request: the first one with a warm judge, else the first. Once `in_a_row` evaluations have
/// begun since a judge was last started, and these are k_most_in_a_row, it is the first one. So each start of a judge
/// serves many requests of its task, however many wait, and the first request waits for k_most_in_a_row others at most.
/// Requires: `waiting` is not empty and in the order of arrival.
[[nodiscard]] std::size_t next_in_queue(std::span<const JudgeState> waiting, int in_a_row);

/// A request that waits for a judge, as an equal device sees it that has nothing to do.
struct MovableRequest {
  /// The evaluations that its own device makes before it, with the current one.
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
