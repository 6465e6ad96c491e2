#pragma once

/// \file
/// RepairLoop: a candidate that fails goes in, a repaired one comes out.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What to repair.
struct RepairRequest {
  TaskSource task{};
  Candidate candidate{};
  /// What is known about it already; unset: it is evaluated first.
  std::optional<EvaluationRecord> record{};
  EvaluationOptions evaluation{};
  /// Facts for prompts; see device_facts(). Empty, and no GPU: those of the device that the candidate's record names.
  std::vector<DeviceFact> device{};
  /// The GPU that evaluates: prompts of Python targets are written for it. Unset: as `device`.
  std::optional<GpuFacts> gpu{};
  std::optional<std::int64_t> max_prompt_tokens{};
  std::chrono::milliseconds request_timeout{600'000};
  /// The same as FlowRequest::busy_pauses.
  std::vector<std::chrono::milliseconds> busy_pauses = FlowRequest{}.busy_pauses;
};

/// What a repair came to. Everything that is known is here, also when an error ended it.
struct RepairOutcome {
  /// The candidate itself is "start", the attempts are "start/repair1", ... A candidate without a verdict, because the
  /// machine was busy for example, has the status NotJudged and the reason as its message.
  History history;
  /// Id of the best correct result; empty: none is correct.
  std::string best;
  /// Why it ended, in one line.
  std::string reason;
  /// What ended it before the attempts were used up; the errors of run_flow(). After Pending a later call may fare
  /// better: the machine was busy, or the model did not answer.
  std::optional<Error> error;
};

/// Asks a model to repair a candidate until it is correct or the attempts are used up. Keeps everything in memory; a
/// search that must survive a crash is run_flow() with a journal on disk. One thread at a time.
class RepairLoop {
 public:
  /// Takes prompts from the templates of the installation; unset: find_installation(). `llm` and `benchmarker` are
  /// borrowed and outlive the loop.
  RepairLoop(LLMClient& llm, Benchmarker& benchmarker, RepairOptions options = {},
             std::optional<Installation> installation = std::nullopt);
  /// With prompts, a detector and a profiler of the caller's. `backends` are borrowed and outlive the loop.
  explicit RepairLoop(const Backends& backends, RepairOptions options = {});

  /// Evaluates the candidate unless its record is known, then repairs it. Returns what is known when `stop` is
  /// triggered, with Cancelled as its error.
  [[nodiscard]] RepairOutcome run(const RepairRequest& request, const FlowObserver& observer = {},
                                  std::stop_token stop = {});

 private:
  LLMClient& llm_;
  Benchmarker& benchmarker_;
  /// Unset: the defaults.
  std::optional<Backends> backends_;
  RepairOptions options_;
  std::optional<Installation> installation_;
};

}  // namespace v0
}  // namespace kernelgen
