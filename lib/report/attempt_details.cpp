#include <algorithm>
#include <chrono>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>

#include "core/enum_names.hpp"
#include "report/report_json.hpp"
#include "report/run_details.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr double k_ns_per_ms = 1e6;
/// Elements of a list that are shown; the record has them all.
constexpr std::size_t k_max_list = 60;
constexpr std::size_t k_max_kernels = 8;

std::string short_line(std::string_view text) { return cut_text(text, k_max_name, ""); }

/// The first elements of a list, as JSON.
template <class List, class Convert>
json::array list_json(const List& list, std::size_t most, Convert convert) {
  json::array array;
  for (std::size_t i = 0; i < std::min(list.size(), most); ++i) array.push_back(convert(list[i]));
  return array;
}

json::array ratio_json(const Ratio& ratio) { return {ratio.value, ratio.low, ratio.high}; }

json::object diagnostic_json(const Diagnostic& diagnostic) {
  Members members;
  members.add("severity", short_line(diagnostic.severity));
  members.add("file", short_line(diagnostic.file));
  if (diagnostic.line > 0) members.add("line", json::value(diagnostic.line));
  if (diagnostic.column > 0) members.add("column", json::value(diagnostic.column));
  members.add("message", cut_text(diagnostic.message, k_max_message, ""));
  return members.take();
}

json::object compile_json(const CompileReport& report, const std::string& whole) {
  Members members;
  members.add("diagnostics", list_json(report.diagnostics, k_max_list, diagnostic_json));
  if (report.diagnostics.size() > k_max_list) members.add("more", json::value(report.diagnostics.size() - k_max_list));
  members.add("log", cut_text(report.log, k_max_log, whole));
  members.add("ms", std::chrono::duration<double, std::milli>(report.duration).count());
  members.add("cache", short_line(report.cache));
  return members.take();
}

/// One checked call: distribution, set of weights, number of the call, class, largest ratio of error to allowed error.
json::array case_json(const CaseResult& checked) {
  double worst = 0;
  for (const auto& output : checked.outputs) worst = std::max(worst, output.max_error_ratio);
  return {short_line(checked.distribution),
          checked.weight_set,
          checked.call,
          short_line(checked.outcome.to_class()),
          checked.outputs.empty() ? json::value(nullptr) : json::value(worst),
          short_line(checked.outcome.message)};
}

json::object baseline_json(const BaselineReport& baseline) {
  Members members;
  members.add("name", std::string(to_string(baseline.name)));
  if (baseline.median_ns) members.add("ms", json::value(*baseline.median_ns / k_ns_per_ms));
  members.add("speedup", or_null(baseline.speedup));
  members.add("reason", short_line(baseline.reason));
  return members.take();
}

json::object timing_json(const TimingReport& timing) {
  Members members;
  members.add("reference_ms", json::value(timing.reference_median_ns / k_ns_per_ms));
  members.add("ms", json::value(timing.candidate_median_ns / k_ns_per_ms));
  members.add("speedup_call", ratio_json(timing.speedup_call));
  if (timing.speedup_device) members.add("speedup_device", ratio_json(*timing.speedup_device));
  members.add("device_reason", short_line(timing.speedup_device_reason));
  members.add("samples", json::value(timing.candidate_ns.size()));
  members.add("stop", std::string(to_string(timing.stop_reason)));
  members.add("first_call_ms", json::value(static_cast<double>(timing.first_call_ns) / k_ns_per_ms));
  members.add("full_comparisons", json::value(timing.full_comparisons));
  members.add("contention", or_null(timing.contention));
  members.add("baselines", list_json(timing.baselines, k_max_list, baseline_json));
  return members.take();
}

json::object work_json(const WorkReport& work) {
  Members members;
  members.add("source", short_line(work.source));
  members.add("unavailable", short_line(work.unavailable));
  if (work.unavailable.empty()) {
    members.add("shares", json::array{work.own, work.library, work.framework, work.copies});
    members.add("activities", list_json(work.activities, k_max_kernels, [](const WorkActivity& activity) {
                  return json::array{short_line(activity.name), to_string(activity.origin), activity.microseconds};
                }));
  }
  return members.take();
}

json::object sanitizer_json(const SanitizerReport& report) {
  Members members;
  members.add("tool", short_line(report.tool));
  members.add("status", std::string(to_string(report.status)));
  members.add("reason", short_line(report.reason));
  members.add("findings", list_json(report.findings, k_max_list, diagnostic_json));
  return members.take();
}

json::object architecture_json(const ArchitectureReport& report) {
  Members members;
  members.add("architecture", short_line(report.architecture));
  members.add("kernels", json::value(report.kernels.size()));
  if (report.failure) members.add("failure", short_line(report.failure->to_class() + ": " + report.failure->message));
  return members.take();
}

