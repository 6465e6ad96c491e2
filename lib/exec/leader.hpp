#pragma once

#include <chrono>
#include <optional>

#include <kernelgen/exec/child.hpp>

#include "exec/spawn.hpp"

namespace kernelgen {
inline namespace v0 {

/// The leader of a process group, from its start until it is reaped. Move-only; one thread at a time.
/// The destructor kills the group and reaps.
class Leader {
 public:
  explicit Leader(Spawned spawned) : pid_(spawned.pid), pidfd_(std::move(spawned.pidfd)) {}
  Leader(Leader&& other) noexcept;
  Leader& operator=(Leader&&) = delete;
  ~Leader();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// -1 on kernels without it; poll() takes that.
  [[nodiscard]] int pidfd() const { return pidfd_.get(); }
  [[nodiscard]] const std::optional<ExitStatus>& status() const { return status_; }

  /// True once it has ended; it stays a zombie, so that its number stays taken.
  [[nodiscard]] bool ended() const;
  /// To the whole group; nothing once the leader was reaped.
  void signal_group(int signal) const;
  /// Kills what is left of the group and reaps the leader. Requires: ended().
  void reap();
  /// Waits, without busy looping where the kernel has pidfds, until ended() or the deadline.
  [[nodiscard]] bool wait(std::chrono::steady_clock::time_point deadline) const;
  /// KILL, then reaps if it ends soon; false when even KILL does not end it (uninterruptible sleep).
  bool destroy();

 private:
  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<ExitStatus> status_;
};

/// Milliseconds for poll(): never early, never negative.
[[nodiscard]] int poll_timeout(std::chrono::steady_clock::time_point until);

/// How often to look where the kernel has no pidfd.
inline constexpr int k_poll_without_pidfd_ms = 3;
/// How long a killed process may take to go away before it is given up.
inline constexpr std::chrono::seconds k_kill_patience{10};

}  // namespace v0
}  // namespace kernelgen
