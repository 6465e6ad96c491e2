#include "llm/rate_limiter.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

using Time = RateLimiter::Time;
const Time k_now = Time() + 1'000s;
const auto k_wall = std::chrono::system_clock::time_point() + 100s;

HttpHead head_of(std::map<std::string, std::string, std::less<>> headers) {
  HttpHead head;
  head.status = 200;
  head.headers = std::move(headers);
  return head;
}

/// Sends one request and learns from its answer.
void exchange(RateLimiter& limiter, const HttpHead& head, Time now = k_now) {
  limiter.note_start(0, now);
  limiter.note_head(head, now, k_wall);
  limiter.note_end(true);
}

}  // namespace

TEST_CASE("without limits a request is sent at once", "[llm][rate_limiter]") {
  RateLimiter limiter;
  for (int i = 0; i < 1'000; ++i) {
    CHECK(limiter.next_start(100'000, k_now) == k_now);
    limiter.note_start(100'000, k_now);
  }
}

TEST_CASE("no more requests are in flight than may be", "[llm][rate_limiter]") {
  RateLimiter limiter(2);
  limiter.note_start(1, k_now);
  CHECK(limiter.next_start(1, k_now));
  limiter.note_start(1, k_now);
  CHECK_FALSE(limiter.next_start(1, k_now));
  limiter.note_end(false);
  CHECK(limiter.next_start(1, k_now));
  limiter.limit_concurrency(1);
  CHECK_FALSE(limiter.next_start(1, k_now));
  limiter.limit_concurrency(5);
  CHECK_FALSE(limiter.next_start(1, k_now));
}

TEST_CASE("requests that are left in a minute are spread as they come back", "[llm][rate_limiter]") {
  RateLimiter limiter;
  exchange(limiter, head_of({{"x-ratelimit-limit-requests", "60"},
                             {"x-ratelimit-remaining-requests", "1"},
                             {"x-ratelimit-reset-requests", "59s"}}));
  CHECK(limiter.next_start(1, k_now) == k_now);
  limiter.note_start(1, k_now);
  // One comes back each second.
  CHECK(limiter.next_start(1, k_now) == k_now + 1s);
  CHECK(limiter.next_start(1, k_now + 1s) == k_now + 1s);
  limiter.note_start(1, k_now + 1s);
  CHECK(limiter.next_start(1, k_now + 1s) == k_now + 2s);
  // After a pause there are more.
  CHECK(limiter.next_start(1, k_now + 10s) == k_now + 10s);
  limiter.note_start(1, k_now + 10s);
  CHECK(limiter.next_start(1, k_now + 10s) == k_now + 10s);
}

TEST_CASE("a long prompt waits until its tokens are there, a short one does not", "[llm][rate_limiter]") {
  RateLimiter limiter;
  exchange(limiter, head_of({{"anthropic-ratelimit-input-tokens-limit", "40000"},
                             {"anthropic-ratelimit-input-tokens-remaining", "10000"},
                             {"anthropic-ratelimit-input-tokens-reset", "1970-01-01T00:02:10Z"}}));
  CHECK(limiter.next_start(10'000, k_now) == k_now);
  CHECK(limiter.next_start(20'000, k_now) == k_now + 10s);
  // One that is longer than the limit is sent when all are there.
  CHECK(limiter.next_start(90'000, k_now) == k_now + 30s);
}

TEST_CASE("an answer that tells more than is left does not undo what was sent meanwhile", "[llm][rate_limiter]") {
  RateLimiter limiter;
  const auto told = [](const char* remaining) {
    return head_of({{"x-ratelimit-limit-requests", "12"},
                    {"x-ratelimit-remaining-requests", remaining},
                    {"x-ratelimit-reset-requests", "60s"}});
  };
  exchange(limiter, told("2"));
  limiter.note_start(1, k_now);
  limiter.note_start(1, k_now);
  // Of a request that was sent before the two.
  limiter.note_head(told("5"), k_now, k_wall);
  CHECK(*limiter.next_start(1, k_now) > k_now + 4s);
  limiter.note_end(true);
  limiter.note_end(true);
  // With nothing on its way the server is right.
  exchange(limiter, told("5"));
  CHECK(limiter.next_start(1, k_now) == k_now);
}

TEST_CASE("headers that are missing or make no sense teach nothing", "[llm][rate_limiter]") {
  RateLimiter limiter;
  for (const auto& head : {head_of({}),
                           head_of({{"x-ratelimit-limit-requests", "0"},
                                    {"x-ratelimit-remaining-requests", "0"},
                                    {"x-ratelimit-reset-requests", "1s"}}),
                           head_of({{"x-ratelimit-limit-requests", "10"},
                                    {"x-ratelimit-remaining-requests", "-3"},
                                    {"x-ratelimit-reset-requests", "1s"}}),
                           head_of({{"x-ratelimit-limit-requests", "10"},
                                    {"x-ratelimit-remaining-requests", "0"},
                                    {"x-ratelimit-reset-requests", "soon"}}),
                           head_of({{"x-ratelimit-remaining-requests", "0"}})}) {
    exchange(limiter, head);
    CHECK(limiter.next_start(1, k_now) == k_now);
  }
}

TEST_CASE("a refusal holds back everybody for its wait, and halves what may be in flight once", "[llm][rate_limiter]") {
  RateLimiter limiter;
  for (int i = 0; i < 8; ++i) limiter.note_start(1, k_now);
  for (int i = 0; i < 8; ++i) {
    limiter.note_refusal(20s, k_now);
    limiter.note_end(false);
  }
  CHECK(limiter.next_start(1, k_now) == k_now + 20s);
  int sent = 0;
  for (; limiter.next_start(1, k_now + 20s); ++sent) limiter.note_start(1, k_now + 20s);
  CHECK(sent == 4);
  // It grows again with answers, slowly.
  for (int i = 0; i < 4; ++i) limiter.note_end(true);
  for (sent = 0; limiter.next_start(1, k_now + 21s); ++sent) limiter.note_start(1, k_now + 21s);
  CHECK(sent == 5);
}

TEST_CASE("times until a limit is reset are read in every form", "[llm][rate_limiter]") {
  CHECK(parse_reset("20ms", k_wall) == 20ms);
  CHECK(parse_reset("1s", k_wall) == 1s);
  CHECK(parse_reset("6m0s", k_wall) == 360s);
  CHECK(parse_reset("1h2m3.5s", k_wall) == 3'723'500ms);
  CHECK(parse_reset("0.25", k_wall) == 250ms);
  CHECK(parse_reset("1970-01-01T00:01:50Z", k_wall) == 10s);
  CHECK(parse_reset("1970-01-01T00:01:00.000Z", k_wall) == 0s);
  CHECK(parse_reset("999999999", k_wall) == 24h);
  // A time, not a wait of years: in seconds, and in milliseconds as OpenRouter gives it.
  const auto today = std::chrono::system_clock::time_point() + 1'800'000'000s;
  CHECK(parse_reset("1800000007", today) == 7s);
  CHECK(parse_reset("1800000007500", today) == 7'500ms);
  CHECK(parse_reset("1799999999", today) == 0s);
  for (const char* text : {"", "soon", "1x", "s", "-1", "1s2", "nan", "1e400"}) {
    INFO(text);
    CHECK_FALSE(parse_reset(text, k_wall));
  }
}
