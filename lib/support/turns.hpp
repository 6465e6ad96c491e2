#pragma once

/// \file
/// Shared and exclusive turns of the threads of one process. For locks between processes see file_lock.hpp, for a limit
/// without exclusive turns slots.hpp.

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

/// Hands out turns: any number of shared ones at a time, or one exclusive one. A request for an exclusive turn goes
/// before all later ones; with a std::shared_mutex it could wait for as long as shared turns keep coming. Thread-safe.
/// Outlives its turns.
class Turns {
 public:
  using Clock = std::chrono::steady_clock;

  class Turn {
   public:
    /// Private in effect: shared() and exclusive() make turns, and hold the mutex meanwhile.
    Turn(Turns& turns, std::optional<Clock::time_point> patience);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    /// True if another turn was taken at any moment of this one.
    [[nodiscard]] bool overlapped() const;

   private:
    Turns& turns_;
    const bool joined_;
    const std::uint64_t number_;
    /// The place among the shared turns; nothing: this one is exclusive.
    std::optional<std::multiset<Clock::time_point>::iterator> place_;
  };

  /// Waits for a turn that others may share. From `patience` on it no longer keeps exclusive turns waiting. Null when
  /// it was stopped meanwhile.
  [[nodiscard]] std::unique_ptr<Turn> shared(std::stop_token stop,
                                             Clock::time_point patience = Clock::time_point::max());
  /// Waits for a turn that no other one shares, except shared turns with expired patience. Null when it was stopped
  /// meanwhile.
  [[nodiscard]] std::unique_ptr<Turn> exclusive(std::stop_token stop);

 private:
  /// These two require that the mutex is held.
  void notify();
  /// The time from which on no shared turn keeps an exclusive one waiting.
  [[nodiscard]] Clock::time_point blocked_until() const;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// The ends of the shared turns' patience.
  std::multiset<Clock::time_point> shared_;
  bool exclusive_ = false;
  /// Requests for an exclusive turn that wait.
  int waiting_ = 0;
  /// Turns that have begun.
  std::uint64_t begun_ = 0;
  /// Rises with each change, so that a wait until a time sees what changed meanwhile.
  std::uint64_t version_ = 0;
};

}  // namespace v0
}  // namespace kernelgen
