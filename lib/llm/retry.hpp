#pragma once

#include <chrono>
#include <optional>
#include <random>

#include <kernelgen/llm/clients.hpp>

namespace kernelgen {
inline namespace v0 {

/// What a failed attempt leaves behind.
struct FailedAttempt {
  /// How many attempts there were, this one included.
  int attempts = 1;
  /// What the server asked for.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Until the deadline of the request.
  std::chrono::milliseconds remaining{0};
};

/// How long to wait before the next attempt; nothing when there shall be none: the attempts are used up, or the next
/// one would begin after the deadline. Pure but for `engine`: base * 2^(attempts - 1), at most `longest`, of which the
/// upper half is drawn at random so that clients which failed together do not come back together; never less than the
/// server asked for.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_delay(const RetryOptions& options,
                                                                   const FailedAttempt& failed,
                                                                   std::mt19937_64& engine);

}  // namespace v0
}  // namespace kernelgen
