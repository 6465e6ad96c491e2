#include "llm/retry.hpp"

#include <algorithm>
#include <cstdint>

namespace kernelgen {
inline namespace v0 {

using std::chrono::milliseconds;

std::optional<milliseconds> retry_delay(const RetryOptions& options, const FailedAttempt& failed,
                                        std::mt19937_64& engine) {
  if (failed.attempts >= options.max_attempts) return std::nullopt;
  // Doubling stops at the longest delay, long before it could overflow.
  milliseconds backoff = std::min(options.base, options.longest);
  for (int i = 1; i < failed.attempts && backoff > milliseconds::zero() && backoff < options.longest; ++i)
    backoff = backoff > options.longest / 2 ? options.longest : backoff * 2;
  // Not std::uniform_int_distribution: what it draws differs between standard libraries.
  const auto half = static_cast<std::uint64_t>(backoff.count() / 2);
  const milliseconds delay = backoff - milliseconds(static_cast<std::int64_t>(engine() % (half + 1)));
  const milliseconds wait = std::max(delay, failed.retry_after.value_or(milliseconds::zero()));
  if (wait >= failed.remaining) return std::nullopt;
  return wait;
}

}  // namespace v0
}  // namespace kernelgen
