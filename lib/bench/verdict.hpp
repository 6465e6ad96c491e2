#pragma once

/// \file
/// Pure decisions that turn observations into the verdict on a candidate. No I/O, no clock, no device.

#include <chrono>
#include <optional>
#include <span>
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
enum class RunnerStep { Load, Construct, Export, Prepare, Run, Destroy, CompileFor };

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

/// Explains wrong outputs of a ModelNew by the reference's tensors that are not in it, if there are any; not where all
/// `cases` were right. Where outputs are near the truth, the message says that these tensors may be there in another
/// form.
[[nodiscard]] Outcome explain_by_weights(Outcome verdict, const std::optional<WeightReport>& weights,
                                         std::span<const CaseResult> cases);

/// What a reader of a speed-up must know where its interval is so wide that the value says little. `pairs`: how many
/// pairs of times it comes from.
[[nodiscard]] std::optional<std::string> imprecision_label(const Ratio& speedup, std::size_t pairs);

/// Takes back the verdict that outputs differ from a reference that cannot say what is right: one that draws random
/// numbers of its own, or answers with its own rounding. `labels` are those of the task's admission.
[[nodiscard]] Outcome withdraw_unreliable_verdict(Outcome verdict, const std::vector<std::string>& labels);

/// The verdict over all checked calls: the first failure on the task's own distribution, else OffDistribution if a
/// transformed input failed by accuracy, else Correct.
[[nodiscard]] Outcome verdict_of_cases(const std::vector<CaseResult>& cases);

/// The overhead of a series of calls by the worker's clock: waking the runner, and what it does around the candidate.
/// It was measured with the runner itself before the candidate was loaded. What exceeds it counts as time of the
/// candidate.
struct ClockAllowance {
  /// An overhead that honest series seldom exceed.
  double overhead_ns = 0;
  /// The time of a series that a false clock could hide: the overhead above, less the least that was measured.
  double looseness_ns = 0;
  /// What the looseness would have been without the time in which the rehearsals waited for a processor.
  double idle_looseness_ns = 0;
  /// What each further call of a series adds to the overhead.
  double per_call_ns = 0;
  /// The overhead of a separate call that takes this long: processors that sleep meanwhile wake later.
  struct SeparateCall {
    double call_ns = 0;
    double overhead_ns = 0;
  };
  /// In the order of the calls' times. Empty where calls are not timed in series.
  std::vector<SeparateCall> separate;

  /// The least time of a series of calls that took this long by the worker's clock; at least 1.
  [[nodiscard]] std::int64_t least_ns(std::int64_t host_ns, int calls) const;
  /// The least time of a separate call that took this long by the worker's clock, without what honest calls seldom
  /// exceed; at least 1. Requires: calls are timed in series.
  [[nodiscard]] std::int64_t least_separate_ns(std::int64_t host_ns) const;
  /// The share of such a call's time that a false clock could hide.
  [[nodiscard]] double looseness_of(double call_ns, int calls) const;
  /// The allowance as it would be on an idle machine, as far as waiting for a processor explains the looseness.
  [[nodiscard]] ClockAllowance on_idle_machine() const;
};

/// An overhead that was measured while no candidate was loaded.
struct Rehearsal {
  int calls = 1;
  std::int64_t overhead_ns = 0;
  /// The part of it in which runner and worker waited for a processor, and some time around it.
  std::int64_t waited_ns = 0;
  /// The time for which the call itself worked. Others than 0 are of separate calls.
  std::int64_t call_ns = 0;
};

/// The allowance from several rehearsals. `in_series`: short calls can be timed in series.
[[nodiscard]] ClockAllowance clock_allowance_from(const std::vector<Rehearsal>& rehearsals, bool in_series);

/// The number of calls in a series with which a false clock can hide no more than 5 % of a call, or 1 us; at most
/// `most`.
[[nodiscard]] int calls_of_series(const ClockAllowance& allowance, double call_ns, int most);

/// Series of nothing that were replayed as one graph, of one length, while no candidate was loaded.
struct ReplayedRehearsal {
  int calls = 1;
  /// By the worker's clock; at least one.
  std::vector<std::int64_t> overheads_ns;

  /// The range in which the overhead varies, for each call.
  [[nodiscard]] double looseness_ns() const;
};

/// The shortest series that tells the time of its calls within 1 %; without one, the longest. `cached_ns`: how much
/// less a call may take in a short series, because its tensors are still in the device's cache. Requires: at least one
/// rehearsal, in the order of their lengths.
[[nodiscard]] const ReplayedRehearsal& choose_replayed_series(const std::vector<ReplayedRehearsal>& rehearsals,
                                                              double call_ns, double cached_ns);

/// A time of a call by the worker's clock, less what a false clock may hide of it: 5 %, or 1 us if that is more. At
/// least 0.
[[nodiscard]] double less_what_may_be_hidden(double call_ns);

/// A message for a reference that waited for a processor in this share of its time; empty for a normal share.
[[nodiscard]] std::string busy_message(std::optional<double> contention);

/// Checks whether the clocks and the times of the reference agree; a suspicion with the reason when they do not.
[[nodiscard]] std::optional<Outcome> check_plausibility_of_timing(const TimingReport& timing);

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

/// By which factor the reference took longer beside the candidate than alone, by the shorter of its times alone. 1 if
/// it did not, or if the machine has become slower altogether.
[[nodiscard]] double slowdown_beside_candidate(const TimingReport& timing);

}  // namespace v0
}  // namespace kernelgen
