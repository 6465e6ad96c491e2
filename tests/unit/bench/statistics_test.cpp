#include "bench/statistics.hpp"
#include "bench/stopping.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

TEST_CASE("median of odd, even and no samples", "[bench][statistics]") {
  CHECK(median(std::vector<std::int64_t>{3, 1, 2}) == 2);
  CHECK(median(std::vector<std::int64_t>{4, 1, 2, 3}) == 2.5);
  CHECK(median(std::vector<std::int64_t>{}) == 0);
}

TEST_CASE("quantile is the nearest rank", "[bench][statistics]") {
  std::vector<std::int64_t> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  CHECK(quantile(samples, 0.1) == 10);
  CHECK(quantile(samples, 0.95) == 95);
  CHECK(quantile(samples, 0) == 1);
  CHECK(quantile(samples, 1) == 100);
}

TEST_CASE("the median's interval has the ranks of the binomial distribution", "[bench][statistics]") {
  std::vector<std::int64_t> samples;
  for (int i = 1; i <= 20; ++i) samples.push_back(i);
  // Table of sign-test confidence limits: n = 20 gives the 6th and the 15th of the ordered samples.
  CHECK(median_interval(samples).low == 6);
  CHECK(median_interval(samples).high == 15);
}

TEST_CASE("ranks tell two groups apart, whatever their outliers", "[bench][statistics]") {
  const std::vector<std::int64_t> low{1, 2, 3, 4, 5}, high{6, 7, 8, 9, 10};
  // U is 25 of 25, its mean 12.5 and its variance 25 * 11 / 12.
  CHECK(rank_sum_deviations(high, low) == Approx(12.5 / std::sqrt(25 * 11 / 12.0)));
  CHECK(rank_sum_deviations(low, high) == Approx(-12.5 / std::sqrt(25 * 11 / 12.0)));
  CHECK(rank_sum_deviations(std::vector<std::int64_t>(8, 3), std::vector<std::int64_t>(9, 3)) == 0);
  CHECK(rank_sum_deviations(std::vector<std::int64_t>{1, 2, 3, 4, 1'000'000}, low) < 0.2);
  CHECK(rank_sum_deviations({}, low) == 0);
}

TEST_CASE("groups of one distribution are 3 deviations apart once in 700 times", "[bench][statistics]") {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> noise(0, 1);
  int apart = 0;
  for (int trial = 0; trial < 7000; ++trial) {
    std::vector<std::int64_t> one, other;
    for (int i = 0; i < 40; ++i) (i % 5 == 0 ? one : other).push_back(static_cast<std::int64_t>(1e6 * noise(random)));
    apart += rank_sum_deviations(one, other) > 3 ? 1 : 0;
  }
  CHECK(apart < 25);
}

TEST_CASE("the interval holds the true median about 95 times in 100", "[bench][statistics]") {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0, 0.5);
  int held = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<std::int64_t> samples;
    for (int i = 0; i < 60; ++i) samples.push_back(static_cast<std::int64_t>(1e6 * noise(random)));
    const auto interval = median_interval(samples);
    if (interval.low <= 1e6 && 1e6 <= interval.high) ++held;
  }
  CHECK(held >= 935);
  CHECK(held <= 990);
}

TEST_CASE("pairing cancels drift that both samples of a pair share", "[bench][statistics]") {
  std::vector<std::int64_t> reference, candidate;
  for (int i = 0; i < 50; ++i) {
    const auto drift = 1000 + 20 * i;
    reference.push_back(2 * drift);
    candidate.push_back(drift);
  }
  const auto [ratio, reference_ns, candidate_ns] = paired_estimate(reference, candidate);
  CHECK(ratio.value == Approx(2.0));
  CHECK(ratio.low == Approx(2.0));
  CHECK(ratio.high == Approx(2.0));
  CHECK(reference_ns == Approx(2.0 * candidate_ns));
}

