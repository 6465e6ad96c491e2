#pragma once

/// \file
/// The distance of a kernel from a lower bound of its task's time: a value for the decisions of a search.

#include <string>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A kernel's time against a lower bound for every kernel of its task; made by find_headroom().
struct Headroom {
  /// The resource that the lower bound follows from: "memory", "operations", "chain", "launch".
  std::string bound;
  double floor_ns = 0;
  /// Time of the kernel.
  double time_ns = 0;
  /// The time over the lower bound; at 1 nothing is left to gain.
  double ratio = 0;
  /// The same in words, with the numbers it was computed from.
  std::string sentence;
  bool operator==(const Headroom&) const = default;
};

}  // namespace v0
}  // namespace kernelgen
