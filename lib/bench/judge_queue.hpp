#pragma once

/// \file
/// The order of requests that wait for the judge of one device.

#include <cstddef>
#include <span>

namespace kernelgen {
inline namespace v0 {

/// A request that waits for a judge.
struct QueuedRequest {
  /// True if the judge of its task is warm. Starting one for a task of gigabytes takes as long as a verdict.
  bool warm = false;
  /// The number of later requests that overtook it.
  int overtaken = 0;
};

/// Maximal number of times that a request is overtaken.
inline constexpr int k_most_overtakes = 16;

/// The index of the next request: the first one with a warm judge, else the first; but no request is overtaken more
/// than k_most_overtakes times. Requires: `waiting` is not empty and in the order of arrival.
[[nodiscard]] std::size_t next_in_queue(std::span<const QueuedRequest> waiting);

}  // namespace v0
}  // namespace kernelgen
