#pragma once

/// \file
/// The counters that kernelgen reads: stable names, the profilers' names, and sets of them.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// One counter.
struct MetricSpec {
  /// kernelgen's name for it, the same for every profiler; never reused.
  std::string_view name;
  /// "%", "byte", "ns"; empty for plain numbers.
  std::string_view unit;
  /// Name in Nsight Compute; empty for a counter of AMD's devices only.
  std::string_view ncu;
  /// Name in other versions of ncu or on other devices; empty: the same.
  std::string_view ncu_other;
  /// Meaning in a few words.
  std::string_view meaning;
};

/// Every counter, each once.
[[nodiscard]] std::span<const MetricSpec> all_metrics();
/// Finds a counter by name; nothing for an unknown one.
[[nodiscard]] const MetricSpec* find_metric(std::string_view name);

/// Counters that answer one kind of question.
struct MetricSet {
  std::string_view name;
  /// Purpose in a few words.
  std::string_view purpose;
  /// Names of metrics, the most important first.
  std::vector<std::string_view> metrics;
};

/// "brief" (6), "full" (26), and one for each tuning stage.
[[nodiscard]] const std::vector<MetricSet>& metric_sets();
/// Finds a set by name; nothing for an unknown one.
[[nodiscard]] const MetricSet* find_metric_set(std::string_view name);

/// Adds counters that follow from others and the facts of the device, for profilers that do not read them: the share of
/// the memory's peak, and how many blocks are resident on a multiprocessor. Facts that are not known add nothing. Pure.
void add_derived_metrics(Profile& profile, const GpuFacts& gpu);

}  // namespace v0
}  // namespace kernelgen
