#pragma once

/// \file
/// Which failed attempts are repeated, how often and when: one table for the whole library. No other code retries
/// within a request; the flow decides about a request that fails in the end (docs/models.md).

#include <array>
#include <chrono>
#include <optional>
#include <random>
#include <string_view>

#include <kernelgen/llm/clients.hpp>

namespace kernelgen {
inline namespace v0 {

/// The cause of a failed attempt, as far as retries depend on it.
enum class AttemptFailure {
  Final,         ///< another attempt would fail in the same way, or would be paid for a second time
  NotConnected,  ///< connection refused, name not found
  CutOff,        ///< the connection closed, or the answer is incomplete, malformed or no completion
  Stalled,       ///< an answer that had begun stopped
  Overloaded,    ///< HTTP 429
  ServerError,   ///< HTTP 408, 409 or 5xx, or an error in an answer of status 200
};

struct RetryRule {
  AttemptFailure failure = AttemptFailure::Final;
  /// The wording in docs/models.md.
  std::string_view what;
  /// Limit of the attempts, the first one included.
  int max_attempts = 1;
  /// The wait before the second attempt, in multiples of RetryOptions::base; it doubles with each further one.
  int first_wait = 0;
};

inline constexpr std::array<RetryRule, 6> k_retry_rules{{
    {AttemptFailure::Final, "anything else", 1, 0},
    // A server may be restarting, but a wrong port must be reported within seconds.
    {AttemptFailure::NotConnected, "connection refused, name not found", 3, 1},
    {AttemptFailure::CutOff, "connection closed; an answer that is cut, no JSON or no completion", 3, 1},
    // An answer that has begun is probably paid for, and the silence before it was given up has taken minutes.
    {AttemptFailure::Stalled, "an answer that stops for two minutes", 2, 1},
    {AttemptFailure::Overloaded, "HTTP 429", 5, 2},
    {AttemptFailure::ServerError, "HTTP 408, 409 and 5xx, an error in an answer of status 200", 4, 2},
}};

/// A failed attempt, as far as the wait before the next one depends on it.
struct FailedAttempt {
  AttemptFailure failure = AttemptFailure::Final;
  /// Number of attempts so far, this one included.
  int attempts = 1;
  /// The wait that the server asked for.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Time until the deadline of the request.
  std::chrono::milliseconds remaining{0};
};

/// Wait before the next attempt. Nothing when there is none: the rule's attempts are used up, the server asks for a
/// longer wait than `options.longest`, or the next attempt would begin after the deadline. Pure except for `engine`:
/// the upper half of the wait is drawn at random, so that clients that failed together do not return together. Never
/// shorter than the server asked for.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_delay(const RetryOptions& options,
                                                                   const FailedAttempt& failed,
                                                                   std::mt19937_64& engine);

}  // namespace v0
}  // namespace kernelgen
