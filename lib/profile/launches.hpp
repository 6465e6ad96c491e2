#pragma once

/// \file
/// Single launches as profilers list them, and the profile made of them.

#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>

namespace kernelgen {
inline namespace v0 {

/// One launch of a kernel.
struct KernelLaunch {
  std::string kernel;
  /// Metrics under kernelgen's names and in base units, without those that were not read ("n/a").
  std::vector<Metric> metrics;
  double duration_ns = 0;
};

/// Adds a pass, which ran the same launches again with other counters: the first launch of a kernel in one is the first
/// in the other.
void add_pass(std::vector<KernelLaunch>& launches, const std::vector<KernelLaunch>& pass);

/// Adds the counters to the kernels of a timeline: by name, else by function where that is unambiguous. Other kernels
/// are appended, without a time unless the timeline is empty. Several launches of a kernel are weighted by their
/// durations.
void add_launches(Profile& profile, const std::vector<KernelLaunch>& launches);

}  // namespace v0
}  // namespace kernelgen
