#include "llm/retry.hpp"

#include <set>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

std::optional<std::chrono::milliseconds> delay(int attempts, std::mt19937_64& engine) {
  return retry_delay({.max_attempts = 100, .base = 1s, .longest = 60s}, {.attempts = attempts, .remaining = 1h},
                     engine);
}

}  // namespace

TEST_CASE("the delay doubles with each attempt, up to the longest one", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const auto within = [&](int attempts, std::chrono::milliseconds low, std::chrono::milliseconds high) {
    for (int i = 0; i < 200; ++i) {
      const auto wait = delay(attempts, engine);
      if (!wait || *wait < low || *wait > high) return false;
    }
    return true;
  };
  CHECK(within(1, 500ms, 1s));
  CHECK(within(2, 1s, 2s));
  CHECK(within(5, 8s, 16s));
  CHECK(within(7, 30s, 60s));
  CHECK(within(99, 30s, 60s));
}

TEST_CASE("the delay is drawn from the engine that is passed in", "[llm][retry]") {
  std::mt19937_64 one(1);
  std::mt19937_64 same(1);
  std::set<std::chrono::milliseconds> seen;
  for (int i = 0; i < 50; ++i) {
    const auto wait = delay(5, one);
    CHECK(wait == delay(5, same));
    seen.insert(wait.value());
  }
  CHECK(seen.size() > 40);
}

TEST_CASE("what the server asks for is a floor of the delay", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const RetryOptions options{.max_attempts = 5, .base = 1s, .longest = 60s};
  CHECK(retry_delay(options, {.attempts = 1, .retry_after = 7s, .remaining = 1h}, engine) == 7s);
  // More than the longest delay of our own is obeyed too.
  CHECK(retry_delay(options, {.attempts = 1, .retry_after = 90s, .remaining = 1h}, engine) == 90s);
  CHECK(retry_delay(options, {.attempts = 1, .retry_after = 0s, .remaining = 1h}, engine).value() >= 500ms);
}

TEST_CASE("retries stop after the last attempt", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const RetryOptions options{.max_attempts = 3, .base = 1s, .longest = 60s};
  CHECK(retry_delay(options, {.attempts = 2, .remaining = 1h}, engine));
  CHECK_FALSE(retry_delay(options, {.attempts = 3, .remaining = 1h}, engine));
  CHECK_FALSE(retry_delay(options, {.attempts = 4, .remaining = 1h}, engine));
}

TEST_CASE("an attempt that would begin after the deadline is not made", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const RetryOptions options{.max_attempts = 5, .base = 1s, .longest = 60s};
  CHECK_FALSE(retry_delay(options, {.attempts = 1, .remaining = 400ms}, engine));
  CHECK_FALSE(retry_delay(options, {.attempts = 1, .retry_after = 30s, .remaining = 30s}, engine));
  CHECK_FALSE(retry_delay(options, {.attempts = 1, .remaining = -1ms}, engine));
  CHECK(retry_delay(options, {.attempts = 1, .retry_after = 30s, .remaining = 31s}, engine) == 30s);
}

TEST_CASE("no delay at all and absurdly long ones are fine", "[llm][retry]") {
  std::mt19937_64 engine(7);
  CHECK(retry_delay({.max_attempts = 5, .base = 0ms, .longest = 60s}, {.attempts = 4, .remaining = 1s}, engine) == 0ms);
  constexpr auto k_most = std::chrono::milliseconds::max();
  const auto wait = retry_delay({.max_attempts = 100, .base = k_most, .longest = k_most},
                                {.attempts = 90, .remaining = k_most}, engine);
  CHECK(wait.value_or(k_most) >= k_most / 2);
}
