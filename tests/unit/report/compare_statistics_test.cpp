#include <cmath>
#include <vector>

#include <kernelgen/report/compare.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

bool is_close(double a, double b, double tolerance = 1e-12) { return std::abs(a - b) <= tolerance; }

}  // namespace

TEST_CASE("p-values of several tests are adjusted by Holm's method", "[report][compare]") {
  CHECK(holm_adjusted({}).empty());
  CHECK(holm_adjusted({0.04}) == std::vector{0.04});
  // p.adjust(c(0.01, 0.04, 0.03, 0.005), method = "holm") of R.
  const auto adjusted = holm_adjusted({0.01, 0.04, 0.03, 0.005});
  const std::vector expected{0.03, 0.06, 0.06, 0.02};
  REQUIRE(adjusted.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(is_close(adjusted[i], expected[i]));
  CHECK(holm_adjusted({0.9, 0.7}) == std::vector{1.0, 1.0});
}

TEST_CASE("McNemar's exact test against known values", "[report][compare]") {
  CHECK(mcnemar_p(0, 0) == 1);
  CHECK(mcnemar_p(1, 0) == 1);
  CHECK(mcnemar_p(7, 7) == 1);
  // Twice the lower tail of a binomial distribution with probability 1/2: 2 (1 + 10) / 1024, and so on.
  CHECK(is_close(mcnemar_p(1, 9), 22.0 / 1024));
  CHECK(is_close(mcnemar_p(0, 6), 2.0 / 64));
  CHECK(is_close(mcnemar_p(5, 15), 0.041389465332031));
  // Summed in exact fractions.
  CHECK(is_close(mcnemar_p(86, 150), 3.715936139571442e-05, 1e-14));
  // Which side is which does not matter.
  CHECK(mcnemar_p(9, 1) == mcnemar_p(1, 9));
  // 0.5 to the power of 2000 is 0 in a double.
  CHECK(is_close(mcnemar_p(980, 1020), 0.3831768553352375, 1e-9));
  CHECK(mcnemar_p(0, 2000) < 1e-300);
}

TEST_CASE("the geometric mean of ratios", "[report][compare]") {
  CHECK_FALSE(mean_ratio({}).value);
  CHECK(mean_ratio({}).tasks == 0);
  CHECK(is_close(*mean_ratio({2}).value, 2));
  CHECK(is_close(*mean_ratio({2, 0.5}).value, 1));
  CHECK(is_close(*mean_ratio({1, 2, 4}).value, 2));
  CHECK(mean_ratio({1, 2, 4}).tasks == 3);
}

TEST_CASE("the interval of a geometric mean", "[report][compare]") {
  // Too few tasks: the interval would be too narrow.
  CHECK_FALSE(mean_ratio({1, 2, 3, 4}).low);
  CHECK_FALSE(mean_ratio({1, 2, 3, 4}).high);
  const auto equal = mean_ratio({3, 3, 3, 3, 3});
  CHECK(is_close(*equal.low, 3));
  CHECK(is_close(*equal.high, 3));
  // Every value of -1 and 1 is drawn with a probability of 1/2, so the mean of 100 has a deviation of 0.1: the interval
  // is 1.96 of them wide on both sides, up to the granularity of the mean and the noise of 10,000 resamples.
  std::vector<double> ratios;
  for (int i = 0; i < 50; ++i) {
    ratios.push_back(std::exp(1));
    ratios.push_back(std::exp(-1));
  }
  const auto mean = mean_ratio(ratios);
  CHECK(is_close(*mean.value, 1));
  CHECK(is_close(std::log(*mean.low), -0.196, 0.021));
  CHECK(is_close(std::log(*mean.high), 0.196, 0.021));
  // The same ratios give the same interval, digit for digit.
  CHECK(mean_ratio(ratios).low == mean.low);
  CHECK(mean_ratio(ratios).high == mean.high);
}

TEST_CASE("the interval follows from the documented generator", "[report][compare]") {
  // Computed apart from this code, by a Mersenne twister (mt19937_64, seed 1) and numpy.quantile.
  const auto mean = mean_ratio({0.5, 0.8, 1.0, 1.3, 2.0, 4.0});
  CHECK(is_close(*mean.value, 1.2681838602646003, 1e-9));
  CHECK(is_close(*mean.low, 0.76472449133173, 1e-9));
  CHECK(is_close(*mean.high, 2.244924096618746, 1e-9));
}
