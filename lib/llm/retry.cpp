#include "llm/retry.hpp"

#include <algorithm>
#include <cstdint>

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

const RetryRule& rule_of(AttemptFailure failure) {
  const auto* found = std::find_if(k_retry_rules.begin(), k_retry_rules.end(),
                                   [&](const RetryRule& rule) { return rule.failure == failure; });
  return found == k_retry_rules.end() ? k_retry_rules.front() : *found;
}

/// `base` times `factor`, doubled for each attempt after the first one; at most `longest`.
milliseconds backoff_of(milliseconds base, int factor, int attempts, milliseconds longest) {
  if (factor == 0) return milliseconds::zero();
  milliseconds backoff = base > longest / factor ? longest : base * factor;
  // Doubling stops at the longest wait, long before it could overflow.
  for (int i = 1; i < attempts && backoff > milliseconds::zero() && backoff < longest; ++i)
    backoff = backoff > longest / 2 ? longest : backoff * 2;
  return backoff;
}

}  // namespace

std::optional<milliseconds> retry_delay(const RetryOptions& options, const FailedAttempt& failed,
                                        std::mt19937_64& engine) {
  const auto& rule = rule_of(failed.failure);
  if (failed.attempts >= std::min(options.max_attempts, rule.max_attempts)) return std::nullopt;
  const auto asked = failed.retry_after.value_or(milliseconds::zero());
  if (asked > options.longest) return std::nullopt;
  const auto backoff = backoff_of(options.base, rule.first_wait, failed.attempts, options.longest);
  // std::uniform_int_distribution draws different numbers with different standard libraries.
  const auto half = static_cast<std::uint64_t>(backoff.count() / 2);
  const milliseconds delay = backoff - milliseconds(static_cast<std::int64_t>(engine() % (half + 1)));
  const milliseconds wait = std::max(delay, asked);
  if (wait >= failed.remaining) return std::nullopt;
  return wait;
}

}  // namespace v0
}  // namespace kernelgen
