#include "bench/build_clock.hpp"

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

using Verdict = BuildClock::Verdict;

/// Takes readings every 200 ms until the clock ends the step. Returns the time of that.
template <class HelperTime>
std::pair<Verdict, std::chrono::nanoseconds> run(const StepLimits& limits, HelperTime helper_time, bool has_helpers) {
  BuildClock clock(limits, {.helper_time = helper_time(0ns)});
  for (std::chrono::nanoseconds now = 200ms; now < 1h; now += 200ms) {
    const auto verdict = clock.observe(now, {.helpers = has_helpers, .helper_time = helper_time(now)});
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

TEST_CASE("the time in which other work has the processors counts neither as calling nor as building",
          "[bench][build_clock]") {
  // A third of a processor for those that want a whole one.
  const auto starved = [](std::chrono::nanoseconds now) {
    return RunnerProcesses{
        .helpers = 1, .helper_time = now / 3, .processor_time = now / 3, .waiting_time = now / 3 * 2};
  };
  BuildClock clock({.call = 3s, .build = 30s}, starved(0s));
  for (std::chrono::nanoseconds now = 200ms; now < 90s; now += 200ms)
    REQUIRE(clock.observe(now, starved(now)) == Verdict::Going);
  CHECK(clock.observe(91s, starved(91s)) == Verdict::BuildLimit);
  CHECK(clock.build_time() >= 30s);
  CHECK(clock.build_time() < 31s);
}

TEST_CASE("a long wait that is known when it is over counts for the time before", "[bench][build_clock]") {
  BuildClock clock({.call = 10s, .build = 30s}, {});
  for (std::chrono::nanoseconds now = 200ms; now < 9s; now += 200ms) REQUIRE(clock.observe(now, {}) == Verdict::Going);
  CHECK(clock.observe(9s, {.processor_time = 10ms, .waiting_time = 8s}) == Verdict::Going);
  CHECK(clock.observe(17s, {.processor_time = 10ms, .waiting_time = 8s}) == Verdict::Going);
  CHECK(clock.observe(19s, {.processor_time = 10ms, .waiting_time = 8s}) == Verdict::CallLimit);
}

TEST_CASE("a step that only waits ends in any case", "[bench][build_clock]") {
  BuildClock clock({.call = 3s, .build = 30s}, {});
  const auto waits = [](std::chrono::nanoseconds now) { return RunnerProcesses{.helpers = 1, .waiting_time = now}; };
  for (std::chrono::nanoseconds now = 200ms; now < 132s; now += 200ms)
    REQUIRE(clock.observe(now, waits(now)) == Verdict::Going);
  CHECK(clock.observe(132s, waits(132s)) == Verdict::BuildLimit);
  BuildClock alone({.call = 3s, .build = 30s}, {});
  CHECK(alone.observe(132s, {.waiting_time = 132s}) == Verdict::CallLimit);
}

TEST_CASE("a call that other work keeps from the processors has not reached its limit", "[bench][build_clock]") {
  const auto starved = [](std::chrono::nanoseconds now) {
    return RunnerProcesses{.processor_time = now / 4, .waiting_time = now / 4 * 3};
  };
  BuildClock clock({.call = 3s, .build = 300s}, starved(0s));
  for (std::chrono::nanoseconds now = 200ms; now < 11s; now += 200ms)
    REQUIRE(clock.observe(now, starved(now)) == Verdict::Going);
  CHECK(clock.observe(13s, starved(13s)) == Verdict::CallLimit);
}

TEST_CASE("compilers that wait for each other have no more time than one", "[bench][build_clock]") {
  // Eight of them on one processor.
  const auto shared = [](std::chrono::nanoseconds now) {
    return RunnerProcesses{.helpers = 8, .helper_time = now, .processor_time = now, .waiting_time = 7 * now};
  };
  BuildClock clock({.call = 3s, .build = 30s}, shared(0s));
  CHECK(clock.observe(29s, shared(29s)) == Verdict::Going);
  CHECK(clock.observe(30s, shared(30s)) == Verdict::BuildLimit);
}

TEST_CASE("the waiting of a compiler that has ended is not taken back", "[bench][build_clock]") {
  BuildClock clock({.call = 30s, .build = 30s}, {.helper_time = 0s, .waiting_time = 100s});
  CHECK(clock.observe(10s, {.helper_time = 10s, .processor_time = 10s, .waiting_time = 1s}) == Verdict::Going);
  CHECK(clock.build_time() == 10s);
}

TEST_CASE("a step in which nothing is built counts no time as building", "[bench][build_clock]") {
  const auto works = [](std::chrono::nanoseconds now) { return now; };
  const StepLimits limits{.call = 2s};
  CHECK(run(limits, works, true) == std::pair<Verdict, std::chrono::nanoseconds>(Verdict::CallLimit, 2s));
}

TEST_CASE("processor time from before the step is no work in it", "[bench][build_clock]") {
  BuildClock clock(k_limits, {.helper_time = 100s});
  CHECK(clock.observe(29s, {.helper_time = 100s}) == Verdict::Going);
  CHECK(clock.build_time() == 0ns);
  CHECK(clock.observe(30s, {.helpers = 1, .helper_time = 101s}) == Verdict::Going);
  CHECK(clock.build_time() == 1s);
}
