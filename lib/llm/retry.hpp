#pragma once

/// \file
/// Which failed attempts at a request are made again, how often and when: one table for all of the library. Nothing
/// else retries within a request; what happens to a request that fails in the end is decided by the flow
/// (docs/models.md).

#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string_view>

#include <kernelgen/llm/clients.hpp>

namespace kernelgen {
inline namespace v0 {

/// What an attempt failed of, as far as another attempt is concerned.
enum class AttemptFailure {
  Final,         ///< another attempt would fail in the same way, or would be paid for a second time
  NotConnected,  ///< connection refused, name not found
  CutOff,        ///< the connection closed, or the answer is cut, no JSON, or no completion
  Stalled,       ///< an answer that had begun stopped
  Overloaded,    ///< HTTP 429
  ServerError,   ///< HTTP 408 or 5xx, or an error in an answer of status 200
};

struct RetryRule {
  AttemptFailure failure = AttemptFailure::Final;
  /// Its words in docs/models.md.
  std::string_view what;
  /// Attempts in all.
  int max_attempts = 1;
  /// The wait before the second attempt, in multiples of RetryOptions::base; it doubles with each further one.
  int first_wait = 0;
};

inline constexpr std::array<RetryRule, 6> k_retry_rules{{
    {AttemptFailure::Final, "anything else", 1, 0},
    // A server may be restarting; but a wrong port must be reported within seconds.
    {AttemptFailure::NotConnected, "connection refused, name not found", 3, 1},
    {AttemptFailure::CutOff, "connection closed; an answer that is cut, no JSON or no completion", 3, 1},
    // What has begun is probably paid for, and the silence before it was given up has taken minutes.
    {AttemptFailure::Stalled, "an answer that stops for two minutes", 2, 1},
    {AttemptFailure::Overloaded, "HTTP 429", 5, 2},
    {AttemptFailure::ServerError, "HTTP 408 and 5xx, an error in an answer of status 200", 4, 2},
}};

/// What a failed attempt leaves behind.
struct FailedAttempt {
  AttemptFailure failure = AttemptFailure::Final;
  /// How many attempts there were, this one included.
  int attempts = 1;
  /// What the server asked for.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Until the deadline of the request.
  std::chrono::milliseconds remaining{0};
};

/// How long to wait before the next attempt. Nothing when there shall be none: the rule's attempts are used up, the
/// server asks for a longer wait than `options.longest`, or the next attempt would begin after the deadline. Pure but
/// for `engine`: the upper half of the wait is drawn at random, so that clients which failed together do not come back
/// together. Never less than the server asked for.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_delay(const RetryOptions& options,
                                                                   const FailedAttempt& failed,
                                                                   std::mt19937_64& engine);

}  // namespace v0
}  // namespace kernelgen
