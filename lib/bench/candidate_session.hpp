#pragma once

/// \file
/// Calls a candidate in its runner and its task in a judge, and reads their answers. evaluation.cpp decides the order
/// of the calls and draws the conclusions.

#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/record.hpp>

#include "bench/evaluation.hpp"
#include "bench/measurement.hpp"
#include "bench/runner.hpp"
#include "bench/verdict.hpp"

namespace kernelgen {
inline namespace v0 {

/// The verdict that ends an evaluation early; nothing while it goes on.
using EarlyVerdict = std::optional<Outcome>;

/// The distribution that a task draws from by itself.
inline constexpr std::string_view k_own_distribution = "own";

/// One candidate in a runner, and the judge that compares its answers. Everything borrowed must outlive it.
class CandidateSession {
 public:
  CandidateSession(RunnerKind kind, const EvaluationOptions& options, const EvaluationBackends& backends,
                   JudgeSession& task, std::stop_token stop);

  /// Takes a runner. Returns its isolation: "full", or "partial: " and the mechanisms that its sandbox lacks.
  Result<std::string> start();
  /// Gives the runner its job. Requires: start().
  Result<EarlyVerdict> open_job();
  /// Measures the overhead of calls while no candidate is in the process, in the rhythm of timed calls. `reference_ns`
  /// is the time of the reference alone. Requires: open_job().
  Result<EarlyVerdict> rehearse(std::int64_t reference_ns);
  /// The same for series that are replayed as one graph, on a device. Requires: rehearse().
  Result<EarlyVerdict> rehearse_replayed_series();
  /// Loads the candidate. Requires: open_job().
  Result<EarlyVerdict> load(const Artifact& artifact, std::string builds_key);

  /// Constructs two instances of ModelNew, which draws its own weights, and looks for the reference's in them.
  Result<EarlyVerdict> match_weights(std::optional<WeightReport>& report);
  /// Makes a weight set current in judge and runner, and ends the one before. A native candidate sees one set at a
  /// time, because it may keep pointers into the exchange buffers that hold the set.
  Result<EarlyVerdict> switch_weights(int set);

  /// Makes one call that is compared in full.
  Result<CaseResult> call(const std::string& distribution, Freshness freshness);
  /// Makes as many calls as a timed series has, in the same way, which are compared in full and not timed. A candidate
  /// cannot tell them from timed ones but by their inputs. Requires: plan_series().
  Result<CaseResult> call_as_timed(const std::string& distribution, CallMode mode);
  /// Chooses the number of calls in a timed series from the checked calls so far.
  int plan_series();
  /// Makes a timed call, or a series of them, of reference and candidate each, on the same inputs. `number` counts from
  /// 1.
  Result<std::variant<TimedPair, Outcome>> timed_pair(int number, CallMode reference, CallMode candidate);
  /// True if the candidate draws the random numbers of forward() itself; a native one gets them.
  [[nodiscard]] bool draws_itself() const {
    return !is_native() && task_.description.randomness == ForwardRandomness::Traced;
  }
  /// True if short calls are timed in series.
  [[nodiscard]] bool is_in_series() const { return series_ > 1; }
  /// The same with one call each. Its inputs are there only when the call before it has ended. The candidate's time is
  /// that of the runner's clock.
  Result<std::variant<TimedPair, Outcome>> separate_pair(int number);
  /// Captures the candidate as a graph, without timing it, and checks replays. Returns the reason if it cannot be
  /// replayed; it is still correct, because its eager calls were.
  Result<std::optional<std::string>> try_replay();

  /// True if series can be replayed as one graph. Requires: rehearse_replayed_series().
  [[nodiscard]] bool has_replayed_series() const { return !replayed_rehearsals_.empty(); }
  /// Replays series of calls as one graph, which bounds the time of a call by the worker's clock: no later call counts
  /// as shorter. Returns the reason if they cannot be replayed. The series is as long as calls of `call_ns` need; for
  /// `cached_ns` see choose_replayed_series(). Requires: has_replayed_series(), and try_replay() found no reason.
  Result<std::variant<ReplayedSeries, std::string>> time_replayed_series(double call_ns, double cached_ns);

  /// Calls the candidate once more, without a score, to see what runs in a call. Requires: a call under the current
  /// weights.
  [[nodiscard]] ExaminedCall examine();

  /// True if the runner cannot be used any more for a reason that says nothing about the candidate.
  [[nodiscard]] bool is_lost() const { return lost_; }
  /// Times of the first preparation and of the first call, by the runner's clock; 0 until then.
  [[nodiscard]] std::int64_t prepare_ns() const { return prepare_ns_; }
  [[nodiscard]] std::int64_t first_call_ns() const { return first_call_ns_; }

  /// The overhead of a call by the worker's clock, as it was before the candidate was loaded. Requires: rehearse().
  [[nodiscard]] const ClockAllowance& clock_allowance() const { return clock_allowance_; }

  /// Ends the runner, if there is one.
  void end();

 private:
  /// Makes a call, or a series, of a function that works for a while.
  Result<EarlyVerdict> rehearse_once(const CallRequest& request, std::int64_t work_ns,
                                     std::vector<Rehearsal>& rehearsals);
  /// Has the judge prepare a call for a candidate of this kind.
  Result<PreparedCall> prepare(CallRequest request);
  [[nodiscard]] CallRequest timed_call(int number, CallMode mode, int calls) const;
  Result<std::variant<TimedPair, Outcome>> time_pair(int number, CallMode reference, CallMode candidate, int wanted);
  Result<std::variant<ReplayedSeries, std::string>> replay_series(const ReplayedRehearsal& rehearsal);
  /// A request for a series that is replayed; not new: the same inputs once more.
  [[nodiscard]] static CallRequest replayed_series(int calls, bool is_new);
  Result<EarlyVerdict> construct(int set, const WeightDraw& draw, std::uint64_t& state_bytes);
  /// What is found of the reference's weights in a ModelNew, and how large its own may be.
  struct StateTransfer {
    std::uint64_t most_bytes = 0;
    WeightMatch found;
  };
  Result<EarlyVerdict> construct_and_match(int set, StateTransfer& match);
  /// Prepares calls that are replayed, makes and compares them. Returns the reason if that fails.
  Result<std::optional<std::string>> replay_once(const CallRequest& request);
  /// The largest number of calls in a timed series.
  /// A Python candidate that draws random numbers is seeded once for a series, and need not leave the generator as the
  /// reference does.
  [[nodiscard]] int max_series() const { return on_device() || draws_itself() ? 1 : task_.layout.slots; }
  Result<CaseResult> call_and_compare(const CallRequest& request, Allocations allocations, CallMode mode);
  RunnerAnswer run(const PreparedCall& prepared, Allocations allocations, CallMode mode);
  /// Limits of a step in which a Python candidate may build, within the rest of its build time.
  [[nodiscard]] StepLimits building_limits() const;
  /// The time of a call by the clock that is reported: the device's, or the runner's.
  [[nodiscard]] std::int64_t call_ns(const RunnerReply& reply) const;
  Result<EarlyVerdict> verdict_of_answer(const RunnerAnswer& answer, RunnerStep step);
  void note_prepare_time(const RunnerReply& reply);
  [[nodiscard]] bool is_native() const { return kind_ == RunnerKind::Native; }
  [[nodiscard]] bool on_device() const { return backends_.device.gpu.has_value(); }
  Judge& judge() { return *task_.judge; }

  const RunnerKind kind_;
  const EvaluationOptions& options_;
  const EvaluationBackends& backends_;
  JudgeSession& task_;
  const std::stop_token stop_;

  std::unique_ptr<Runner> runner_;
  /// The weight set that was current last; 0: none.
  int prepared_set_ = 0;
  ConstantWeights constants_ = ConstantWeights::Parameters;
  int weight_set_ = 1;
  int call_ = 0;
  bool lost_ = false;
  /// True if the runner could not make the last replay; else its outputs were compared.
  bool not_replayed_ = false;
  std::int64_t prepare_ns_ = 0;
  std::int64_t first_call_ns_ = 0;
  /// Number of calls in a timed series.
  int series_ = 1;
  /// The least time of a checked call by the worker's clock, overhead included; 0 until then.
  std::int64_t least_host_ns_ = 0;
  /// The reference's time in the last timed pair.
  std::int64_t reference_ns_ = 0;
  /// The rest of EvaluationOptions::build_timeout.
  std::chrono::nanoseconds build_time_left_;
  /// Weight sets under which the candidate has been called; the first call under each may build.
  std::set<int> called_sets_;
  ClockAllowance clock_allowance_;
  /// In the order of their lengths.
  std::vector<ReplayedRehearsal> replayed_rehearsals_;
  /// The worker's time of the last replay, overhead included.
  std::int64_t replay_host_ns_ = 0;
  /// No call and no replay takes less on a device.
  std::int64_t least_call_ns_ = 1;
  std::int64_t least_replay_ns_ = 1;
  std::random_device entropy_;
  std::uniform_int_distribution<int> coin_{0, 1};
};

}  // namespace v0
}  // namespace kernelgen
