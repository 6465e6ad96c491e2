#include "bench/build_clock.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// The longest pause between two spans of a compiler's work that still counts as building.
constexpr std::chrono::nanoseconds k_longest_pause = 5s;

}  // namespace

BuildClock::Verdict BuildClock::observe(const StepReading& reading) {
  if (reading.helper_time > last_helper_time_ || reading.are_helpers_runnable) last_work_ = reading.elapsed;
  const bool builds = last_work_ >= 0ns && reading.elapsed - last_work_ <= k_longest_pause;
  if (builds && limits_.build > 0ms) build_time_ += reading.elapsed - last_elapsed_;
  last_elapsed_ = reading.elapsed;
  last_helper_time_ = reading.helper_time;
  if (build_time_ > 0ns && build_time_ >= limits_.build) return Verdict::BuildLimit;
  if (reading.elapsed - build_time_ < limits_.call) return Verdict::Going;
  // A compiler that hangs without using a processor still counts as building.
  return reading.has_helpers && limits_.build > 0ms ? Verdict::BuildLimit : Verdict::CallLimit;
}

}  // namespace v0
}  // namespace kernelgen
