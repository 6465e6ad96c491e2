#pragma once

/// \file
/// Reads the output of Nsight Compute with `--csv --page raw`: messages, a header, a row of units, a row per launch.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/metrics.hpp>

#include "profile/launches.hpp"

namespace kernelgen {
inline namespace v0 {

/// The parts of a report. Lines that are neither message nor table are a program's own output.
struct NcuReport {
  std::vector<KernelLaunch> launches;
  /// Messages without their "==ERROR== " and "==WARNING== ".
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

/// The duration is always read, because it gives the weights.
inline constexpr std::string_view k_ncu_duration = "gpu__time_duration.sum";

/// Reads a report; accepts any text. Metrics that `all_metrics()` does not name are left out.
[[nodiscard]] NcuReport read_ncu_report(std::string_view text);

/// Wanted metrics, by ncu's names, that this ncu or this device does not know according to the report.
[[nodiscard]] std::vector<std::string> unknown_metrics(const NcuReport& report, const std::vector<std::string>& wanted);

/// The reason why a report has no launches, and a person's remedy; nothing when it has some.
[[nodiscard]] std::optional<ProfileUnavailable> explain_missing_counters(const NcuReport& report);

/// Adds the counters of a report; see add_launches().
void add_counters(Profile& profile, const NcuReport& report);

}  // namespace v0
}  // namespace kernelgen
