#pragma once

/// \file
/// Pure decisions: from what was observed to what is said about a candidate. No I/O, no clock, no device.

#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/device/gpu.hpp>

#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Which step of an evaluation a runner was in.
enum class RunnerStep { Load, Construct, Export, Prepare, Run, Destroy };

/// What it means that a runner died in a step.
[[nodiscard]] Outcome outcome_of_death(const RunnerDeath& death, RunnerStep step, std::chrono::milliseconds timeout);

/// What it means that a runner answered; Correct when it answered that all went well.
[[nodiscard]] Outcome outcome_of_reply(const RunnerReply& reply, RunnerStep step);

/// A case failed, and the same inputs were run again: `right` tells which of the calls, in order, were right.
/// Wrong once, for a while, or from some call on may be state; wrong again and again in no order is a race.
[[nodiscard]] Outcome explain_repeats(Outcome failure, const std::vector<bool>& right);

/// The verdict over all checked calls: the first failure on the task's own distribution, else OffDistribution if a
/// transformed input failed by accuracy, else Correct.
[[nodiscard]] Outcome verdict_of_cases(const std::vector<CaseResult>& cases);

/// How long the worker's clock may run beyond the runner's for reasons of our own.
struct ClockAllowance {
  /// What an exchange takes in which nothing is done; measured with each runner before its candidate is loaded.
  double exchange_ns = 0;
  /// A runner that was stopped for milliseconds answers this much later than one that is asked again and again.
  double waking_ns = 300e3;
  /// Copied by the runner after the call, where the worker may not read its memory.
  double copied_bytes = 0;
  /// One thread copying from cold memory: 4 to 8 GB/s.
  double bytes_per_ns = 4;

  /// For calls that take this long by the runner's clock.
  [[nodiscard]] double in_total(double candidate_ns) const;
};

/// What was seen of the exchanges with a runner besides its calls.
struct ExchangeFacts {
  bool native = false;
  /// By the worker's clock, of exchanges in which nothing was called.
  std::vector<std::int64_t> echoes_ns;
  /// As in ClockAllowance.
  std::uint64_t copied_bytes = 0;
};

/// `gpu`: where the candidate ran, if that was not the processor.
[[nodiscard]] ClockAllowance clock_allowance(const ExchangeFacts& exchanges, const std::optional<GpuFacts>& gpu);

/// What it means that the reference waited for a processor in this share of its time; "" for as much as is normal.
[[nodiscard]] std::string busy_message(std::optional<double> contention);

/// Whether the clocks and baselines of a measurement add up; the reason when not.
[[nodiscard]] std::optional<Outcome> doubt_timing(const TimingReport& timing, const ClockAllowance& allowance);

/// What a call on a device cannot be faster than: its memory.
struct MemoryFloor {
  double bytes = 0;
  /// 0: not known, and nothing is said.
  double bytes_per_second = 0;
};

/// Whether the times that the device's own clock gave are possible; the reason when not.
[[nodiscard]] std::optional<Outcome> doubt_device_time(const TimingReport& timing, const MemoryFloor& floor);

/// Whether a suspicion is about the machine as much as about the candidate: it may be gone at the next try.
[[nodiscard]] bool is_disturbance(const Outcome& outcome);
/// Whether others worked on the device in more of its turns than a verdict bears.
[[nodiscard]] bool is_busy_device(const TimingReport& timing);

/// Whether it was those who share the device: on another one it would have been otherwise.
[[nodiscard]] bool is_disturbance_of_device(const Outcome& outcome, const std::optional<TimingReport>& timing);

/// Whether the interleaved reference is slower than the clean baseline by more than 3 % beyond what noise explains,
/// so that a second clean baseline has to tell drift of the machine from disturbance by the candidate.
[[nodiscard]] bool baseline_disturbed(const std::vector<std::int64_t>& clean_ns,
                                      const std::vector<std::int64_t>& interleaved_ns);

}  // namespace v0
}  // namespace kernelgen
