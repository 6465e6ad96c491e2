#pragma once

/// \file
/// One session of a run with what it shares with the other runs of its process.

#include <stop_token>

#include <kernelgen/flow/engine.hpp>

#include "flow/shared_budget.hpp"
#include "support/fair_shared_mutex.hpp"

namespace kernelgen {
inline namespace v0 {

/// Whether a run that is over without a correct kernel begins anew, in the same journal.
enum class Restart { No, IfFailed };

/// What a session of a run shares with other runs, and what it tells afterwards.
struct RunSession {
  /// Work that needs the devices for itself excludes the evaluations of all runs.
  FairSharedMutex& device_lock;
  /// nullptr: requests are limited by the run's own budget alone.
  SharedBudget* budget = nullptr;
  Restart restart = Restart::No;
  /// Set to true if the shared budget did not allow a request.
  bool is_out_of_budget = false;
};

/// run_flow() within `session`. Pending also when the shared budget does not allow a request.
[[nodiscard]] Result<FlowOutcome> run_in_session(const FlowRequest& request, const Policy& policy,
                                                 const Backends& backends, Journal& journal,
                                                 const FlowObserver& observer, RunSession& session,
                                                 std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