TEST_CASE("the displayed times have the ratio of the speedup, whatever the samples are", "[bench][statistics]") {
  std::mt19937_64 random(11);
  std::bernoulli_distribution slow(0.45);
  std::cauchy_distribution<double> tail(0, 20'000);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> reference, candidate;
    const auto count = 1 + static_cast<int>(random() % 60);
    for (int i = 0; i < count; ++i) {
      reference.push_back(1'000'000 + (slow(random) ? 250'000 : 0) + static_cast<std::int64_t>(std::abs(tail(random))));
      candidate.push_back(1'000'000 + (slow(random) ? 250'000 : 0) + static_cast<std::int64_t>(std::abs(tail(random))));
    }
    const auto estimate = paired_estimate(reference, candidate);
    CHECK(estimate.reference_ns / estimate.candidate_ns == Approx(estimate.ratio.value));
    CHECK(estimate.ratio.low <= estimate.ratio.value);
    CHECK(estimate.ratio.value <= estimate.ratio.high);
    CHECK((estimate.reference_ns > estimate.candidate_ns) == (estimate.ratio.value > 1));
  }
}

TEST_CASE("calls that take one of two times show no difference between equals", "[bench][statistics]") {
  // The medians of the two columns differ by a quarter: one has 49 slow calls of 100, the other 51.
  std::vector<std::int64_t> reference(100, 2'220'000), candidate(100, 2'220'000);
  for (std::size_t i = 0; i < 49; ++i) reference[2 * i] = 2'730'000;
  for (std::size_t i = 0; i < 51; ++i) candidate[(2 * i + 1) % 100 + (i == 50 ? 1 : 0)] = 2'730'000;
  const auto estimate = paired_estimate(reference, candidate);
  CHECK(estimate.ratio.contains_one());
  CHECK(estimate.reference_ns / estimate.candidate_ns == Approx(estimate.ratio.value));
}

TEST_CASE("few pairs have a wide interval, and one pair has none", "[bench][statistics]") {
  const auto ratio = [](const std::vector<std::int64_t>& reference) {
    return paired_estimate(reference, std::vector<std::int64_t>(reference.size(), 1'000'000)).ratio;
  };
  CHECK(ratio({}).value == 0);
  const auto one = ratio({2'000'000});
  CHECK(one.value == Approx(2.0));
  CHECK((one.low == 0 && std::isinf(one.high)));
  CHECK(one.contains_one());
  // Student's t of one degree of freedom: 12.706 times the deviation of the mean.
  const auto two = ratio({2'000'000, 2'040'000});
  CHECK(two.low == Approx(2.0199 * std::exp(-12.706 * std::log(1.02) / 2)).epsilon(1e-3));
  CHECK_FALSE(two.contains_one());
  const auto five = ratio({2'000'000, 2'040'000, 2'010'000, 1'990'000, 2'020'000});
  CHECK((five.low > two.low && five.high < two.high));
}

TEST_CASE("sampling stops by criterion only after enough full comparisons", "[bench][stopping]") {
  auto criterion = make_ratio_criterion({.max_relative_interval = 0.01, .full_comparisons = 44, .max_samples = 400});
  for (int i = 0; i < 43; ++i) criterion->add_pair(2000, 1000);
  CHECK_FALSE(criterion->is_finished(1s).has_value());
  criterion->add_pair(2000, 1000);
  CHECK(criterion->is_finished(1s) == StopReason::Criterion);
}

TEST_CASE("noisy samples stop at the largest count", "[bench][stopping]") {
  auto criterion = make_ratio_criterion({.full_comparisons = 4, .max_samples = 10});
  for (int i = 0; i < 10; ++i) criterion->add_pair(i % 2 == 0 ? 1000 : 3000, 1000);
  CHECK(criterion->is_finished(1s) == StopReason::MaxSamples);
}

TEST_CASE("the deadline wins even without samples", "[bench][stopping]") {
  auto criterion = make_ratio_criterion({.deadline = 2s});
  CHECK_FALSE(criterion->is_finished(1999ms).has_value());
  CHECK(criterion->is_finished(2s) == StopReason::Deadline);
}
