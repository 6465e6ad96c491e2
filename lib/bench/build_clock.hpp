#pragma once

/// \file
/// Tells a step of a runner that builds (load_inline, Triton, a compiler that the candidate starts itself) from one
/// that hangs. Pure: takes readings and returns decisions.

#include <algorithm>
#include <chrono>

#include "bench/process_tree.hpp"
#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Divides the time of one step between calling and building. Compilers are processes that the runner started, so a
/// span in which such processes used processor time counts as building, and so do pauses of up to five seconds between
/// two such spans, in which a compiler may work within the runner's own process (Triton). A candidate that pretends to
/// build gains time up to the build limit.
///
/// Time in which the runner and its compilers waited for processors that other work used counts as neither, so that a
/// busy machine hardly changes a verdict. How long they waited is partly in a candidate's hands, so a step ends in any
/// case when four times the sum of both limits is over.
class BuildClock {
 public:
  /// `first` is a reading from the start of the step.
  BuildClock(const StepLimits& limits, const RunnerProcesses& first) : limits_(limits), last_(first) {}

  enum class Verdict { Going, CallLimit, BuildLimit };
  /// Takes the next reading, from `elapsed` after the start of the step, and decides whether the step goes on.
  [[nodiscard]] Verdict observe(std::chrono::nanoseconds elapsed, const RunnerProcesses& reading);
  /// Time that counted as building so far.
  [[nodiscard]] std::chrono::nanoseconds build_time() const { return build_time_; }

 private:
  /// The time since the start in which the runner and its compilers had what they needed, as of the last reading.
  [[nodiscard]] std::chrono::nanoseconds time() const { return last_elapsed_ - std::min(waited_, idle_); }

  StepLimits limits_;
  RunnerProcesses last_;
  std::chrono::nanoseconds last_elapsed_{0};
  /// How long threads waited for a processor, and how long less than one processor was used, since the start.
  std::chrono::nanoseconds waited_{0};
  std::chrono::nanoseconds idle_{0};
  std::chrono::nanoseconds build_time_{0};
  /// time() at the last reading in which helpers worked; negative before the first.
  std::chrono::nanoseconds last_work_{-1};
};

}  // namespace v0
}  // namespace kernelgen
