#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace kernelgen {
inline namespace v0 {

/// Longer than any wait, and far from the limits of a clock: now + milliseconds::max() would overflow.
constexpr std::chrono::milliseconds k_forever = std::chrono::hours(24 * 365);

/// Sleeps until `time`. False when stopped earlier.
inline bool sleep_until(std::chrono::steady_clock::time_point time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_until(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

inline bool sleep_for(std::chrono::milliseconds time, const std::stop_token& stop) {
  return sleep_until(std::chrono::steady_clock::now() + time, stop);
}

}  // namespace v0
}  // namespace kernelgen
