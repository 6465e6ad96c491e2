#pragma once

/// \file
/// Reads counters by running the profiled process under a program of the GPU's maker.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/profile/metrics.hpp>

namespace kernelgen {
inline namespace v0 {

/// What reading counters takes, borrowed.
struct CounterRun {
  const MetricSet& set;
  /// The name in GpuFacts::architecture.
  const std::string& architecture;
  /// A private directory.
  const std::filesystem::path& scratch;
  int max_launches = 0;
  /// The time that a run may take: "180 s".
  std::string limit;
  /// Runs the profiled process behind the command line of a profiler.
  std::function<Result<ProcessOutcome>(std::vector<std::string> profiler)> run;
};

/// Adds the counters of Nsight Compute to a timeline, or Profile::no_counters.
[[nodiscard]] Result<void> read_ncu_counters(const CounterRun& counting, const std::string& ncu, Profile& profile);

/// Adds the counters of rocprofv3 or rocprof to a timeline, or Profile::no_counters.
[[nodiscard]] Result<void> read_rocprof_counters(const CounterRun& counting, const std::string& rocprof,
                                                 Profile& profile);

}  // namespace v0
}  // namespace kernelgen
