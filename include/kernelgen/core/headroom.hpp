#pragma once

/// \file
/// How far a kernel is from what no kernel of its task can beat: the value that a search decides on.

#include <string>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A kernel's time against a floor under every kernel of its task; made by find_headroom().
struct Headroom {
  /// What the floor follows from: "memory", "operations", "launch".
  std::string bound;
  double floor_ns = 0;
  /// Of the kernel.
  double time_ns = 0;
  /// The time over the floor; at 1 nothing is left to gain.
  double ratio = 0;
  /// The same in words, with the numbers it was computed from.
  std::string sentence;
  bool operator==(const Headroom&) const = default;
};

}  // namespace v0
}  // namespace kernelgen
