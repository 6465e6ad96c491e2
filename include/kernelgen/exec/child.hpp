#pragma once

/// \file
/// Long-lived helper processes: started with chosen descriptors, watched through a descriptor, never left behind.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How a process ended. Neither member is set when the surrounding program took the status away, as it does when it
/// ignores SIGCHLD or waits for all children.
struct ExitStatus {
  std::optional<int> exit_code;
  std::optional<int> signal;
  [[nodiscard]] bool success() const { return exit_code == 0; }
  /// "exit 1", "signal 9 (SIGKILL)", "status unknown".
  [[nodiscard]] std::string to_line() const;
  bool operator==(const ExitStatus&) const = default;
};

/// Reads what waitpid() stores.
[[nodiscard]] ExitStatus exit_status_from_wait(int wait_status);

/// "SIGKILL"; "signal 64" for one without a name.
[[nodiscard]] std::string signal_name(int signal);

/// What becomes of a child when the *thread* that started it ends: Linux ties the death signal to that thread.
enum class ParentDeath {
  Kill,    ///< the leader is killed; start it from a thread that lives as long as it should
  Ignore,  ///< it lives on; for children that watch a socket of their parent themselves
};

/// One descriptor that the child shall have, and under which number. All others are closed in the child.
struct InheritedDescriptor {
  int parent = 0;
  int child = 0;
};

/// One program to start.
struct ChildRequest {
  /// argv; the first entry is looked up on the PATH of `environment` unless it has a slash.
  std::vector<std::string> command{};
  /// The whole environment of the child; see clean_environment().
  std::map<std::string, std::string> environment{};
  /// Empty: that of the caller.
  std::string working_directory{};
  ResourceLimits limits{};
  ParentDeath parent_death = ParentDeath::Kill;
};

/// A running program, leader of its own process group. One thread at a time; move-only.
///
/// Whenever its end is noticed (poll_exit, wait, terminate, the destructor), what is left of the group is killed before
/// the leader is reaped, because afterwards the group's number may belong to somebody else.
class ChildProcess {
 public:
  /// Descriptors 0, 1 and 2 are /dev/null unless they are among `inherited`. The caller keeps its own ends.
  /// Errors: MissingTool, PermissionDenied, NotFound (working directory), InvalidArgument, Unavailable (no process
  /// left).
  [[nodiscard]] static Result<ChildProcess> spawn(const ChildRequest& request,
                                                  const std::vector<InheritedDescriptor>& inherited = {});

  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  /// Kills the group and reaps the leader.
  ~ChildProcess();

  [[nodiscard]] int pid() const;
  /// Becomes readable when the leader ends. Owned by this object. Unset on kernels without it (before 5.3): poll then.
  [[nodiscard]] std::optional<int> pidfd() const;

  /// Whether it has ended; never blocks. Reaps it the first time, and repeats the answer afterwards.
  [[nodiscard]] std::optional<ExitStatus> poll_exit();
  /// Waits for the end until the deadline; nothing when it still runs then.
  [[nodiscard]] std::optional<ExitStatus> wait(std::chrono::steady_clock::time_point deadline);
  /// TERM to the group, KILL after the grace, then reaps. Nothing only when the kernel cannot end the process.
  std::optional<ExitStatus> terminate(std::chrono::milliseconds grace);
  /// KILL to the group, without waiting.
  void kill_group();

 private:
  struct State;
  explicit ChildProcess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace kernelgen
