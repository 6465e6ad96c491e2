#pragma once

/// \file
/// Binds processes to as many processors as they may have threads.

#include <sys/types.h>

namespace kernelgen {
inline namespace v0 {

/// The number of processors to bind a process of that many threads to; 0: none, because it may use all that there are.
[[nodiscard]] int processors_for(int threads);

/// Lets all threads of a process, and those that they start, run on the first `count` of the processors that this
/// process may use. On more threads than that, a process gains nothing.
void bind_to_processors(pid_t process, int count);

/// Binds each thread of a process to a processor of its own, if that takes no more than the first `count` of those that
/// this process may use; 0: all of them. Threads that were stopped together would else wake on one processor.
void spread_over_processors(pid_t process, int count);

}  // namespace v0
}  // namespace kernelgen
