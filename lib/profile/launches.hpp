#pragma once

/// \file
/// Launches as profilers list them, one by one, and the profile that they make together.

#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>

namespace kernelgen {
inline namespace v0 {

/// One launch of a kernel.
struct KernelLaunch {
  std::string kernel;
  /// Under kernelgen's names and in base units; what was not read ("n/a") is not there.
  std::vector<Metric> metrics;
  double duration_ns = 0;
};

/// Adds the counters to the kernels of a timeline: by name, else by function where that is unambiguous; what the
/// timeline does not have is added, without a time unless the timeline is empty. Several launches of a kernel are
/// weighted by their durations.
void add_launches(Profile& profile, const std::vector<KernelLaunch>& launches);

}  // namespace v0
}  // namespace kernelgen
