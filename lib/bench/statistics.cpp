#include <kernelgen/bench/statistics.hpp>

#include <algorithm>
#include <cmath>
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

/// Rank k such that [x(k), x(n-1-k)] holds the median with 95 % confidence.
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

}  // namespace

double median(std::span<const std::int64_t> samples) { return median_of_sorted(sorted_copy(samples)); }

double quantile(std::span<const std::int64_t> samples, double fraction) {
  if (samples.empty()) return 0;
  const auto sorted = sorted_copy(samples);
  const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  return static_cast<double>(sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1]);
}

Interval median_interval(std::span<const std::int64_t> samples) { return interval_of_sorted(sorted_copy(samples)); }

Ratio paired_ratio(std::span<const std::int64_t> reference_ns, std::span<const std::int64_t> candidate_ns) {
  std::vector<double> ratios;
  ratios.reserve(candidate_ns.size());
  for (std::size_t i = 0; i < candidate_ns.size() && i < reference_ns.size(); ++i)
    ratios.push_back(static_cast<double>(reference_ns[i]) / static_cast<double>(candidate_ns[i]));
  std::sort(ratios.begin(), ratios.end());
  const auto interval = interval_of_sorted(ratios);
  return {median_of_sorted(ratios), interval.low, interval.high};
}

}  // namespace v0
}  // namespace kernelgen
