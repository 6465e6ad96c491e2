#pragma once

/// \file
/// The processes below a process, from /proc.

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The children of all threads of a process; empty for one that is gone.
[[nodiscard]] std::vector<pid_t> children_of(pid_t parent);

/// Whether a process runs: false for one that has ended and waits to be reaped.
[[nodiscard]] bool is_running(pid_t process);

/// Whether a process that the runner started is running: a child of its own, or an orphan, which becomes the
/// supervisor's. This is looked up after every call, so it does not go deeper.
[[nodiscard]] bool has_helpers(pid_t supervisor, pid_t runner);

/// The processes that a runner has started.
struct HelperProcesses {
  /// Processor time that they have used, ended ones included as far as they were reaped.
  std::chrono::nanoseconds processor_time{0};
  /// How many of them run now.
  int running = 0;
};
/// Everything below `supervisor` besides the runner itself. The runner's own processor time does not count.
[[nodiscard]] HelperProcesses helpers_of(pid_t supervisor, pid_t runner);

}  // namespace v0
}  // namespace kernelgen
