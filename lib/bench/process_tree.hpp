#pragma once

/// \file
/// The processes below a process, from /proc.

#include <sys/types.h>

#include <chrono>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The children of all threads of a process; empty for one that has ended.
[[nodiscard]] std::vector<pid_t> children_of(pid_t parent);

/// True if a process runs; false for one that has ended and waits to be reaped.
[[nodiscard]] bool is_running(pid_t process);

/// True if a process that the runner started is running: a child, or an orphan, which becomes a child of the
/// supervisor. Deeper levels are not searched, because this runs after every call.
[[nodiscard]] bool has_helpers(pid_t supervisor, pid_t runner);

/// The time in which the threads of a process wanted a processor and waited for one; 0 where the kernel does not tell.
[[nodiscard]] std::chrono::nanoseconds waiting_time_of(pid_t process);
/// The same of the calling thread.
[[nodiscard]] std::chrono::nanoseconds waiting_time_of_this_thread();

/// A runner and its helpers, which are the processes that it has started.
struct RunnerProcesses {
  /// Number of helpers that have not ended.
  int helpers = 0;
  /// Processor time of all helpers, including those that ended and were reaped.
  std::chrono::nanoseconds helper_time{0};
  /// The same, and the runner's own.
  std::chrono::nanoseconds processor_time{0};
  /// The time in which threads of the runner, or of helpers that have not ended, waited for a processor.
  std::chrono::nanoseconds waiting_time{0};
};
/// The runner and all other processes below `supervisor`.
[[nodiscard]] RunnerProcesses processes_of(pid_t supervisor, pid_t runner);

}  // namespace v0
}  // namespace kernelgen
