#pragma once

#include <kernelgen/flow/engine.hpp>

#include "support/turns.hpp"

namespace kernelgen {
inline namespace v0 {

/// Called before a pause, with its reason and its length. May be empty.
using PauseCallback = std::function<void(const std::string& reason, std::chrono::milliseconds wait)>;

/// The evaluations and profiles of a run, on the threads of the callers. Evaluations run beside each other; what needs
/// its device for itself, or may harm others, runs exclusively. Borrows everything. Thread-safe, as what it borrows is.
class Evaluations {
 public:
  Evaluations(const FlowRequest& request, const Backends& backends) : request_(request), backends_(backends) {}

  /// The verdict that counts: evaluates again after a suspicion, on a busy machine, and after an evaluation that
  /// failed. Errors: Pending when the machine stays too busy, Cancelled, and those of the benchmarker.
  [[nodiscard]] Result<EvaluationRecord> evaluate(const Candidate& candidate, const ProgressCallback& progress,
                                                  const PauseCallback& on_pause, const std::stop_token& stop);

  /// Takes a profile while nothing is evaluated, because it needs its device for itself.
  [[nodiscard]] Result<Profile> profile(const ProfileRequest& request, const std::stop_token& stop);

 private:
  const FlowRequest& request_;
  const Backends& backends_;
  Turns turns_;
};

}  // namespace v0
}  // namespace kernelgen
