#pragma once

#include <kernelgen/flow/engine.hpp>

#include "flow/turns.hpp"

namespace kernelgen {
inline namespace v0 {

/// The evaluations and profiles of a run, on the threads of whoever asks: evaluations beside each other, but alone what
/// needs its device for itself or may harm others. Borrows everything. Thread-safe, as what it borrows is.
class Evaluations {
 public:
  Evaluations(const FlowRequest& request, const Backends& backends) : request_(request), backends_(backends) {}

  /// The verdict that counts: asks again after a suspicion, a busy machine, and an evaluation that failed. Errors:
  /// Pending when the machine stays too busy, Cancelled, and what the benchmarker says.
  [[nodiscard]] Result<EvaluationRecord> evaluate(const Candidate& candidate, const ProgressCallback& progress,
                                                  const std::stop_token& stop);

  /// While nothing is evaluated: a profile needs its device for itself, and no worker gives it one.
  [[nodiscard]] Result<Profile> profile(const ProfileRequest& request, const std::stop_token& stop);

 private:
  const FlowRequest& request_;
  const Backends& backends_;
  Turns turns_;
};

}  // namespace v0
}  // namespace kernelgen
