#include <kernelgen/report/figures.hpp>

#include <algorithm>
#include <map>
#include <utility>

#include "report/attempt_report.hpp"
#include "report/quantile.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

struct AttemptCounts {
  int attempts = 0;
  int correct = 0;
};

std::map<std::string, AttemptCounts> counts_by_task(const std::vector<RunReport>& runs) {
  std::map<std::string, AttemptCounts> tasks;
  for (const auto& run : runs) {
    for (const auto& attempt : run.attempts) {
      if (!is_sample(attempt)) continue;
      auto& counts = tasks[run.task];
      ++counts.attempts;
      if (!attempt.failed()) ++counts.correct;
    }
  }
  return tasks;
}

std::vector<std::string> groups_of(const RunReport& run, Grouping grouping) {
  switch (grouping) {
    case Grouping::Level:
      return {run.level};
    case Grouping::Family:
      return run.families.empty() ? std::vector<std::string>{""} : run.families;
    case Grouping::Target:
      return {run.target};
    case Grouping::Model:
      return {run.model};
    case Grouping::Policy:
      return {run.policy};
    case Grouping::Device:
      return {run.device};
  }
  return {};
}

}  // namespace

std::optional<double> pass_at_k(int attempts, int correct, int k) {
  if (k < 1 || attempts < k || correct < 0 || correct > attempts) return std::nullopt;
  // The quotient of the binomials as a product, because they exceed any number type.
  double all_wrong = 1;
  for (int i = attempts - correct + 1; i <= attempts; ++i) all_wrong *= 1 - static_cast<double>(k) / i;
  return attempts - correct < k ? 1 : 1 - all_wrong;
}

std::vector<PassAtK> pass_at_k_of(const std::vector<RunReport>& runs, const std::vector<int>& ks) {
  const auto tasks = counts_by_task(runs);
  std::vector<PassAtK> list;
  for (const int k : ks) {
    PassAtK pass{.k = k};
    double sum = 0;
    for (const auto& [name, counts] : tasks) {
      const auto value = pass_at_k(counts.attempts, counts.correct, k);
      if (!value) continue;
      ++pass.tasks;
      sum += *value;
    }
    if (pass.tasks > 0) pass.value = sum / static_cast<double>(pass.tasks);
    list.push_back(pass);
  }
  return list;
}

std::vector<FastP> fast_p_curve(const std::vector<RunReport>& runs) {
  // Tenths, because steps of 0.1 would add up to something else.
  constexpr int k_first = 5, k_last = 40;
  constexpr double k_tenth = 10;
  std::vector<FastP> curve;
  for (int tenths = k_first; tenths <= k_last; ++tenths) {
    const double p = tenths / k_tenth;
    curve.push_back({p, fast_p(runs, p)});
  }
  return curve;
}

GroupFigures figures_of(const std::vector<RunReport>& runs) {
  GroupFigures group;
  group.runs = static_cast<int>(runs.size());
  group.fast_1 = fast_p(runs, 1);
  std::vector<double> scores;
  std::vector<RequestReport> requests;
  for (const auto& run : runs) {
    if (run.best) ++group.correct;
    if (run.best && run.best->score && run.best->score->value > 0) scores.push_back(run.best->score->value);
    requests.insert(requests.end(), run.requests.begin(), run.requests.end());
  }
  group.score = mean_ratio(scores);
  if (group.correct == 0) return group;
  const auto usage = usage_of(requests);
  if (const auto tokens = usage.total_tokens()) group.tokens_per_correct = static_cast<double>(*tokens) / group.correct;
  if (usage.cost) group.cost_per_correct = *usage.cost / group.correct;
  return group;
}

TimeFigures time_figures_of(const std::vector<RunReport>& runs) {
  TimeFigures figures;
  std::vector<double> seconds;
  auto& sum = figures.evaluations;
  for (const auto& run : runs) {
    figures.model += usage_of(run.requests).latency_seconds;
    for (const auto& attempt : run.attempts) {
      if (!attempt.time) continue;
      sum.compiling += attempt.time->compiling;
      sum.waiting += attempt.time->waiting;
      sum.starting += attempt.time->starting;
      sum.judging += attempt.time->judging;
      seconds.push_back(attempt.time->without_waiting());
    }
  }
  if (seconds.empty()) return figures;
  std::sort(seconds.begin(), seconds.end());
  constexpr double k_middle = 0.5, k_upper_decile = 0.9;
  figures.median = sorted_quantile(seconds, k_middle);
  figures.upper_decile = sorted_quantile(seconds, k_upper_decile);
  return figures;
}

std::vector<GroupFigures> figures_by(const std::vector<RunReport>& runs, Grouping grouping) {
  std::map<std::string, std::vector<RunReport>> groups;
  for (const auto& run : runs)
    for (auto& name : groups_of(run, grouping)) groups[name].push_back(run);
  std::vector<GroupFigures> figures;
  for (const auto& [name, members] : groups) {
    figures.push_back(figures_of(members));
    figures.back().name = name;
  }
  if (!figures.empty() && figures.front().name.empty())
    std::rotate(figures.begin(), figures.begin() + 1, figures.end());
  return figures;
}

}  // namespace v0
}  // namespace kernelgen
