#include "llm/rate_limiter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "support/clock.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::optional<double> parse_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0) || number > 1e15) return std::nullopt;
  return number;
}

/// The headers of one limit.
struct Names {
  std::string_view limit;
  std::string_view remaining;
  std::string_view reset;
};
constexpr std::array<Names, 2> k_request_names{
    {{"x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"},
     {"anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining",
      "anthropic-ratelimit-requests-reset"}}};
constexpr std::array<Names, 2> k_token_names{
    {{"x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"},
     {"anthropic-ratelimit-input-tokens-limit", "anthropic-ratelimit-input-tokens-remaining",
      "anthropic-ratelimit-input-tokens-reset"}}};

constexpr std::chrono::seconds k_between_lessons{1};

}  // namespace

std::optional<std::chrono::milliseconds> parse_reset(std::string_view text, std::chrono::system_clock::time_point now) {
  const auto to_wait = [](Seconds seconds) {
    // Longer than any limit; a sum must not overflow.
    return std::chrono::ceil<std::chrono::milliseconds>(std::clamp(seconds, Seconds(0), Seconds(24 * 3600)));
  };
  if (text.empty()) return std::nullopt;
  if (const auto number = parse_number(text)) {
    // No limit lasts for a year, and no clock is that far back.
    constexpr double k_year_2001 = 1e9, k_year_2001_ms = 1e12;
    if (*number < k_year_2001) return to_wait(Seconds(*number));
    return to_wait(Seconds(*number >= k_year_2001_ms ? *number / 1e3 : *number) - now.time_since_epoch());
  }
  if (const auto time = parse_utc_iso8601(text)) return to_wait(*time - now);
  Seconds sum(0);
  while (!text.empty()) {
    const auto digits = text.find_first_not_of("0123456789.");
    const auto number = digits == text.npos ? std::nullopt : parse_number(text.substr(0, digits));
    if (!number) return std::nullopt;
    text.remove_prefix(digits);
    const auto unit = text.substr(0, text.find_first_of("0123456789"));
    text.remove_prefix(unit.size());
    if (unit == "h")
      sum += Seconds(*number * 3600);
    else if (unit == "m")
      sum += Seconds(*number * 60);
    else if (unit == "s")
      sum += Seconds(*number);
    else if (unit == "ms")
      sum += Seconds(*number / 1000);
    else
      return std::nullopt;
  }
  return to_wait(sum);
}

RateLimiter::Time RateLimiter::Bucket::when_available(double amount) const {
  // More than the bucket holds is sent when it is full.
  const double missing = std::min(amount, limit) - remaining;
  if (missing <= 0) return seen;
  const double share = limit > remaining ? missing / (limit - remaining) : 1.0;
  return seen + std::chrono::duration_cast<Clock::duration>(full_after * share);
}

double RateLimiter::concurrency() const {
  const double most = max_concurrent_ ? static_cast<double>(*max_concurrent_) : 1e9;
  return std::min(most, learned_concurrent_.value_or(most));
}

std::optional<RateLimiter::Time> RateLimiter::next_start(std::int64_t tokens, Time now) const {
  if (in_flight_ >= std::max(1.0, concurrency())) return std::nullopt;
  Time start = std::max(now, paused_until_);
  if (requests_) start = std::max(start, requests_->when_available(1));
  if (tokens_) start = std::max(start, tokens_->when_available(static_cast<double>(tokens)));
  return start;
}

void RateLimiter::note_start(std::int64_t tokens, Time now) {
  ++in_flight_;
  if (requests_) requests_->take(1, now);
  if (tokens_) tokens_->take(static_cast<double>(tokens), now);
}

double RateLimiter::Bucket::available(Time now) const {
  const double left = full_after.count() > 0 ? std::max(0.0, 1.0 - (now - seen) / full_after) : 0.0;
  return limit - (limit - remaining) * left;
}

void RateLimiter::Bucket::take(double amount, Time now) {
  const double missing = limit - remaining;
  const double taken = limit - available(now) + amount;
  // It fills as fast as before. Where it was full, its speed is unknown, and the next answer tells it.
  full_after = missing > 0 ? full_after * (taken / missing) : full_after;
  remaining = std::max(0.0, limit - taken);
  seen = now;
}

