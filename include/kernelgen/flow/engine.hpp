#pragma once

/// \file
/// The engine: carries out what a policy decides, journals every step, and resumes from the journal.
///
///     task -> prompt -> reply -> candidate -> artifact -> outcome -> decision -> ...

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/detect/persistent_detector.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/llm/llm_client.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/store/journal.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The services that a run uses. They are borrowed and must outlive the run.
struct Backends {
  LLMClient& llm;
  const PromptBuilder& prompts;
  Benchmarker& benchmarker;
  const PersistentDetector& detector;
  /// Takes the profiles that policies ask for. It gets the candidate without an artifact: see
  /// make_compiling_profiler(). nullptr: every profile is unavailable.
  Profiler* profiler = nullptr;
};

/// Limits of a run; the first that is reached ends it. Unset: no limit.
struct Budget {
  /// Tokens as providers count them, estimated at four bytes a token where they report none.
  std::optional<std::int64_t> tokens;
  std::optional<std::int64_t> requests;
  std::optional<std::int64_t> evaluations;
  /// Cost in the currency of FlowRequest::prices; what has no price costs nothing.
  std::optional<double> cost;
  /// Time in all sessions of the run together.
  std::optional<std::chrono::seconds> time;
};

/// One search.
struct FlowRequest {
  /// Prefix of the ids of its requests, so that several searches can share a mailbox. Empty: the task's name.
  std::string name;
  TaskSource task;
  Target target = Target::Cpp;
  EvaluationOptions evaluation;
  /// Whether the winner is judged once more, untimed and under EvaluationOptions::sanitizers, after the search is over.
  /// One that fails then loses its place to the next best, which is checked in turn.
  bool sanitize_winner = false;
  /// Facts about the device, for prompts; see device/.
  std::vector<DeviceFact> device;
  /// The GPU that evaluates; for prompts, floors and profiles. Unset: a CPU, or unknown.
  std::optional<GpuFacts> gpu;
  /// Whether profiles include counters.
  Counters counters = Counters::Read;
  /// Results to start from, such as the candidate that is to be repaired. Journaled first.
  std::vector<ActionResult> known;
  /// A kernel that is judged first, as the action "start"; for a policy that starts from it (`has_start` of
  /// HybridOptions and EvolveOptions).
  std::optional<Candidate> start;
  /// Whether a run that is over, or that was started with other options, is continued: it goes on in its journal with
  /// these options, and what it has found stays. A run that is neither is resumed; one that has not begun begins.
  bool continues = false;
  /// What prompts leave out, for studies of what it is worth.
  std::vector<PromptPart> without;
  /// Whether kernels are inspected for a time loop. Without that, none counts as persistent.
  bool detect_persistence = true;
  Budget budget;
  /// Prices of all requests, whatever a client knows. Unset: each reply counts with its own (Reply::prices), else with
  /// those of its kind.
  std::optional<Prices> prices;
  /// Highest prices of the models that may be asked with prompts of a kind, from which the most that a request can cost
  /// follows. See add_prices().
  std::map<PromptKind, Prices> prices_by_kind;
  /// The run reached its goal when the best score is at least this.
  double goal = 1.0;
  std::optional<std::int64_t> max_prompt_tokens;
  std::optional<std::int64_t> max_output_tokens;
  /// LLMRequest::effort of every request.
  std::string effort;
  std::chrono::milliseconds request_timeout{600'000};
  /// Pauses before a verdict that other work on the machine disturbed is asked for again. After the last one the run
  /// ends with Pending, and goes on from there when it is resumed.
  std::vector<std::chrono::milliseconds> busy_pauses{std::chrono::seconds{5}, std::chrono::seconds{30},
                                                     std::chrono::seconds{120}};
  /// Maximal number of requests in flight.
  int parallel_requests = 4;
  /// Maximal number of parallel evaluations; as many as the benchmarker has devices is best. No profile is taken while
  /// one runs.
  int parallel_evaluations = 1;
  /// Directory for replies that the journal cannot take because its disk is full. Empty: the system's temporary
  /// directory.
  std::filesystem::path fallback_directory;
};

/// Takes the prices that `client` knows of the models that may be asked.
void add_prices(FlowRequest& request, const LLMClient& client);
/// A kind of prompt for which no prices are known; nothing when a limit of cost can be kept.
[[nodiscard]] std::optional<PromptKind> kind_without_prices(const FlowRequest& request);

/// A step of an evaluation; not journaled.
struct EvaluationStep {
  std::string action_id;
  EvaluationProgress progress;
};

/// A pause of an action before another attempt, after a request that failed or an evaluation that other work on the
/// machine disturbed. Not journaled.
struct ActionPaused {
  std::string action_id;
  /// One line.
  std::string reason;
  std::chrono::milliseconds wait{0};
};

/// A reply on its way; told at most ten times a second. Not journaled.
struct ReplyProgress {
  std::string action_id;
  LLMProgress progress;
};

/// Resources that a run has used, in all its sessions.
struct ResourceUsage {
  std::int64_t tokens = 0;
  std::int64_t requests = 0;
  std::int64_t evaluations = 0;
  double cost = 0;
  std::chrono::milliseconds time{0};
};

/// Progress of a run; not journaled.
struct FlowProgress {
  ResourceUsage spent;
  /// Actions that have ended, in all sessions.
  int finished_actions = 0;
  /// Upper bound on the actions, from the policy and the budget for requests; unset: unknown.
  std::optional<int> max_actions;
  /// Action id of the best candidate; empty: none is correct.
  std::string best;
  std::optional<double> best_score;
};

/// A notification to an observer.
using FlowNotice = std::variant<Event, EvaluationStep, ActionPaused, ReplyProgress, FlowProgress>;

/// Receives every event right after it was journaled, with a FlowProgress just before it, and the steps of evaluations
/// and pauses. Called from the thread that called run_flow(), or from one that asks or evaluates; never from two at
/// once.
using FlowObserver = std::function<void(const FlowNotice&)>;

/// The result of a search.
struct FlowOutcome {
  History history;
  /// Action id of the best candidate; empty: none is correct.
  std::string best;
  bool reached = false;
  std::string reason;
};

/// Runs the policy to its end, from where the journal stops. Equal candidates are judged once.
///
/// Errors: InvalidArgument when the journal belongs to a run with other options or another task (the message names the
/// difference), and with FlowRequest::continues when the difference would make old verdicts meaningless, or when the
/// budget is used up; Pending when the run is paused: the model's endpoint answers nothing (see is_outage()), the
/// machine stays too busy to time a kernel, or replies or verdicts are made elsewhere and waiting was not wanted;
/// Cancelled; PermissionDenied, MissingTool and the like when a model cannot be asked at all; the errors of the
/// journal. Requests under way are waited for, unless it was cancelled. After any error the run can be resumed from its
/// journal; a reply that the journal cannot take is in a file that the message names.
[[nodiscard]] Result<FlowOutcome> run_flow(const FlowRequest& request, const Policy& policy, const Backends& backends,
                                           Journal& journal, const FlowObserver& observer, std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
