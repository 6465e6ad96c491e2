#pragma once

/// \file
/// Finds Nsight Compute and builds its command line.

#include <map>
#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/metrics.hpp>

#include "profile/tool_location.hpp"

namespace kernelgen {
inline namespace v0 {

/// Finds ncu: `name` when given, else "ncu" on the PATH, else where CUDA and Nsight's own packages put it, newest
/// first.
[[nodiscard]] ToolLocation locate_ncu(const std::string& name, const std::map<std::string, std::string>& environment);

/// ncu's names of the metrics of a set, and of the duration.
[[nodiscard]] std::vector<std::string> ncu_names(const MetricSet& set);
/// The other name of a metric, given one of them; empty when there is none, or this is it.
[[nodiscard]] std::string other_ncu_name(const std::string& name);

/// The launches to count.
struct LaunchChoice {
  /// A regular expression over the functions' names; empty: all kernels.
  std::string functions;
  int count = 0;
};

/// Chooses all launches of a call where they are few, else those of the longest kernels.
[[nodiscard]] LaunchChoice choose_launches(const Profile& timeline, int max_launches);

/// The command line up to the program. Output goes to the file `log`, so that the program's own output cannot be
/// mistaken for it; only the part between cudaProfilerStart() and cudaProfilerStop() is counted; clocks stay unchanged.
[[nodiscard]] std::vector<std::string> ncu_command(const std::string& ncu, const std::string& log,
                                                   const std::vector<std::string>& metrics, const LaunchChoice& choice);

}  // namespace v0
}  // namespace kernelgen
