#include "bench/build_clock.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// The longest pause between two spans of a compiler's work that still counts as building.
constexpr std::chrono::nanoseconds k_longest_pause = 5s;

/// A step that waits for processors ends after so many times its limits.
constexpr int k_longest_step = 4;

}  // namespace

BuildClock::Verdict BuildClock::observe(std::chrono::nanoseconds elapsed, const RunnerProcesses& reading) {
  const auto before = time();
  const auto span = elapsed - last_elapsed_;
  // A wait is known when it is over, and then counts for the time before. Compilers of one candidate that wait for each
  // other keep a processor busy together.
  waited_ += std::max(0ns, reading.waiting_time - last_.waiting_time);
  idle_ += std::clamp(span - (reading.processor_time - last_.processor_time), 0ns, span);
  last_elapsed_ = elapsed;
  const auto now = time();
  if (reading.helper_time > last_.helper_time) last_work_ = now;
  last_ = reading;
  const bool builds = last_work_ >= 0ns && now - last_work_ <= k_longest_pause;
  if (builds && limits_.build > 0ms) build_time_ = std::max(0ns, build_time_ + now - before);
  if (build_time_ > 0ns && build_time_ >= limits_.build) return Verdict::BuildLimit;
  if (now - build_time_ < limits_.call && elapsed < k_longest_step * (limits_.call + limits_.build))
    return Verdict::Going;
  // A compiler that hangs without using a processor still counts as building.
  return reading.helpers > 0 && limits_.build > 0ms ? Verdict::BuildLimit : Verdict::CallLimit;
}

}  // namespace v0
}  // namespace kernelgen
