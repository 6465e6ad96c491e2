#pragma once

/// \file
/// A candidate in its runner beside the task in its judge, call by call: what is asked of both, and how an answer is
/// read. Which calls are made, in which order, and what follows from them is decided in evaluation.cpp.

#include <memory>
#include <optional>
#include <random>
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

/// Nothing while the evaluation goes on; the verdict as soon as there is one.
using Ended = std::optional<Outcome>;

/// The distribution that a task draws from by itself.
inline constexpr std::string_view k_own_distribution = "own";

/// One candidate, loaded into a runner, and the judge that asks it. Everything borrowed must outlive it.
class CandidateSession {
 public:
  CandidateSession(RunnerKind kind, const EvaluationOptions& options, const EvaluationBackends& backends,
                   JudgeSession& task, std::stop_token stop);

  /// Takes a runner, measures what an exchange with it costs, and loads the candidate.
  Result<Ended> load(const Artifact& artifact, std::string builds_key);
  /// What the runner's sandbox lacks. Requires: load().
  [[nodiscard]] std::string isolation() const { return runner_->isolation(); }

  /// ModelNew draws its own weights: both instances are built and compared before anything is called.
  Result<Ended> check_weights(std::optional<WeightReport>& report);
  /// Makes a weight set current on both sides. Native candidates see only one set at a time: it lies in the exchange
  /// buffers that they may point into.
  Result<Ended> switch_weights(int set);

  /// One staged, run and fully compared call.
  Result<CaseResult> call(const std::string& distribution, Freshness freshness);
  /// One timed call of each, on the same inputs. `number` counts from 1.
  Result<std::variant<TimedPair, Outcome>> timed_pair(int number, CallMode reference, CallMode candidate);
  /// Captures the candidate, off the clock, and checks replays. Why there can be none, if so: that it was right when it
  /// was called is known by now.
  Result<std::optional<std::string>> try_replay();

  /// The runner cannot be used any more, and that says nothing about the candidate.
  [[nodiscard]] bool lost() const { return lost_; }
  /// Of the first preparation and of the first call, by the runner's word; 0 until then.
  [[nodiscard]] std::int64_t prepare_ns() const { return prepare_ns_; }
  [[nodiscard]] std::int64_t first_call_ns() const { return first_call_ns_; }

  /// Ends the runner, if there is one; what was seen of its exchanges.
  ExchangeFacts end();

 private:
  Result<Ended> match_state(int set, std::uint64_t bytes, std::optional<WeightReport>& report);
  Result<std::optional<std::string>> replay_once();
  RunnerAnswer run(const StagedCase& staged, Allocations allocations, CallMode mode);
  /// What a call took by the clock that counts here.
  [[nodiscard]] std::int64_t call_ns(const RunnerReply& reply) const;
  Result<Ended> ended_by(const RunnerAnswer& answer, RunnerStep step) const;
  void note_prepare_time(const RunnerReply& reply);
  [[nodiscard]] bool native() const { return kind_ == RunnerKind::Native; }
  [[nodiscard]] bool on_device() const { return backends_.gpu.has_value(); }
  Judge& judge() { return *task_.judge; }

  const RunnerKind kind_;
  const EvaluationOptions& options_;
  const EvaluationBackends& backends_;
  JudgeSession& task_;
  const std::stop_token stop_;

  std::unique_ptr<Runner> runner_;
  int prepared_set_ = 0;
  int weight_set_ = 1;
  int call_ = 0;
  bool lost_ = false;
  std::int64_t prepare_ns_ = 0;
  std::int64_t first_call_ns_ = 0;
  /// Of the last timed call.
  std::int64_t reference_ns_ = 0;
  std::vector<std::int64_t> echoes_ns_;
  std::random_device entropy_;
  std::uniform_int_distribution<int> coin_{0, 1};
};

}  // namespace v0
}  // namespace kernelgen
