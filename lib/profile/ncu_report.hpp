#pragma once

/// \file
/// What Nsight Compute prints with `--csv --page raw`: messages, a header, a row of units, a row per launch.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/metrics.hpp>

#include "profile/launches.hpp"

namespace kernelgen {
inline namespace v0 {

/// Everything that was understood. Lines that are neither message nor table are a program's own output.
struct NcuReport {
  std::vector<KernelLaunch> launches;
  /// Without their "==ERROR== " and "==WARNING== ".
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

/// The duration is always read, for weights.
inline constexpr std::string_view k_ncu_duration = "gpu__time_duration.sum";

/// Reads any text. Metrics whose names are not in `all_metrics()` are left out.
[[nodiscard]] NcuReport read_ncu_report(std::string_view text);

/// Those of the wanted metrics, by ncu's names, that the report says this ncu or this device does not know.
[[nodiscard]] std::vector<std::string> unknown_metrics(const NcuReport& report, const std::vector<std::string>& wanted);

/// Why a report has no launches, and what a person can do; nothing when it has some.
[[nodiscard]] std::optional<ProfileUnavailable> explain_missing_counters(const NcuReport& report);

/// See add_launches().
void add_counters(Profile& profile, const NcuReport& report);

}  // namespace v0
}  // namespace kernelgen
