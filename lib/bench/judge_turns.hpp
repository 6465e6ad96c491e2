#pragma once

/// \file
/// Who is next where many wait for one device.

#include <cstddef>
#include <span>

namespace kernelgen {
inline namespace v0 {

/// Somebody who waits for a judge.
struct WaitingTurn {
  /// The judge of the task is there already: starting one, for a task of gigabytes, takes as long as a verdict.
  bool warm = false;
  /// By how many that came later.
  int overtaken = 0;
};

/// How often somebody may be overtaken.
inline constexpr int k_most_overtakes = 16;

/// The index of the next: the first whose judge is warm, else the first; but nobody is overtaken more than
/// k_most_overtakes times. Requires: there is somebody, and they are in the order of their arrival.
[[nodiscard]] std::size_t next_turn(std::span<const WaitingTurn> waiting);

}  // namespace v0
}  // namespace kernelgen
