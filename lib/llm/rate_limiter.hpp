#pragma once

/// \file
/// When the next request to a server may be sent, from what its answers tell.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "llm/http.hpp"

namespace kernelgen {
inline namespace v0 {

/// The limits of an account for one model, or for all of them. Pure: time is passed in.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit RateLimiter(std::optional<int> max_concurrent = {}) : max_concurrent_(max_concurrent) {}

  /// The earliest time at which a request with so many tokens of input may be sent, as far as it is known now; unset:
  /// not before another one has ended.
  [[nodiscard]] std::optional<Time> next_start(std::int64_t tokens, Time now) const;
  void note_start(std::int64_t tokens, Time now);
  /// An answer begins with these headers. Some servers tell times by the wall clock.
  void note_head(const HttpHead& head, Time now, std::chrono::system_clock::time_point wall);
  /// A request has ended, with a reply or without one.
  void note_end(bool is_answered);
  /// The server has refused a request because there were too many (HTTP 429): halves what may be in flight, and sends
  /// nothing for `wait`.
  void note_refusal(std::chrono::milliseconds wait, Time now);
  /// Takes a lower limit of another client.
  void limit_concurrency(std::optional<int> max_concurrent);

 private:
  /// What may be used per minute, as a bucket that fills continuously.
  struct Bucket {
    double limit = 0;
    double remaining = 0;
    Time seen;
    /// Until the bucket is full, when it was seen.
    std::chrono::duration<double> full_after{0};

    [[nodiscard]] Time when_available(double amount) const;
    void take(double amount, Time now);
    [[nodiscard]] double available(Time now) const;
  };

  [[nodiscard]] double concurrency() const;

  std::optional<int> max_concurrent_;
  /// What refusals have taught; grows with each answer. Unset: none.
  std::optional<double> learned_concurrent_;
  int in_flight_ = 0;
  Time paused_until_;
  /// The last time at which a refusal taught something: requests that were sent together are refused together.
  std::optional<Time> learned_at_;
  std::optional<Bucket> requests_;
  std::optional<Bucket> tokens_;
};

/// Reads "1s", "6m0s", "20ms", "0.5" (seconds), and a time as in RFC 3339 or since 1970 in seconds or milliseconds,
/// which counts from `now`. Nothing for other text.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_reset(std::string_view text,
                                                                   std::chrono::system_clock::time_point now);

/// Makes the requests of one account wait for their turn. Servers count tokens and requests for each model; what may be
/// in flight in all counts for the account. Thread-safe.
class RateGate {
 public:
  /// Waits until a request to `model` may be sent; not for a limit that is reset only after `longest`, which is an
  /// error with the code Unavailable. Cancelled when stopped before. `on_wait` is called before a wait for a limit,
  /// with its length; it may be empty.
  [[nodiscard]] Result<void> enter(const std::string& model, std::int64_t tokens, std::chrono::milliseconds longest,
                                   const std::stop_token& stop,
                                   const std::function<void(std::chrono::milliseconds)>& on_wait = {});
  void note_head(const std::string& model, const HttpHead& head);
  /// The request that entered has ended.
  void leave(const std::string& model, bool is_answered);
  void note_refusal(const std::string& model, std::chrono::milliseconds wait);
  void limit_concurrency(std::optional<int> max_concurrent);

 private:
  [[nodiscard]] std::optional<RateLimiter::Time> next_start(const std::string& model, std::int64_t tokens,
                                                            RateLimiter::Time now);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  RateLimiter account_;
  std::map<std::string, RateLimiter> models_;
};

}  // namespace v0
}  // namespace kernelgen
