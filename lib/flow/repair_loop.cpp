#include <kernelgen/flow/repair_loop.hpp>

#include <utility>

#include <kernelgen/prompt/prompt_device.hpp>

#include "flow/evaluations.hpp"
#include "flow/repair_chain.hpp"
#include "flow/run_state.hpp"
#include "flow/steps.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

FlowRequest flow_request(const RepairRequest& request) {
  FlowRequest flow;
  flow.task = request.task;
  flow.target = request.candidate.target;
  flow.evaluation = request.evaluation;
  flow.device = request.device;
  flow.gpu = request.gpu;
  flow.max_prompt_tokens = request.max_prompt_tokens;
  flow.request_timeout = request.request_timeout;
  flow.busy_pauses = request.busy_pauses;
  flow.goal = 0;
  flow.parallel_requests = 1;
  return flow;
}

/// Returns the candidate with its verdict. Without one, its status is NotJudged and `error` is set.
ActionResult evaluate_start(const RepairRequest& request, const FlowRequest& flow, const Backends& backends,
                            std::optional<Error>& error, const std::stop_token& stop) {
  ActionResult start;
  start.action = start_action();
  start.status = ActionStatus::Evaluated;
  start.candidate = request.candidate;
  start.recurrence = recurrence_of(request.candidate, flow, backends.detector);
  start.record = request.record;
  if (start.record) return start;
  FairSharedMutex device_lock;
  auto record = Evaluations(flow, backends, device_lock)
                    .evaluate(
                        request.candidate, [](const EvaluationProgress&) {}, {}, stop);
  if (record) {
    start.record = *std::move(record);
  } else {
    start.status = ActionStatus::NotJudged;
    start.message = record.error().to_line();
    error = std::move(record).error();
  }
  return start;
}

/// Builds the outcome from the journal, including candidates that were not judged before `error` ended the run.
RepairOutcome read_outcome(const Journal& journal, const FlowRequest& flow, const Backends& backends, Error error) {
  RunState state;
  for (const auto& event : journal.events()) apply(state, event);
  RepairOutcome outcome{.history = state.history, .best = {}, .reason = error.to_line(), .error = {}};
  const auto task = state.task ? state.task->description : TaskDescription{};
  for (const auto& [number, open] : state.open) {
    if (!open.reply) continue;
    auto result = read_reply(open, number, flow, task, state.history, backends.detector);
    if (result.status == ActionStatus::NotJudged) result.message = error.to_line();
    outcome.history[open.action.id] = std::move(result);
  }
  if (const auto* best = best_of(outcome.history)) outcome.best = best->action.id;
  outcome.error = std::move(error);
  return outcome;
}

Result<Installation> locate(const std::optional<Installation>& installation) {
  return installation ? Result<Installation>(*installation) : find_installation();
}

Result<std::unique_ptr<PromptBuilder>> make_default_prompts(const std::optional<Installation>& installation) {
  KERNELGEN_TRY(const auto found, locate(installation));
  return make_prompt_builder({.directory = found.prompts_dir, .overrides = {}});
}

/// Fills in the device that judged the candidate, where the caller named none.
void complete_device(FlowRequest& flow, const EvaluationRecord& record,
                     const std::optional<Installation>& installation) {
  if (!flow.device.empty() || flow.gpu || record.environment.device.empty()) return;
  // A device that the catalog does not describe still has the name that the record gives it.
  const auto found = locate(installation);
  const auto catalog = found ? read_gpu_catalog(found->devices_dir) : Result<GpuCatalog>(GpuCatalog{});
  auto device = prompt_device_of(record.environment, catalog ? *catalog : GpuCatalog{});
  flow.device = std::move(device.facts);
  flow.gpu = std::move(device.gpu);
}

RepairOutcome repair(const RepairRequest& request, const RepairOptions& options, const Backends& backends,
                     const std::optional<Installation>& installation, const FlowObserver& observer,
                     std::stop_token stop) {
  auto flow = flow_request(request);
  std::optional<Error> error;
  auto start = evaluate_start(request, flow, backends, error, stop);
  if (error) return {.history = {{"start", std::move(start)}}, .best = {}, .reason = error->to_line(), .error = error};
  complete_device(flow, *start.record, installation);
  flow.known.push_back(std::move(start));
  const auto policy = make_repair_policy(options);
  const auto journal = make_memory_journal([] { return std::chrono::system_clock::now(); });
  auto outcome = run_flow(flow, *policy, backends, *journal, observer, std::move(stop));
  if (!outcome) return read_outcome(*journal, flow, backends, std::move(outcome).error());
  return {.history = std::move(outcome->history),
          .best = std::move(outcome->best),
          .reason = std::move(outcome->reason),
          .error = {}};
}

}  // namespace

RepairLoop::RepairLoop(LLMClient& llm, Benchmarker& benchmarker, RepairOptions options,
                       std::optional<Installation> installation)
    : llm_(llm), benchmarker_(benchmarker), options_(std::move(options)), installation_(std::move(installation)) {}

RepairLoop::RepairLoop(const Backends& backends, RepairOptions options)
    : llm_(backends.llm), benchmarker_(backends.benchmarker), backends_(backends), options_(std::move(options)) {}

RepairOutcome RepairLoop::run(const RepairRequest& request, const FlowObserver& observer, std::stop_token stop) {
  if (backends_) return repair(request, options_, *backends_, installation_, observer, std::move(stop));
  const auto prompts = make_default_prompts(installation_);
  if (!prompts) {
    auto error = prompts.error();
    error.context.emplace_back("finding the templates of prompts");
    return {.history = {}, .best = {}, .reason = error.to_line(), .error = error};
  }
  const auto detector = make_persistent_detector();
  return repair(request, options_, {llm_, **prompts, benchmarker_, *detector}, installation_, observer,
                std::move(stop));
}

}  // namespace v0
}  // namespace kernelgen
