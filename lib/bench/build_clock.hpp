#pragma once

/// \file
/// Tells a step of a runner that builds (load_inline, Triton, a compiler that the candidate starts itself) from one
/// that hangs. Pure: takes readings and returns decisions.

#include <chrono>

#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Observations of a runner at one moment of a step, from outside.
struct StepReading {
  /// Wall-clock time since the step began.
  std::chrono::nanoseconds elapsed{0};
  /// Processor time that all processes besides the runner have used since the runner started, ended ones included.
  std::chrono::nanoseconds helper_time{0};
  /// True if processes besides the runner exist.
  bool has_helpers = false;
  /// True if one of them uses a processor, or waits for one.
  bool are_helpers_runnable = false;
};

/// Divides the time of one step between calling and building. Compilers are processes that the runner started, so a
/// span in which such processes used processor time, or waited for a processor, counts as building, and so do pauses of
/// up to five seconds between two such spans, in which a compiler may work within the runner's own process (Triton). A
/// candidate that pretends to build gains time up to the build limit and nothing else.
class BuildClock {
 public:
  /// `helper_time` is the StepReading::helper_time at the start of the step.
  BuildClock(const StepLimits& limits, std::chrono::nanoseconds helper_time)
      : limits_(limits), last_helper_time_(helper_time) {}

  enum class Verdict { Going, CallLimit, BuildLimit };
  /// Takes the next reading and decides whether the step goes on.
  [[nodiscard]] Verdict observe(const StepReading& reading);
  /// Time that counted as building so far.
  [[nodiscard]] std::chrono::nanoseconds build_time() const { return build_time_; }

 private:
  StepLimits limits_;
  std::chrono::nanoseconds last_helper_time_;
  std::chrono::nanoseconds last_elapsed_{0};
  std::chrono::nanoseconds build_time_{0};
  /// Time of the last reading in which helpers worked; negative before the first.
  std::chrono::nanoseconds last_work_{-1};
};

}  // namespace v0
}  // namespace kernelgen
