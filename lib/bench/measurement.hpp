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

#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// A call of the reference and one of the candidate on the same inputs, checked; or the means of a series of them.
struct TimedPair {
  std::int64_t reference_ns = 0;
  std::int64_t candidate_ns = 0;
  std::int64_t host_ns = 0;
  /// Number of calls of each side.
  std::int64_t calls = 1;
  /// On a device: how long it kept working after the end of the candidate's stream.
  std::int64_t off_stream_ns = 0;
  bool fresh = true;
  /// True if the outputs were compared in full, and not only in sampled blocks.
  bool full = true;
  /// True if heat or power slowed the device down; then the pair does not count.
  bool throttled = false;
  /// The clock of the device's multiprocessors right before the pair; 0 where it is unknown.
  std::int64_t clock_mhz = 0;
};

/// A separate call may be so many times less fast than one in a series, compared with the reference: a process that was
/// stopped has lost other things than one that was not.
inline constexpr double k_less_fast_alone = 1.5;

/// Takes the next pair, or returns the verdict that ends the evaluation.
using NextPair = std::function<Result<std::variant<TimedPair, Outcome>>()>;

/// The clocks of the timing phase.
struct MeasurementClock {
  std::function<std::chrono::steady_clock::time_point()> now;
  /// Processor time of the process that calls the reference. The candidate's process is stopped meanwhile, so waiting
  /// for a processor shows foreign work.
  std::function<std::optional<ProcessorTime>()> reference_time;
};

/// Pairs in the order in which they were taken.
struct PairSamples {
  std::vector<TimedPair> pairs;
  std::int64_t discarded = 0;
  StopReason stop_reason = StopReason::Criterion;
  std::optional<double> contention;
  std::optional<double> device_contention;
  /// The verdict, if a pair ended the evaluation.
  std::optional<Outcome> ended;
};

/// The share of the time in which a process wanted a processor that it waited for one. Threads that ended between the
/// two readings are not counted.
[[nodiscard]] std::optional<double> contention(const ProcessorTime& before, const ProcessorTime& after);

/// The share of probes between two readings that foreign work delayed. Nothing where there were few probes.
[[nodiscard]] std::optional<double> contention(const DeviceUse& before, const DeviceUse& after);

/// Takes the warm-up pairs, which are checked and discarded, then samples until the criterion stops.
[[nodiscard]] Result<PairSamples> sample_pairs(const MeasureOptions& options, const NextPair& next,
                                               const MeasurementClock& clock, const std::stop_token& stop);

/// Compares the calls with a reference that is faster than it was beside the candidate, by this factor.
void discount_reference(TimingReport& timing, double slowdown);

/// Writes samples of eager calls into the report, with the speedup per call.
void report_calls(TimingReport& timing, const PairSamples& samples);

/// Raises the reported samples of eager calls to the least time that such a call can take by the worker's time of it,
/// and the speedup with them.
void bound_calls(TimingReport& timing, const std::function<std::int64_t(std::int64_t host_ns)>& least_ns);

/// Writes samples of separate calls into the report, none of the candidate's shorter than `least_ns`. Where they are
/// less fast than series by more than noise and `k_less_fast_alone` explain, their speedup is the speedup per call, and
/// this returns true. Requires: there are pairs.
bool report_separate_calls(TimingReport& timing, const PairSamples& samples, std::int64_t least_ns);

/// Writes samples of calls replayed as graphs into the report, with the speedup on the device.
void report_replays(TimingReport& timing, const PairSamples& samples);

}  // namespace v0
}  // namespace kernelgen
