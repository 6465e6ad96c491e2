#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "exec/exit_status.hpp"
#include "exec/spawn.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// Blocks until the descriptor is readable or the milliseconds have passed; false ends the wait early.
/// The descriptor is negative on kernels without pidfds.
using PollFunction = std::function<bool(int pidfd, int timeout_ms)>;

/// A running program, leader of its own process group. One thread at a time; move-only.
///
/// Whenever its end is noticed (poll_exit, wait, terminate, the destructor), what is left of the group is killed before
/// the leader is reaped, because afterwards the group's number may belong to another program.
class ChildProcess {
 public:
  /// See spawn_process(). The caller keeps its own ends of the inherited descriptors.
  [[nodiscard]] static Result<ChildProcess> spawn(const ChildRequest& request,
                                                  const std::vector<InheritedDescriptor>& inherited = {});

  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// Kills the group and reaps the leader.
  ~ChildProcess();

  [[nodiscard]] int pid() const { return pid_; }
  /// Becomes readable when the leader ends. Owned by this object. Unset on kernels without it (before 5.3): poll then.
  [[nodiscard]] std::optional<int> pidfd() const;

  /// Returns how the program ended, or nothing while it runs; never blocks.
  [[nodiscard]] std::optional<ExitStatus> poll_exit();
  /// Waits for the end until the deadline. Nothing when the program still runs then, or when `poll` ended the wait.
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::steady_clock::time_point deadline,
                                               const PollFunction& poll = poll_pidfd);
  /// Sends TERM to the group, KILL after the grace, then reaps. Nothing only when the kernel cannot end the process.
  std::optional<ExitStatus> terminate(std::chrono::milliseconds grace, const PollFunction& poll = poll_pidfd);
  /// Sends KILL to the group, without waiting.
  void kill_group() const;

 private:
  explicit ChildProcess(pid_t pid);
  static bool poll_pidfd(int pidfd, int timeout_ms);
  [[nodiscard]] bool has_ended() const;
  void signal_group(int signal) const;
  void reap();
  void end() noexcept;

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  std::optional<ExitStatus> status_;
};

/// Milliseconds for poll(): never early, never negative.
[[nodiscard]] int poll_timeout(std::chrono::steady_clock::time_point until);

}  // namespace v0
}  // namespace kernelgen
