#pragma once

#include <kernelgen/flow/engine.hpp>

#include "support/fair_shared_mutex.hpp"

namespace kernelgen {
inline namespace v0 {

/// Called before a pause, with its reason and its length. May be empty.
using PauseCallback = std::function<void(const std::string& reason, std::chrono::milliseconds wait)>;

/// Makes the evaluations and profiles of a run, on the threads of the callers. Evaluations run in parallel; work that
/// needs its device for itself, or may harm other work, runs exclusively. Everything is borrowed. Thread-safe if the
/// backends are.
class Evaluations {
 public:
  /// Runs that share a benchmarker share `device_lock`, too.
  Evaluations(const FlowRequest& request, const Backends& backends, FairSharedMutex& device_lock)
      : request_(request), backends_(backends), device_lock_(device_lock) {}

  /// Evaluates until the verdict counts: it repeats the evaluation after a suspicion, on a busy machine, and after a
  /// failure. Errors: Pending if the machine stays too busy, Cancelled, and those of the benchmarker.
  [[nodiscard]] Result<EvaluationRecord> evaluate(const Candidate& candidate, const ProgressCallback& progress,
                                                  const PauseCallback& on_pause, const std::stop_token& stop) {
    return evaluate({request_.task, candidate, request_.evaluation}, progress, on_pause, stop);
  }
  /// The same with other options than those of the run.
  [[nodiscard]] Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                                  const PauseCallback& on_pause, const std::stop_token& stop);

  /// Takes a profile while nothing is evaluated, because it needs its device for itself.
  [[nodiscard]] Result<Profile> profile(const ProfileRequest& request, const std::stop_token& stop);

 private:
  const FlowRequest& request_;
  const Backends& backends_;
  FairSharedMutex& device_lock_;
};

}  // namespace v0
}  // namespace kernelgen
