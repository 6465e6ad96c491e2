#include <kernelgen/store/framework_result.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>

#include <kernelgen/profile/findings.hpp>
#include <kernelgen/prompt/error_classifier.hpp>
#include <kernelgen/prompt/prompt_set.hpp>

#include "core/json.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr double k_ns_per_ms = 1e6;

/// A number; null for none, and for those that JSON lacks.
json::value or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? json::value(*value) : json::value();
}

/// The largest error of an output in any checked call; the first one that is no finite number.
std::optional<double> largest(const EvaluationRecord& record, double OutputError::*error) {
  std::optional<double> found;
  for (const auto& checked : record.cases) {
    for (const auto& output : checked.outputs) {
      if (!std::isfinite(output.*error)) return output.*error;
      found = std::max(found.value_or(0), output.*error);
    }
  }
  return found;
}

/// The judge names a value where the reference has another one: "y[3] is inf, expected 0.5".
bool has_infinity(const Outcome& outcome) {
  return outcome.detail == "nan" && (contains(outcome.message, " is inf") || contains(outcome.message, " is -inf"));
}

void add_times(const EvaluationRecord& record, json::object& members) {
  // What an interpreter or a stand-in for the GPU takes is no result.
  const bool is_timed = score_of(record).has_value();
  const auto milliseconds = [&](double TimingReport::*median) {
    return is_timed ? or_null((*record.timing).*median / k_ns_per_ms) : json::value();
  };
  members["ref_time_ms"] = milliseconds(&TimingReport::reference_median_ns);
  members["new_time_ms"] = milliseconds(&TimingReport::candidate_median_ns);
  members["speedup"] = is_timed ? or_null(record.timing->speedup_call.value) : json::value();
}

std::string why_unavailable(const ProfileUnavailable& why) {
  return "unavailable: " + why.reason + (why.remedy.empty() ? "" : "; " + why.remedy);
}

/// The longest kernel of the candidate's own, else the longest one.
const KernelProfile* main_kernel(const Profile& profile) {
  const auto is_own = [](const KernelProfile& kernel) { return kernel.origin == KernelOrigin::Own; };
  const auto own = std::find_if(profile.kernels.begin(), profile.kernels.end(), is_own);
  if (own != profile.kernels.end()) return &*own;
  return profile.kernels.empty() ? nullptr : &profile.kernels.front();
}

json::object metrics_of(const KernelProfile& kernel, const json::array& hints) {
  json::object raw;
  for (const auto& metric : kernel.metrics) raw[metric.name] = or_null(metric.value);
  return {{"kernel_name", kernel.name},
          {"duration_ms", or_null(kernel.duration_ns / k_ns_per_ms)},
          {"l2_cache_hit_rate", or_null(kernel.metric("l2_hit_pct"))},
          {"mfma_utilization_pct", or_null(kernel.metric("tensor_pipe_pct"))},
          {"optimization_hints", hints},
          {"raw_metrics", std::move(raw)}};
}

void add_profile(const FrameworkResult& result, json::object& members) {
  members["perf_analysis"] = nullptr;
  members["rocprof_metrics"] = nullptr;
  if (!result.profile) return;
  const auto& profile = *result.profile;
  if (profile.unavailable) {
    members["perf_analysis"] = why_unavailable(*profile.unavailable);
    return;
  }
  std::string text;
  json::array hints;
  for (const auto& finding : find_bottlenecks(profile, result.gpu)) {
    text += finding.message + '\n';
    hints.emplace_back(finding.message);
  }
  if (profile.no_counters) text += "counters " + why_unavailable(*profile.no_counters) + '\n';
  members["perf_analysis"] = std::string(trim(text));
  if (const auto* kernel = main_kernel(profile)) members["rocprof_metrics"] = metrics_of(*kernel, hints);
}

}  // namespace

std::string to_framework_json(const EvaluationRecord& record, const FrameworkResult& result) {
  auto document = to_value(record);
  auto& members = document.as_object();
  const auto& outcome = record.outcome;
  const bool is_infinite = has_infinity(outcome);
  members["problem"] = result.problem;
  members["code_path"] = result.code_path;
  members["compile_success"] = outcome.kind != OutcomeKind::Syntax && !is_compile_error(record);
  members["accuracy_pass"] = outcome.correct();
  members["max_diff"] = or_null(largest(record, &OutputError::max_abs));
  members["mean_diff"] = or_null(largest(record, &OutputError::mean_abs));
  members["has_nan"] = outcome.detail == "nan" && !is_infinite;
  members["has_inf"] = is_infinite;
  add_times(record, members);
  add_profile(result, members);
  members["error"] = framework_error(record);
  return to_pretty_json(document);
}

}  // namespace v0
}  // namespace kernelgen
