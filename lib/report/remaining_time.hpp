#pragma once

#include <optional>
#include <vector>

#include <kernelgen/report/monitor.hpp>

namespace kernelgen {
inline namespace v0 {

/// Estimates the time until no run of a campaign is left. A run that is not over is expected to take as long as those
/// with its target and model that have begun, if three of these are over, else as all that have begun; `parallel_runs`
/// of them are in progress at a time. Nothing before three runs are over, and where no run is in progress. Pure.
[[nodiscard]] std::optional<RemainingTime> estimate_remaining_time(const std::vector<MonitoredRun>& runs,
                                                                   int parallel_runs);

}  // namespace v0
}  // namespace kernelgen
