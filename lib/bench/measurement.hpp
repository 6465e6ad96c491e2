#pragma once

/// \file
/// The timing phase: pairs of a reference call and a candidate call, until the criterion stops.

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/device/cpu.hpp>
#include <kernelgen/judge/judge.hpp>

namespace kernelgen {
inline namespace v0 {

/// A call of the reference and one of the candidate on the same inputs, checked.
struct TimedPair {
  std::int64_t reference_ns = 0;
  std::int64_t candidate_ns = 0;
  std::int64_t host_ns = 0;
  /// On a device: how long it went on when the candidate's stream was done.
  std::int64_t late_ns = 0;
  bool fresh = true;
  /// Compared in full, not in its canary lines alone.
  bool full = true;
  /// The device was slowed down by heat or power: the pair does not count.
  bool throttled = false;
  /// Of the device's multiprocessors, right before; 0: unknown.
  std::int64_t clock_mhz = 0;
};

/// The next pair, or the verdict that ends the evaluation.
using NextPair = std::function<Result<std::variant<TimedPair, Outcome>>()>;

/// What the phase needs of the world.
struct MeasurementClock {
  std::function<std::chrono::steady_clock::time_point()> now;
  /// Of the process that calls the reference. It does so while the candidate's is stopped, so that what it waits for
  /// is other work.
  std::function<std::optional<ProcessorTime>()> reference_time;
};

/// Pairs in the order in which they were taken.
struct PairSamples {
  std::vector<TimedPair> pairs;
  std::int64_t discarded = 0;
  StopReason stop_reason = StopReason::Criterion;
  std::optional<double> contention;
  std::optional<double> device_contention;
  /// Set when a pair ended the evaluation.
  std::optional<Outcome> ended;
};

/// How much of the time in which a process wanted a processor it waited for one. Threads that ended meanwhile take
/// theirs with them.
[[nodiscard]] std::optional<double> contention(const ProcessorTime& before, const ProcessorTime& after);

/// How often the device was somebody else's between two readings. Nothing where it was hardly asked for.
[[nodiscard]] std::optional<double> contention(const DeviceUse& before, const DeviceUse& after);

[[nodiscard]] Result<PairSamples> sample_pairs(const MeasureOptions& options, const NextPair& next,
                                               const MeasurementClock& clock, const std::stop_token& stop);

/// Writes samples of calls as a user makes them into the report, with what follows from them.
void report_calls(TimingReport& timing, const PairSamples& samples);

/// Writes samples of calls as graphs into the report, with what follows from them.
void report_replays(TimingReport& timing, const PairSamples& samples);

}  // namespace v0
}  // namespace kernelgen
