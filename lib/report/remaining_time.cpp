#include "report/remaining_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr int k_least_runs = 3;
/// The part of the usual time that is always expected to be left of a run.
constexpr double k_least_rest = 0.1;

/// Durations of runs that are over.
struct Durations {
  int count = 0;
  double sum = 0;
  double squares = 0;

  void add(double seconds) {
    ++count;
    sum += seconds;
    squares += seconds * seconds;
  }
  [[nodiscard]] double mean() const { return sum / count; }
  [[nodiscard]] double variance() const {
    return count < 2 ? 0 : std::max(squares - sum * sum / count, 0.0) / (count - 1);
  }
};

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(std::max(seconds, 0.0)));
}

}  // namespace

std::optional<RemainingTime> estimate_remaining_time(const std::vector<MonitoredRun>& runs, int parallel_runs) {
  using Group = std::pair<std::string, std::string>;
  Durations all;
  std::map<Group, Durations> groups;
  int left = 0, running = 0;
  for (const auto& run : runs) {
    if (is_over(run.status)) {
      const double seconds = Seconds(run.spent.time).count();
      all.add(seconds);
      groups[{run.target, run.model}].add(seconds);
    } else if (run.status == CampaignRunStatus::Running || run.status == CampaignRunStatus::NotBegun) {
      ++left;
      running += run.status == CampaignRunStatus::Running ? 1 : 0;
    }
  }
  if (all.count < k_least_runs || running == 0) return std::nullopt;
  double sum = 0, variance = 0, longest = 0;
  std::map<const Durations*, int> uses;
  for (const auto& run : runs) {
    if (run.status != CampaignRunStatus::Running && run.status != CampaignRunStatus::NotBegun) continue;
    const auto group = groups.find({run.target, run.model});
    const auto& known = group == groups.end() || group->second.count < k_least_runs ? all : group->second;
    // One that takes longer than the others is not about to end, as far as is known.
    const double rest = std::max(known.mean() - Seconds(run.spent.time).count(), known.mean() * k_least_rest);
    sum += rest;
    longest = std::max(longest, rest);
    variance += known.variance();
    ++uses[&known];
  }
  // The mean of few runs is uncertain itself, and the same for all runs that are expected to take as long.
  for (const auto& [known, count] : uses) variance += known->variance() / known->count * count * count;
  constexpr double k_quantile_80_percent = 1.2816;
  const double parallel = std::clamp(parallel_runs, 1, left);
  const double expected = std::max(sum / parallel, longest);
  const double spread = k_quantile_80_percent * std::sqrt(variance) / parallel;
  return RemainingTime{.expected = to_milliseconds(expected),
                       .low = to_milliseconds(expected - spread),
                       .high = to_milliseconds(expected + spread),
                       .known_runs = all.count};
}

}  // namespace v0
}  // namespace kernelgen
