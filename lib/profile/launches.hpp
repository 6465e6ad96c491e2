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

/// The launches of the last call, where a profiler counted the calls before it, too: of each kernel of the timeline as
/// many as the timeline has. Other kernels are left out.
[[nodiscard]] std::vector<KernelLaunch> last_launches(const Profile& timeline,
                                                      const std::vector<KernelLaunch>& launches);

/// Adds the counters to the kernels of a timeline: by name, else by function where that is unambiguous. Other kernels
/// are appended, without a time unless the timeline is empty. Several launches of a kernel are weighted by their
/// durations.
void add_launches(Profile& profile, const std::vector<KernelLaunch>& launches);

}  // namespace v0
}  // namespace kernelgen
