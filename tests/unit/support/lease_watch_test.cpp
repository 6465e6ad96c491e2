#include "support/lease_watch.hpp"

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

TEST_CASE("a lease expires when the time of its file has not changed for its length", "[support][lease]") {
  LeaseWatch watch(60s);
  const LeaseWatch::Clock::time_point start{};
  CHECK_FALSE(watch.has_expired("a", 100s, 0s, start));
  CHECK_FALSE(watch.has_expired("a", 100s, 60s, start + 60s));
  CHECK(watch.has_expired("a", 100s, 61s, start + 61s));
  CHECK_FALSE(watch.has_expired("a", 161s, 0s, start + 61s));
  CHECK_FALSE(watch.has_expired("a", 161s, 60s, start + 121s));
}

TEST_CASE("clocks that differ by minutes neither end a lease nor keep it", "[support][lease]") {
  LeaseWatch watch(60s);
  const LeaseWatch::Clock::time_point start{};
  for (int renewals = 0; renewals < 8; ++renewals) {
    const auto now = 15s * renewals;
    // The holder's clock is 5 minutes behind, or ahead.
    CHECK_FALSE(watch.has_expired("behind", now, 5min, start + now));
    CHECK_FALSE(watch.has_expired("ahead", now, -5min, start + now));
  }
  CHECK(watch.has_expired("behind", 105s, 5min, start + 166s));
  CHECK(watch.has_expired("ahead", 105s, -5min, start + 166s));
}

TEST_CASE("a lease survives a file system that shows times of 30 s ago", "[support][lease]") {
  LeaseWatch watch(60s);
  const LeaseWatch::Clock::time_point start{};
  for (auto now = 0s; now < 600s; now += 1s) {
    // Renewed every 15 s; the times are asked for again every 30 s.
    const auto seen = now / 30s * 30s / 15s * 15s;
    CHECK_FALSE(watch.has_expired("a", seen, now - seen, start + now));
  }
}

TEST_CASE("a file that nobody can have renewed for long has expired without being watched", "[support][lease]") {
  LeaseWatch watch(60s);
  CHECK_FALSE(watch.has_expired("a", 0s, 600s));
  CHECK(watch.has_expired("b", 0s, 601s));
}

TEST_CASE("files that are gone are forgotten", "[support][lease]") {
  LeaseWatch watch(60s);
  const LeaseWatch::Clock::time_point start{};
  CHECK_FALSE(watch.has_expired("a", 1s, 0s, start));
  watch.keep_only({"b"});
  CHECK_FALSE(watch.has_expired("a", 1s, 61s, start + 61s));
}

TEST_CASE("what has been waited for long is looked for less often", "[support][lease]") {
  CHECK(next_poll(0ms, 500ms) == 10ms);
  CHECK(next_poll(1s, 500ms) == 50ms);
  CHECK(next_poll(1h, 500ms) == 500ms);
  CHECK(next_poll(1h, 2ms) == 2ms);
}
