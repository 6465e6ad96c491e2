#pragma once

/// \file
/// RepairLoop: a candidate that fails in, a mended one out.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What to repair.
struct RepairRequest {
  TaskSource task;
  Candidate candidate;
  /// What is known about it already; unset: it is evaluated first.
  std::optional<EvaluationRecord> record;
  EvaluationOptions evaluation;
  std::vector<DeviceFact> device;
  std::optional<std::int64_t> max_prompt_tokens;
  std::chrono::milliseconds request_timeout{600'000};
};

/// Asks a model to mend a candidate until it is correct or the attempts are used up. Keeps everything in memory; a
/// search that must survive a crash is run_flow() with a journal on disk. One thread at a time.
class RepairLoop {
 public:
  /// `backends` are borrowed and outlive the loop.
  explicit RepairLoop(const Backends& backends, RepairOptions options = {});

  /// The outcome's history holds the candidate itself as "start" and the attempts as "start/repair1", ...; `best` is
  /// empty when none of them is correct. Errors as run_flow().
  [[nodiscard]] Result<FlowOutcome> run(const RepairRequest& request, const FlowObserver& observer,
                                        std::stop_token stop);

 private:
  Backends backends_;
  RepairOptions options_;
};

}  // namespace v0
}  // namespace kernelgen
