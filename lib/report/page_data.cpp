#include <set>
#include <utility>

#include <kernelgen/core/version.hpp>
#include <kernelgen/report/figures.hpp>

#include "report/attempt_report.hpp"
#include "report/page.hpp"
#include "report/report_json.hpp"
#include "report/run_details.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_page_schema = 1;

json::object mean_json(const MeanRatio& mean) {
  return {
      {"tasks", mean.tasks}, {"value", or_null(mean.value)}, {"low", or_null(mean.low)}, {"high", or_null(mean.high)}};
}

json::object group_json(const GroupFigures& group) {
  return {{"name", cut_text(group.name, k_max_name, "")},
          {"runs", group.runs},
          {"correct", group.correct},
          {"fast_1", group.fast_1},
          {"score", mean_json(group.score)},
          {"tokens_per_correct", or_null(group.tokens_per_correct)},
          {"cost_per_correct", or_null(group.cost_per_correct)}};
}

json::array groups_json(const std::vector<RunReport>& runs, Grouping grouping) {
  json::array array;
  for (const auto& group : figures_by(runs, grouping)) array.push_back(group_json(group));
  return array;
}

/// Failed attempts by class, with the number of runs they are in and their classes of errors.
json::array failures_json(const std::vector<RunReport>& runs) {
  struct Failure {
    int attempts = 0;
    std::set<std::size_t> runs;
    std::map<std::string, int> errors;
  };
  std::map<std::string, Failure> classes;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const auto& attempt : runs[i].attempts) {
      if (!attempt.failed()) continue;
      auto& failure = classes[attempt.result_class];
      ++failure.attempts;
      failure.runs.insert(i);
      if (!attempt.error_class.empty()) ++failure.errors[attempt.error_class];
    }
  }
  json::array array;
  for (const auto& [name, failure] : classes)
    array.push_back(json::object{{"class", cut_text(name, k_max_name, "")},
                                 {"attempts", failure.attempts},
                                 {"runs", failure.runs.size()},
                                 {"errors", counts_to_json(failure.errors)}});
  return array;
}

/// The row of a run. Its texts are cut, because a name or a reason may be of any length.
json::object row_json(const RunReport& run) {
  json::object row = run_to_json(run);
  for (auto& member : row)
    if (const auto* text = member.value().if_string()) member.value() = cut_text(*text, k_max_message, "summary.json");
  int samples = 0, correct = 0;
  json::array families;
  for (const auto& family : run.families) families.emplace_back(family);
  for (const auto& attempt : run.attempts) {
    if (!is_sample(attempt)) continue;
    ++samples;
    if (!attempt.failed()) ++correct;
  }
  const auto failure = last_failure_class(run);
  row["level"] = run.level;
  row["families"] = std::move(families);
  row["device"] = cut_text(run.device, k_max_name, "");
  row["samples"] = samples;
  row["correct_samples"] = correct;
  row["cost"] = or_null(usage_of(run.requests).cost);
  row["failure"] = run.best || failure == k_no_failure ? "" : cut_text(failure, k_max_name, "");
  if (run.best) {
    json::array labels;
    for (const auto& label : run.best->labels) labels.emplace_back(cut_text(label, k_max_name, ""));
    row["labels"] = std::move(labels);
    row["headroom"] = cut_text(run.best->headroom, k_max_message, "");
  }
  return row;
}

}  // namespace

json::object report_page_data(const std::vector<RunReport>& runs, const std::string& title) {
  const std::vector<int> k_passes{1, 2, 3, 5, 10, 20};
  json::array rows, curve, passes;
  for (const auto& run : runs) rows.push_back(row_json(run));
  for (const auto& point : fast_p_curve(runs)) curve.push_back(json::array{point.p, point.fraction});
  for (const auto& pass : pass_at_k_of(runs, k_passes))
    passes.push_back(json::object{{"k", pass.k}, {"tasks", pass.tasks}, {"value", or_null(pass.value)}});
  const auto totals = totals_of(runs);
  return {{"schema", k_page_schema},
          {"kind", "report"},
          {"title", cut_text(title, k_max_name, "")},
          {"version", version()},
          {"totals", statistics_to_json(totals)},
          {"usage", to_json_object(totals.usage)},
          {"time", to_json_object(time_figures_of(runs))},
          {"figures", group_json(figures_of(runs))},
          {"fast_p", std::move(curve)},
          {"pass_at_k", std::move(passes)},
          {"failures", failures_json(runs)},
          {"groups",
           {{"level", groups_json(runs, Grouping::Level)},
            {"family", groups_json(runs, Grouping::Family)},
            {"target", groups_json(runs, Grouping::Target)},
            {"model", groups_json(runs, Grouping::Model)},
            {"policy", groups_json(runs, Grouping::Policy)},
            {"device", groups_json(runs, Grouping::Device)}}},
          {"runs", std::move(rows)}};
}

}  // namespace v0
}  // namespace kernelgen
