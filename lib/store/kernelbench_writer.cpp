#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>

#include <kernelgen/store/kernelbench_run.hpp>

#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr double k_nanoseconds_per_millisecond = 1e6;

bool was_compiled(OutcomeKind kind) {
  return kind != OutcomeKind::Syntax && kind != OutcomeKind::Import && kind != OutcomeKind::Interface &&
         kind != OutcomeKind::Compile;
}

/// The member of KernelBench's metadata that holds such a message.
const char* message_member(OutcomeKind kind) {
  switch (kind) {
    case OutcomeKind::Syntax:
    case OutcomeKind::Import:
    case OutcomeKind::Interface:
    case OutcomeKind::Compile:
      return "compilation_error";
    case OutcomeKind::Accuracy:
    case OutcomeKind::OffDistribution:
    case OutcomeKind::MutatedInput:
    case OutcomeKind::Race:
      return "correctness_issue";
    default:
      return "runtime_error";
  }
}

/// The statistics of KernelBench, in milliseconds. `samples` has at least one.
json::object stats_of(const std::vector<std::int64_t>& samples, const std::string& device) {
  const auto count = static_cast<double>(samples.size());
  const double mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count;
  double squares = 0;
  for (const auto sample : samples)
    squares += (static_cast<double>(sample) - mean) * (static_cast<double>(sample) - mean);
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  return {{"mean", mean / k_nanoseconds_per_millisecond},
          {"std", std::sqrt(squares / count) / k_nanoseconds_per_millisecond},
          {"min", static_cast<double>(*least) / k_nanoseconds_per_millisecond},
          {"max", static_cast<double>(*most) / k_nanoseconds_per_millisecond},
          {"num_trials", samples.size()},
          {"hardware", to_utf8(device)}};
}

json::array ratio_to_json(const Ratio& ratio) { return {ratio.value, ratio.low, ratio.high}; }

json::object metadata_of(const EvaluationRecord& record) {
  json::object own{{"version", to_utf8(record.environment.kernelgen_version)},
                   {"outcome", to_utf8(record.outcome.to_class())},
                   {"precision", to_string(record.precision)}};
  if (record.timing) own["speedup_per_call"] = ratio_to_json(record.timing->speedup_call);
  if (record.timing && record.timing->speedup_device)
    own["speedup_device"] = ratio_to_json(*record.timing->speedup_device);
  if (!record.labels.empty()) {
    json::array labels;
    for (const auto& label : record.labels) labels.emplace_back(to_utf8(label));
    own["labels"] = std::move(labels);
  }
  json::object metadata{{"hardware", to_utf8(record.environment.device)}};
  if (!record.outcome.correct()) metadata[message_member(record.outcome.kind)] = to_utf8(record.outcome.message);
  metadata["kernelgen"] = std::move(own);
  return metadata;
}

json::object entry_of(const JudgedSample& judged) {
  const auto& record = judged.record;
  json::object entry{{"sample_id", judged.sample.sample},
                     {"compiled", was_compiled(record.outcome.kind)},
                     {"correctness", record.outcome.correct()},
                     {"metadata", metadata_of(record)},
                     {"runtime", -1.0},
                     {"runtime_stats", json::object()},
                     {"ref_runtime", -1.0},
                     {"ref_runtime_stats", json::object()}};
  // A time that is no result, such as an interpreter's, is left out, and so is one of a smaller task.
  const auto is_shrunk = [](const std::string& label) { return label.starts_with("shrunk:"); };
  if (std::any_of(record.labels.begin(), record.labels.end(), is_shrunk)) return entry;
  if (!score_of(record) || record.timing->candidate_ns.empty() || record.timing->reference_ns.empty()) return entry;
  const auto add = [&](const char* time, const char* stats, const std::vector<std::int64_t>& samples) {
    auto numbers = stats_of(samples, record.environment.device);
    entry[time] = numbers["mean"];
    entry[stats] = std::move(numbers);
  };
  add("runtime", "runtime_stats", record.timing->candidate_ns);
  add("ref_runtime", "ref_runtime_stats", record.timing->reference_ns);
  return entry;
}

}  // namespace

bool is_verdict_for_kernelbench(const Outcome& outcome) {
  return outcome.kind != OutcomeKind::NotScored && outcome.kind != OutcomeKind::Suspect;
}

std::string eval_results_json(const std::vector<JudgedSample>& samples) {
  std::map<int, json::array> by_problem;
  auto sorted = samples;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.sample < b.sample; });
  for (const auto& judged : sorted) by_problem[judged.sample.problem].push_back(entry_of(judged));
  json::object document;
  for (auto& [problem, entries] : by_problem) document[std::to_string(problem)] = std::move(entries);
  return to_pretty_json(document);
}

}  // namespace v0
}  // namespace kernelgen
