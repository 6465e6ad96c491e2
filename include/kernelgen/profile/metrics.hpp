#pragma once

/// \file
/// The counters that kernelgen reads: stable names, what profilers call them, and sets of them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One counter.
struct MetricSpec {
  /// kernelgen's name for it, the same for every profiler; never reused for something else.
  std::string_view name;
  /// "%", "byte", "ns"; empty for plain numbers.
  std::string_view unit;
  /// What Nsight Compute calls it.
  std::string_view ncu;
  /// What it was, or will be, called by other versions of ncu or on other devices; empty for nothing.
  std::string_view ncu_other;
  /// In a few words.
  std::string_view meaning;
};

/// Every counter, each once.
[[nodiscard]] std::span<const MetricSpec> all_metrics();
/// Nothing for an unknown name.
[[nodiscard]] const MetricSpec* find_metric(std::string_view name);

/// Some counters that answer one kind of question.
struct MetricSet {
  std::string_view name;
  /// In a few words.
  std::string_view purpose;
  /// Names of metrics, the most important first.
  std::vector<std::string_view> metrics;
};

/// "brief" (6), "full" (24), and one for each tuning stage.
[[nodiscard]] const std::vector<MetricSet>& metric_sets();
/// Nothing for an unknown name.
[[nodiscard]] const MetricSet* find_metric_set(std::string_view name);

}  // namespace v0
}  // namespace kernelgen