json::object record_json(const EvaluationRecord& record, const std::string& whole) {
  Members members;
  members.add("class", short_line(record.outcome.to_class()));
  members.add("message", cut_text(record.outcome.message, k_max_message, whole));
  members.add("precision", std::string(to_string(record.precision)));
  members.add("mode", std::string(to_string(record.mode)));
  members.add("labels",
              list_json(record.labels, k_max_list, [](const auto& label) { return json::value(short_line(label)); }));
  members.add("tolerance", json::array{record.tolerance.rtol, record.tolerance.atol, record.tolerance.standard});
  members.add("cases", list_json(record.cases, k_max_list, case_json));
  if (record.compile) members.add("compile", compile_json(*record.compile, whole));
  if (record.timing) members.add("timing", timing_json(*record.timing));
  if (record.work) members.add("work", work_json(*record.work));
  members.add("sanitizers", list_json(record.sanitizers, k_max_list, sanitizer_json));
  members.add("compiled_for", list_json(record.compiled_for, k_max_list, architecture_json));
  members.add("phases", list_json(record.phases, k_max_list, [](const Phase& phase) {
                return json::array{short_line(phase.name), phase.milliseconds};
              }));
  members.add("device", short_line(record.environment.device));
  members.add("compiler", short_line(record.environment.compiler));
  members.add("torch", short_line(record.environment.torch));
  members.add("isolation", short_line(record.environment.isolation));
  return members.take();
}

json::object kernel_json(const KernelProfile& kernel, double share) {
  Members members;
  members.add("name", short_line(kernel.function.empty() ? kernel.name : kernel.function));
  members.add("origin", std::string(to_string(kernel.origin)));
  members.add("launches", json::value(kernel.launches));
  members.add("ms", json::value(kernel.duration_ns / k_ns_per_ms));
  members.add("share", json::value(share));
  members.add("metrics", list_json(kernel.metrics, k_max_list, [](const Metric& metric) {
                return json::array{short_line(metric.name), metric.value, short_line(metric.unit)};
              }));
  return members.take();
}

std::string describe(const ProfileUnavailable& unavailable) {
  return short_line(unavailable.reason + (unavailable.remedy.empty() ? "" : "; " + unavailable.remedy));
}

json::object profile_json(const Profile& profile) {
  Members members;
  members.add("source", short_line(profile.source));
  members.add("device", short_line(profile.device));
  if (profile.unavailable) members.add("unavailable", describe(*profile.unavailable));
  if (profile.no_counters) members.add("no_counters", describe(*profile.no_counters));
  if (profile.call_ns > 0) members.add("call_ms", json::value(profile.call_ns / k_ns_per_ms));
  if (profile.span_ns > 0) members.add("span_ms", json::value(profile.span_ns / k_ns_per_ms));
  members.add("launches", json::value(profile.launches()));
  members.add("kernels", list_json(profile.kernels, k_max_kernels, [&](const KernelProfile& kernel) {
                return kernel_json(kernel, profile.share_of(kernel));
              }));
  return members.take();
}

json::object analysis_json(const Analysis& analysis, const std::string& whole) {
  Members members;
  members.add("worth", json::value(analysis.worth_optimizing));
  const auto text = [&](const char* name, const std::string& value) {
    members.add(name, cut_text(value, k_max_message, whole));
  };
  text("reason", analysis.reason);
  text("bottleneck", analysis.bottleneck);
  text("method", analysis.method);
  text("plan", analysis.plan);
  text("expected", analysis.expected_speedup);
  text("output", analysis.output_requirement);
  text("correction", analysis.correction);
  return members.take();
}

/// What the analysis behind an action expected of it, and the ratio of its score to that of the kernel it began with.
void add_expectation(const ActionResult& result, const History& history, Members& members) {
  const auto analysis = history.find(result.action.analysis);
  if (result.action.analysis.empty() || analysis == history.end() || !analysis->second.analysis) return;
  members.add("expected", cut_text(analysis->second.analysis->expected_speedup, k_max_name, ""));
  const auto base = history.find(result.action.base);
  if (base == history.end()) return;
  const auto before = base->second.score(), after = result.score();
  if (before && after && *before > 0) members.add("achieved", json::value(*after / *before));
}

void add_code(const ActionResult& result, Members& members) {
  if (!result.candidate) return;
  const auto file = "code_" + std::to_string(result.number) +
                    std::string(file_extension(result.candidate->target, result.candidate->language));
  members.add("language", std::string(to_string(result.candidate->language)));
  members.add("code", cut_text(result.candidate->source, k_max_code, file));
  members.add("code_file", file);
}

}  // namespace

json::object attempt_details(const ActionResult& result, const History& history) {
  const auto number = std::to_string(result.number);
  const auto record_file = "result_" + number + ".json";
  Members members;
  members.add("number", json::value(result.number));
  members.add("id", short_line(result.action.id));
  members.add("kind", std::string(to_string(result.action.kind)));
  members.add("base", short_line(result.action.base));
  members.add("second_base", short_line(result.action.second_base));
  members.add("analysis_of", short_line(result.action.analysis));
  members.add("variant", short_line(result.action.variant));
  members.add("status", std::string(to_string(result.status)));
  members.add("message", cut_text(result.message, k_max_message, record_file));
  if (result.record) {
    members.add("record", record_json(*result.record, record_file));
    const auto error = classify_error(*result.record, result.candidate ? result.candidate->source : "");
    members.add("error_class", short_line(error.error_class));
  }
  if (result.score()) members.add("score", ratio_json(result.record->timing->scored_speedup()));
  if (result.analysis) members.add("analysis", analysis_json(*result.analysis, record_file));
  if (result.critique) members.add("critique", cut_text(*result.critique, k_max_log, record_file));
  add_expectation(result, history, members);
  if (result.recurrence) members.add("recurrence", std::string(to_string(*result.recurrence)));
  if (result.headroom) members.add("headroom", short_line(result.headroom->sentence));
  if (result.profile) members.add("profile", profile_json(*result.profile));
  add_code(result, members);
  return members.take();
}

}  // namespace v0
}  // namespace kernelgen
