#include "bench/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

template <class T>
double median_of_sorted(const std::vector<T>& sorted) {
  if (sorted.empty()) return 0;
  const auto middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return static_cast<double>(sorted[middle]);
  return (static_cast<double>(sorted[middle - 1]) + static_cast<double>(sorted[middle])) / 2;
}

std::vector<std::int64_t> sorted_copy(std::span<const std::int64_t> samples) {
  std::vector<std::int64_t> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

/// The rank k such that [x(k), x(n-1-k)] holds the median with 95 % confidence.
std::size_t lower_rank(std::size_t n) {
  if (n == 0) return 0;
  // The largest k with P(Binomial(n, 1/2) <= k - 1) <= 0.025, summed exactly where that is cheap.
  if (n <= 40) {
    double term = std::pow(0.5, static_cast<double>(n));
    double cumulative = 0;
    std::size_t k = 0;
    while (k < n) {
      cumulative += term;
      if (cumulative > 0.025) break;
      term *= static_cast<double>(n - k) / static_cast<double>(k + 1);
      ++k;
    }
    return k == 0 ? 0 : k - 1;
  }
  const double rank = static_cast<double>(n) / 2 - 1.96 * std::sqrt(static_cast<double>(n)) / 2;
  return rank < 1 ? 0 : static_cast<std::size_t>(rank) - 1;
}

template <class T>
Interval interval_of_sorted(const std::vector<T>& sorted) {
  if (sorted.empty()) return {};
  const auto rank = lower_rank(sorted.size());
  return {static_cast<double>(sorted[rank]), static_cast<double>(sorted[sorted.size() - 1 - rank])};
}

/// Minimal number of samples for a 95 % interval from order statistics.
constexpr std::size_t k_fewest_for_ranks = 6;

/// The 95 % interval of a geometric mean from few ratios, by Student's t of their logarithms.
Interval interval_of_few(const std::vector<double>& ratios) {
  // Quantiles of 97.5 % for 1, 2, ... degrees of freedom.
  constexpr std::array<double, 4> k_student{12.706, 4.303, 3.182, 2.776};
  const auto count = ratios.size();
  if (count < 2) return {0, std::numeric_limits<double>::infinity()};
  double sum = 0;
  double squares = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  const double mean = sum / static_cast<double>(count);
  for (const double ratio : ratios) squares += (std::log(ratio) - mean) * (std::log(ratio) - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(count - 1) / static_cast<double>(count));
  const double half = k_student.at(count - 2) * deviation;
  return {std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace

double rank_sum_deviations(std::span<const std::int64_t> slower, std::span<const std::int64_t> faster) {
  if (slower.empty() || faster.empty()) return 0;
  const auto sorted = sorted_copy(faster);
  // The number of pairs in which the first one is larger; equal ones count half.
  double larger = 0;
  for (const auto sample : slower) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), sample);
    larger += static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
  }
  const double pairs = static_cast<double>(slower.size()) * static_cast<double>(faster.size());
  return (larger - pairs / 2) / std::sqrt(pairs * static_cast<double>(slower.size() + faster.size() + 1) / 12);
}

double median(std::span<const std::int64_t> samples) { return median_of_sorted(sorted_copy(samples)); }

double quantile(std::span<const std::int64_t> samples, double fraction) {
  if (samples.empty()) return 0;
  const auto sorted = sorted_copy(samples);
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1]);
}

Interval median_interval(std::span<const std::int64_t> samples) { return interval_of_sorted(sorted_copy(samples)); }

PairedEstimate paired_estimate(std::span<const std::int64_t> reference_ns, std::span<const std::int64_t> candidate_ns) {
  const auto count = std::min(reference_ns.size(), candidate_ns.size());
  if (count == 0) return {};
  std::vector<double> ratios, levels;
  for (std::size_t i = 0; i < count; ++i) {
    const auto reference = static_cast<double>(reference_ns[i]);
    const auto candidate = static_cast<double>(candidate_ns[i]);
    ratios.push_back(reference / candidate);
    levels.push_back(std::sqrt(reference * candidate));
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(levels.begin(), levels.end());
  const double value = median_of_sorted(ratios);
  const double level = median_of_sorted(levels);
  const auto interval = count < k_fewest_for_ranks ? interval_of_few(ratios) : interval_of_sorted(ratios);
  return {.ratio = {value, std::min(interval.low, value), std::max(interval.high, value)},
          .reference_ns = level * std::sqrt(value),
          .candidate_ns = level / std::sqrt(value)};
}

}  // namespace v0
}  // namespace kernelgen
