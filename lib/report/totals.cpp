#include <algorithm>
#include <cmath>
#include <numeric>

#include <kernelgen/report/report.hpp>

#include "report/quantile.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

std::vector<double> sorted_scores(const std::vector<RunReport>& runs) {
  std::vector<double> scores;
  for (const auto& run : runs)
    if (run.best && run.best->score) scores.push_back(run.best->score->value);
  std::sort(scores.begin(), scores.end());
  return scores;
}

void add_score_statistics(const std::vector<double>& scores, Totals& totals) {
  if (scores.empty()) return;
  constexpr double k_lower = 0.25, k_middle = 0.5, k_upper = 0.75;
  const auto count = static_cast<double>(scores.size());
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  const double logs = std::accumulate(scores.begin(), scores.end(), 0.0,
                                      [](double so_far, double score) { return so_far + std::log(score); });
  totals.mean = sum / totals.runs;
  totals.mean_scored = sum / count;
  totals.geometric_mean = std::exp(logs / count);
  totals.lower_quartile = sorted_quantile(scores, k_lower);
  totals.median = sorted_quantile(scores, k_middle);
  totals.upper_quartile = sorted_quantile(scores, k_upper);
}

}  // namespace

double fast_p(const std::vector<RunReport>& runs, double p) {
  if (runs.empty()) return 0;
  const auto faster = std::count_if(runs.begin(), runs.end(), [p](const RunReport& run) {
    return run.best && run.best->score && run.best->score->value > p;
  });
  return static_cast<double>(faster) / static_cast<double>(runs.size());
}

Totals totals_of(const std::vector<RunReport>& runs) {
  Totals totals;
  totals.runs = static_cast<int>(runs.size());
  std::vector<RequestReport> requests;
  int correct = 0;
  for (const auto& run : runs) {
    ++totals.by_status[run.status];
    if (run.best) ++correct;
    for (const auto& [name, count] : run.failures()) totals.failures[name] += count;
    requests.insert(requests.end(), run.requests.begin(), run.requests.end());
  }
  totals.usage = usage_of(requests);
  if (runs.empty()) return totals;
  constexpr double k_percent = 100;
  totals.success_percent = k_percent * totals.by_status[RunStatus::Success] / totals.runs;
  totals.correct_percent = k_percent * correct / totals.runs;
  totals.fast_1 = fast_p(runs, 1);
  add_score_statistics(sorted_scores(runs), totals);
  return totals;
}

}  // namespace v0
}  // namespace kernelgen
