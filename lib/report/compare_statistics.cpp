#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <kernelgen/report/compare.hpp>

#include "report/quantile.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A number below `count`. The standard's distributions differ between libraries; this one does not. Its bias is below
/// count / 2^53.
std::size_t draw_below(std::size_t count, std::mt19937_64& engine) {
  constexpr int k_unused_bits = 11;  // a double holds 53 bits
  constexpr double k_unit = 0x1p-53;
  return static_cast<std::size_t>(static_cast<double>(engine() >> k_unused_bits) * k_unit * static_cast<double>(count));
}

}  // namespace

double mcnemar_p(int only_base, int only_other) {
  const int trials = only_base + only_other;
  const int fewer = std::min(only_base, only_other);
  // The terms are kept as logarithms, because 0.5^trials is 0 in a double from 1075 trials on.
  double log_term = -trials * std::log(2.0);
  double tail = 0;
  for (int i = 0; i <= fewer; ++i) {
    tail += std::exp(log_term);
    log_term += std::log(static_cast<double>(trials - i) / (i + 1));
  }
  return std::min(1.0, 2 * tail);
}

std::vector<double> holm_adjusted(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto tests_left = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, tests_left * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

MeanRatio mean_ratio(const std::vector<double>& ratios) {
  MeanRatio mean{.tasks = ratios.size()};
  if (ratios.empty()) return mean;
  std::vector<double> logs;
  logs.reserve(ratios.size());
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  const auto count = static_cast<double>(logs.size());
  mean.value = std::exp(std::accumulate(logs.begin(), logs.end(), 0.0) / count);
  if (logs.size() < k_bootstrap_least) return mean;
  std::mt19937_64 engine(k_bootstrap_seed);
  std::vector<double> means;
  for (int resample = 0; resample < k_bootstrap_resamples; ++resample) {
    double sum = 0;
    for (std::size_t i = 0; i < logs.size(); ++i) sum += logs[draw_below(logs.size(), engine)];
    means.push_back(sum / count);
  }
  std::sort(means.begin(), means.end());
  constexpr double k_low = 0.025, k_high = 0.975;
  mean.low = std::exp(sorted_quantile(means, k_low));
  mean.high = std::exp(sorted_quantile(means, k_high));
  return mean;
}

}  // namespace v0
}  // namespace kernelgen
