#include "report/remaining_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr int k_least_runs = 3;

/// How long runs take, from those that are over and from how long the others have taken until now: the estimate of
/// Kaplan and Meier. Without the second kind, the runs that end first would speak for all of them. Beyond the longest
/// one, runs are expected to end at the rate at which runs have ended.
class Durations {
 public:
  void add(double seconds, bool is_over) {
    seen_.push_back({seconds, is_over});
    total_ += seconds;
    count_ += is_over ? 1 : 0;
  }
  /// Runs that are over.
  [[nodiscard]] int count() const { return count_; }

  /// To be called once all are added, and before the rest; needs a run that is over.
  void estimate() {
    std::sort(seen_.begin(), seen_.end(), [](const Seen& a, const Seen& b) { return a.seconds < b.seconds; });
    double share = 1;
    for (std::size_t i = 0; i < seen_.size();) {
      const double seconds = seen_[i].seconds;
      const auto at_risk = static_cast<double>(seen_.size() - i);
      double over = 0;
      for (; i < seen_.size() && seen_[i].seconds == seconds; ++i) over += seen_[i].is_over ? 1 : 0;
      share *= 1 - over / at_risk;
      steps_.push_back({seconds, share});
    }
    mean_time_to_end_ = total_ / count_;
  }

  /// The expected duration of a run that has taken `elapsed` seconds, less these.
  [[nodiscard]] double expected_rest(double elapsed) const { return moment(elapsed, 1) / share_after(elapsed); }
  [[nodiscard]] double variance() const {
    const double mean = moment(0, 1);
    return std::max(moment(0, 2) - mean * mean, 0.0);
  }

 private:
  struct Seen {
    double seconds;
    bool is_over;
  };
  /// The share of runs that take longer than `seconds`.
  struct Step {
    double seconds;
    double share;
  };

  /// The integral of `order` times t^(order - 1) times the share, from `from` on: the moments of the durations.
  [[nodiscard]] double moment(double from, int order) const {
    const auto power = [order](double t) { return order == 1 ? t : t * t; };
    double sum = 0, begin = 0, share = 1;
    for (const auto& step : steps_) {
      if (step.seconds > from) sum += share * (power(step.seconds) - power(std::max(begin, from)));
      begin = step.seconds;
      share = step.share;
    }
    const double tail = mean_time_to_end_;
    return sum + share * (order == 1 ? tail : 2 * tail * (std::max(begin, from) + tail));
  }
  [[nodiscard]] double share_after(double elapsed) const {
    double share = 1;
    for (const auto& step : steps_)
      if (step.seconds <= elapsed) share = step.share;
    return share;
  }

  std::vector<Seen> seen_;
  double total_ = 0;
  int count_ = 0;
  std::vector<Step> steps_;
  double mean_time_to_end_ = 0;
};

std::chrono::milliseconds to_milliseconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Seconds(std::max(seconds, 0.0)));
}

}  // namespace

std::optional<RemainingTime> estimate_remaining_time(const std::vector<MonitoredRun>& runs, int parallel_runs) {
  using Group = std::pair<std::string, std::string>;
  Durations all;
  std::map<Group, Durations> groups;
  std::vector<const MonitoredRun*> left;
  int running = 0;
  for (const auto& run : runs) {
    const bool is_running = run.status == CampaignRunStatus::Running;
    if (is_running || run.status == CampaignRunStatus::NotBegun) left.push_back(&run);
    running += is_running ? 1 : 0;
    if (!is_running && !is_over(run.status)) continue;
    const double seconds = Seconds(run.spent.time).count();
    all.add(seconds, !is_running);
    groups[{run.target, run.model}].add(seconds, !is_running);
  }
  if (all.count() < k_least_runs || running == 0) return std::nullopt;
  all.estimate();
  for (auto& [group, durations] : groups)
    if (durations.count() >= k_least_runs) durations.estimate();
  double sum = 0, variance = 0, longest = 0;
  std::map<const Durations*, int> uses;
  for (const auto* run : left) {
    const auto group = groups.find({run->target, run->model});
    const auto& known = group == groups.end() || group->second.count() < k_least_runs ? all : group->second;
    const double rest = known.expected_rest(Seconds(run->spent.time).count());
    sum += rest;
    longest = std::max(longest, rest);
    variance += known.variance();
    ++uses[&known];
  }
  // The mean of few runs is uncertain itself, and the same for all runs that are expected to take as long.
  for (const auto& [known, count] : uses) variance += known->variance() / known->count() * count * count;
  constexpr double k_quantile_80_percent = 1.2816;
  const double parallel = std::clamp(parallel_runs, 1, static_cast<int>(left.size()));
  const double expected = std::max(sum / parallel, longest);
  const double spread = k_quantile_80_percent * std::sqrt(variance) / parallel;
  return RemainingTime{.expected = to_milliseconds(expected),
                       .low = to_milliseconds(expected - spread),
                       .high = to_milliseconds(expected + spread),
                       .known_runs = all.count()};
}

}  // namespace v0
}  // namespace kernelgen
