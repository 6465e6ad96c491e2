#include "llm/retry.hpp"

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

constexpr RetryOptions k_options{.max_attempts = 5, .base = 500ms, .longest = 60s};

std::optional<std::chrono::milliseconds> delay(AttemptFailure failure, int attempts, std::mt19937_64& engine) {
  return retry_delay(k_options, {.failure = failure, .attempts = attempts, .remaining = 1h}, engine);
}

/// The longest total wait between a request's attempts after this failure.
std::chrono::milliseconds longest_wait(AttemptFailure failure) {
  std::mt19937_64 engine(7);
  std::chrono::milliseconds all{0};
  for (int attempts = 1;; ++attempts) {
    std::chrono::milliseconds longest{0};
    for (int i = 0; i < 200; ++i) {
      const auto wait = delay(failure, attempts, engine);
      if (!wait) return all;
      longest = std::max(longest, *wait);
    }
    all += longest;
  }
}

}  // namespace

TEST_CASE("each failure has its row in the table, and the table is the one of the manual", "[llm][retry]") {
  const auto page = read_file(std::string(KERNELGEN_SOURCE_DIR) + "/docs/models.md").value();
  std::set<AttemptFailure> seen;
  for (const auto& rule : k_retry_rules) {
    CHECK(seen.insert(rule.failure).second);
    const auto row = "| " + std::string(rule.what) + " | " + std::to_string(rule.max_attempts) + " |";
    INFO(row);
    CHECK(page.find(row) != page.npos);
  }
  CHECK(seen.contains(AttemptFailure::ServerError));
}

TEST_CASE("attempts end with those of the table, or with the options'", "[llm][retry]") {
  std::mt19937_64 engine(7);
  for (const auto& rule : k_retry_rules) {
    INFO(rule.what);
    if (rule.max_attempts > 1) CHECK(delay(rule.failure, rule.max_attempts - 1, engine));
    CHECK_FALSE(delay(rule.failure, rule.max_attempts, engine));
    CHECK_FALSE(retry_delay({.max_attempts = 1}, {.failure = rule.failure, .remaining = 1h}, engine));
  }
}

TEST_CASE("no server that refuses is waited for longer than a few seconds", "[llm][retry]") {
  CHECK(longest_wait(AttemptFailure::NotConnected) <= 1500ms);
  CHECK(longest_wait(AttemptFailure::CutOff) <= 1500ms);
  CHECK(longest_wait(AttemptFailure::ServerError) <= 7s);
  CHECK(longest_wait(AttemptFailure::Overloaded) <= 15s);
  CHECK(longest_wait(AttemptFailure::Final) == 0ms);
}

TEST_CASE("the wait doubles with each attempt, and its upper half is random", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const auto within = [&](int attempts, std::chrono::milliseconds low, std::chrono::milliseconds high) {
    for (int i = 0; i < 200; ++i) {
      const auto wait = delay(AttemptFailure::Overloaded, attempts, engine);
      if (!wait || *wait < low || *wait > high) return false;
    }
    return true;
  };
  CHECK(within(1, 500ms, 1s));
  CHECK(within(2, 1s, 2s));
  CHECK(within(4, 4s, 8s));
  std::mt19937_64 one(1);
  std::mt19937_64 same(1);
  std::set<std::chrono::milliseconds> seen;
  for (int i = 0; i < 50; ++i) {
    const auto wait = delay(AttemptFailure::Overloaded, 4, one);
    CHECK(wait == delay(AttemptFailure::Overloaded, 4, same));
    seen.insert(wait.value());
  }
  CHECK(seen.size() > 40);
}

TEST_CASE("what the server asks for is a floor of the wait, and too much is not waited for", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const auto asked = [&](std::chrono::milliseconds retry_after) {
    return retry_delay(k_options, {.failure = AttemptFailure::Overloaded, .retry_after = retry_after, .remaining = 1h},
                       engine);
  };
  CHECK(asked(7s) == 7s);
  CHECK(asked(60s) == 60s);
  CHECK_FALSE(asked(61s));
  CHECK(asked(0s).value() >= 500ms);
}

TEST_CASE("an attempt that would begin after the deadline is not made", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const auto before = [&](std::chrono::milliseconds remaining, std::optional<std::chrono::milliseconds> retry_after) {
    return retry_delay(
        k_options, {.failure = AttemptFailure::Overloaded, .retry_after = retry_after, .remaining = remaining}, engine);
  };
  CHECK_FALSE(before(400ms, std::nullopt));
  CHECK_FALSE(before(30s, 30s));
  CHECK_FALSE(before(-1ms, std::nullopt));
  CHECK(before(31s, 30s) == 30s);
}

TEST_CASE("no wait at all and absurdly long ones are fine", "[llm][retry]") {
  std::mt19937_64 engine(7);
  const FailedAttempt failed{.failure = AttemptFailure::Overloaded, .attempts = 4, .remaining = 1s};
  CHECK(retry_delay({.max_attempts = 5, .base = 0ms, .longest = 60s}, failed, engine) == 0ms);
  constexpr auto k_most = std::chrono::milliseconds::max();
  const auto wait = retry_delay({.max_attempts = 100, .base = k_most, .longest = k_most},
                                {.failure = AttemptFailure::Overloaded, .attempts = 4, .remaining = k_most}, engine);
  CHECK(wait.value_or(k_most) >= k_most / 2);
}