void RateLimiter::note_end(bool is_answered) {
  --in_flight_;
  // Grows by one for as many answers as may be in flight.
  if (learned_concurrent_ && is_answered) *learned_concurrent_ += 1.0 / *learned_concurrent_;
}

void RateLimiter::note_head(const HttpHead& head, Time now, std::chrono::system_clock::time_point wall) {
  const auto learn = [&](std::optional<Bucket>& bucket, const std::array<Names, 2>& names) {
    for (const auto& name : names) {
      const auto limit = parse_number(head.header(name.limit));
      const auto remaining = parse_number(head.header(name.remaining));
      const auto reset = parse_reset(head.header(name.reset), wall);
      if (!limit || !remaining || !reset || *limit <= 0) continue;
      Bucket told{.limit = *limit, .remaining = std::min(*remaining, *limit), .seen = now, .full_after = *reset};
      // Requests that are on their way are not in the server's count yet, and answers may overtake each other.
      if (bucket && bucket->limit == told.limit && in_flight_ > 1)
        told.remaining = std::min(told.remaining, bucket->available(now));
      bucket = told;
    }
  };
  learn(requests_, k_request_names);
  learn(tokens_, k_token_names);
}

void RateLimiter::note_refusal(std::chrono::milliseconds wait, Time now) {
  paused_until_ = std::max(paused_until_, now + wait);
  if (learned_at_ && now < *learned_at_ + k_between_lessons) return;
  learned_at_ = now;
  // The refused request itself counts as in flight until note_end().
  learned_concurrent_ = std::max(1.0, std::min(concurrency(), static_cast<double>(in_flight_)) / 2);
}

void RateLimiter::limit_concurrency(std::optional<int> max_concurrent) {
  if (!max_concurrent) return;
  max_concurrent_ = std::min(max_concurrent_.value_or(*max_concurrent), *max_concurrent);
}

std::optional<RateLimiter::Time> RateGate::next_start(const std::string& model, std::int64_t tokens,
                                                      RateLimiter::Time now) {
  return account_.next_start(0, now) ? models_[model].next_start(tokens, now) : std::nullopt;
}

Result<void> RateGate::enter(const std::string& model, std::int64_t tokens, std::chrono::milliseconds longest,
                             const std::stop_token& stop,
                             const std::function<void(std::chrono::milliseconds)>& on_wait) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const auto now = Clock::now();
    const auto start = next_start(model, tokens, now);
    if (!start) {
      changed_.wait(lock, stop, [&] { return next_start(model, tokens, Clock::now()).has_value(); });
      continue;
    }
    if (*start <= now) {
      account_.note_start(0, now);
      models_[model].note_start(tokens, now);
      return {};
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(*start - now);
    if (wait > longest)
      return Error{
          ErrorCode::Unavailable, fmt::format("the server's limit is used up for {:.0f} s", Seconds(wait).count()), {}};
    if (on_wait) {
      lock.unlock();
      on_wait(wait);
      lock.lock();
    }
    // The predicate never ends the wait: only the time and the stop do.
    changed_.wait_until(lock, stop, *start, [] { return false; });
  }
  return Error{ErrorCode::Cancelled, "cancelled", {}};
}

void RateGate::note_head(const std::string& model, const HttpHead& head) {
  const std::scoped_lock lock(mutex_);
  models_[model].note_head(head, Clock::now(), std::chrono::system_clock::now());
}

void RateGate::leave(const std::string& model, bool is_answered) {
  const std::scoped_lock lock(mutex_);
  account_.note_end(is_answered);
  models_[model].note_end(is_answered);
  changed_.notify_all();
}

void RateGate::note_refusal(const std::string& model, std::chrono::milliseconds wait) {
  const std::scoped_lock lock(mutex_);
  models_[model].note_refusal(wait, Clock::now());
}

void RateGate::limit_concurrency(std::optional<int> max_concurrent) {
  const std::scoped_lock lock(mutex_);
  account_.limit_concurrency(max_concurrent);
}

}  // namespace v0
}  // namespace kernelgen
