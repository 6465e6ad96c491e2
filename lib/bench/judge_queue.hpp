#pragma once

/// \file
/// The order of requests that wait for the judge of one device.

#include <cstddef>
#include <span>

namespace kernelgen {
inline namespace v0 {

/// A request that waits for a judge.
struct QueuedRequest {
  /// The judge of its task is warm. Starting one for a task of gigabytes takes as long as a verdict.
  bool warm = false;
  /// The number of later requests that went before it.
  int overtaken = 0;
};

/// How often a request may be overtaken.
inline constexpr int k_most_overtakes = 16;

/// The index of the next request: the first whose judge is warm, else the first; but no request is overtaken more than
/// k_most_overtakes times. Requires: there is a request, and they are in the order of their arrival.
[[nodiscard]] std::size_t next_in_queue(std::span<const QueuedRequest> waiting);

}  // namespace v0
}  // namespace kernelgen
