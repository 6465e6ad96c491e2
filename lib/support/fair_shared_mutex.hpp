#pragma once

/// \file
/// A shared mutex for the threads of one process. For locks between processes see file_lock.hpp, for a limit without
/// exclusive locks slots.hpp.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

namespace kernelgen {
inline namespace v0 {

/// A shared mutex that prefers exclusive requests: one goes before all later requests, where with a std::shared_mutex
/// it could wait for as long as shared locks keep coming. Thread-safe. Outlives its locks.
class FairSharedMutex {
 public:
  using Clock = std::chrono::steady_clock;

  /// Holds the mutex, shared or exclusively, for as long as it lives.
  class Lock {
   public:
    /// Private in effect: lock_shared() and lock_exclusive() make locks, and hold the inner mutex meanwhile.
    Lock(FairSharedMutex& owner, std::optional<Clock::time_point> blocks_until);
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock();
    /// True if another lock was held at any moment of this one.
    [[nodiscard]] bool overlapped() const;

   private:
    FairSharedMutex& owner_;
    const bool joined_;
    const std::uint64_t number_;
    /// Its entry among the shared locks; nothing: this one is exclusive.
    std::optional<std::multiset<Clock::time_point>::iterator> entry_;
  };

  /// Waits for a shared lock. From `blocks_until` on it no longer keeps exclusive requests waiting. Null when it was
  /// stopped meanwhile.
  [[nodiscard]] std::unique_ptr<Lock> lock_shared(std::stop_token stop,
                                                  Clock::time_point blocks_until = Clock::time_point::max());
  /// Waits until there is no other lock, except shared ones that no longer block. Null when it was stopped meanwhile.
  [[nodiscard]] std::unique_ptr<Lock> lock_exclusive(std::stop_token stop);
  /// True while there is a lock, or a request for one that excludes all others.
  [[nodiscard]] bool is_locked();

 private:
  /// These two require that the inner mutex is held.
  void notify();
  /// The time from which on no shared lock keeps an exclusive request waiting.
  [[nodiscard]] Clock::time_point blocked_until() const;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// The times until which the shared locks block exclusive requests.
  std::multiset<Clock::time_point> shared_;
  bool exclusive_ = false;
  /// Exclusive requests that wait.
  int waiting_ = 0;
  /// The number of locks that were ever taken.
  std::uint64_t begun_ = 0;
  /// Rises with each change, so that a wait until a time sees what changed meanwhile.
  std::uint64_t version_ = 0;
};

}  // namespace v0
}  // namespace kernelgen
