#pragma once

/// \file
/// Pure decisions that turn observations into the verdict on a candidate. No I/O, no clock, no device.

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/device/gpu.hpp>

#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// The steps of a runner in an evaluation.
enum class RunnerStep { Load, Construct, Export, Prepare, Run, Destroy };

/// The outcome of a runner that died in a step, under the limits of `options`.
[[nodiscard]] Outcome outcome_of_death(const RunnerDeath& death, RunnerStep step, const EvaluationOptions& options);

/// The outcome of a candidate with a build that reached its time limit.
[[nodiscard]] Outcome outcome_of_build_timeout(std::string_view what, std::chrono::milliseconds limit);

/// The outcome that a runner's reply reports; Correct when it reports success.
[[nodiscard]] Outcome outcome_of_reply(const RunnerReply& reply, RunnerStep step);

/// Explains a failed case by repetitions with the same inputs; `right` tells which of the calls, in order, were right.
/// Calls that are wrong once, for a while, or from some call on may depend on state; calls that are wrong in no order
/// are a race.
[[nodiscard]] Outcome classify_repeats(Outcome failure, const std::vector<bool>& right);

/// Explains wrong outputs of a ModelNew by the reference's tensors that are not in it, if there are any.
[[nodiscard]] Outcome explain_by_weights(Outcome verdict, const std::optional<WeightReport>& weights);

/// The verdict over all checked calls: the first failure on the task's own distribution, else OffDistribution if a
/// transformed input failed by accuracy, else Correct.
[[nodiscard]] Outcome verdict_of_cases(const std::vector<CaseResult>& cases);

/// The time by which the worker's clock may exceed the runner's without a fault of the candidate.
struct ClockAllowance {
  /// The time of an exchange in which nothing is called; measured with each runner before its candidate is loaded.
  double exchange_ns = 0;
  /// The latency of waking a runner that was stopped for milliseconds.
  double wakeup_latency_ns = 300e3;
  /// Bytes that the runner copies after the call, where the worker may not read its memory.
  double copied_bytes = 0;
  /// The speed of one thread that copies from cold memory: 4 to 8 GB/s.
  double bytes_per_ns = 4;

  /// The whole allowance for calls that take this long by the runner's clock.
  [[nodiscard]] double total_ns(double candidate_ns) const;
};

/// Observations of the exchanges with a runner, besides the times of its calls.
struct ExchangeFacts {
  bool native = false;
  /// Times of exchanges in which nothing was called, by the worker's clock.
  std::vector<std::int64_t> echoes_ns;
  /// Bytes that the runner copies after the call; see ClockAllowance.
  std::uint64_t copied_bytes = 0;
};

/// The allowance for a runner; `gpu` is the device of the candidate, unset for the processor.
[[nodiscard]] ClockAllowance clock_allowance(const ExchangeFacts& exchanges, const std::optional<GpuFacts>& gpu);

/// A message for a reference that waited for a processor in this share of its time; empty for a normal share.
[[nodiscard]] std::string busy_message(std::optional<double> contention);

/// Checks whether the clocks and the times of the reference agree; a suspicion with the reason when they do not.
[[nodiscard]] std::optional<Outcome> check_plausibility_of_timing(const TimingReport& timing,
                                                                  const ClockAllowance& allowance);

/// Checks whether the times by the device's own clock are possible; a suspicion with the reason when they are not.
[[nodiscard]] std::optional<Outcome> check_plausibility_of_device_time(const TimingReport& timing);

/// True if a suspicion may be due to the machine, so that the next attempt may give another verdict.
[[nodiscard]] bool is_disturbance(const Outcome& outcome);
/// True if foreign work delayed more probes of the device than a valid measurement allows.
[[nodiscard]] bool is_busy_device(const TimingReport& timing);

/// True if a suspicion is due to foreign processes on the device, so that another device would avoid it.
[[nodiscard]] bool is_disturbance_of_device(const Outcome& outcome, const std::optional<TimingReport>& timing);

/// True if the interleaved reference is slower than the reference alone by 3 % more than noise explains. Then a second
/// time of it alone distinguishes drift of the machine from disturbance by the candidate.
[[nodiscard]] bool is_reference_disturbed(const std::vector<std::int64_t>& alone_ns,
                                          const std::vector<std::int64_t>& interleaved_ns);

}  // namespace v0
}  // namespace kernelgen
