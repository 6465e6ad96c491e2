#include "bench/build_clock.hpp"

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

using Verdict = BuildClock::Verdict;

/// Takes readings every 200 ms until the clock ends the step. Returns the time of that.
template <class HelperTime>
std::pair<Verdict, std::chrono::nanoseconds> run(const StepLimits& limits, HelperTime helper_time, bool has_helpers) {
  BuildClock clock(limits, helper_time(0ns));
  for (std::chrono::nanoseconds now = 200ms; now < 1h; now += 200ms) {
    const auto verdict = clock.observe({.elapsed = now, .helper_time = helper_time(now), .has_helpers = has_helpers});
    if (verdict != Verdict::Going) return {verdict, now};
  }
  return {Verdict::Going, 1h};
}

constexpr StepLimits k_limits{.call = 30s, .build = 300s};

}  // namespace

TEST_CASE("a step without compilers ends at the limit of a call", "[bench][build_clock]") {
  const auto idle = [](std::chrono::nanoseconds) { return 7s; };
  CHECK(run(k_limits, idle, false) == std::pair<Verdict, std::chrono::nanoseconds>(Verdict::CallLimit, 30s));
}

TEST_CASE("a step whose compilers work has the limit of a build", "[bench][build_clock]") {
  const auto works = [](std::chrono::nanoseconds now) { return now / 2; };
  CHECK(run(k_limits, works, true) == std::pair<Verdict, std::chrono::nanoseconds>(Verdict::BuildLimit, 300s));
}

TEST_CASE("a call that hangs after a build ends soon after the limit of a call", "[bench][build_clock]") {
  const auto builds_first = [](std::chrono::nanoseconds now) { return std::min<std::chrono::nanoseconds>(now, 60s); };
  const auto [verdict, when] = run(k_limits, builds_first, false);
  CHECK(verdict == Verdict::CallLimit);
  CHECK(when >= 90s);
  CHECK(when <= 96s);
}

TEST_CASE("pauses between compilers, in which the runner itself compiles, are building", "[bench][build_clock]") {
  // A short process every 4 seconds, as Triton starts one for each kernel that it has compiled.
  const auto now_and_then = [](std::chrono::nanoseconds now) {
    return std::chrono::nanoseconds(10ms * (std::min<std::chrono::nanoseconds>(now, 200s) / 4s));
  };
  const auto [verdict, when] = run(k_limits, now_and_then, false);
  CHECK(verdict == Verdict::CallLimit);
  CHECK(when > 200s);
}

TEST_CASE("a compiler that hangs without working is told from a call that hangs", "[bench][build_clock]") {
  const auto idle = [](std::chrono::nanoseconds) { return 0s; };
  CHECK(run(k_limits, idle, true) == std::pair<Verdict, std::chrono::nanoseconds>(Verdict::BuildLimit, 30s));
}

TEST_CASE("a compiler that other work keeps from the processors is not one that hangs", "[bench][build_clock]") {
  BuildClock clock({.call = 3s, .build = 300s}, 0s);
  for (std::chrono::nanoseconds now = 200ms; now < 60s; now += 200ms)
    REQUIRE(clock.observe({.elapsed = now, .helper_time = 0s, .has_helpers = true, .are_helpers_runnable = true}) ==
            Verdict::Going);
  CHECK(clock.build_time() > 59s);
}

TEST_CASE("a step in which nothing is built counts no time as building", "[bench][build_clock]") {
  const auto works = [](std::chrono::nanoseconds now) { return now; };
  const StepLimits limits{.call = 2s};
  CHECK(run(limits, works, true) == std::pair<Verdict, std::chrono::nanoseconds>(Verdict::CallLimit, 2s));
}

TEST_CASE("processor time from before the step is no work in it", "[bench][build_clock]") {
  BuildClock clock(k_limits, 100s);
  CHECK(clock.observe({.elapsed = 29s, .helper_time = 100s, .has_helpers = false}) == Verdict::Going);
  CHECK(clock.build_time() == 0ns);
  CHECK(clock.observe({.elapsed = 30s, .helper_time = 101s, .has_helpers = true}) == Verdict::Going);
  CHECK(clock.build_time() == 1s);
}
