#include <kernelgen/flow/repair_loop.hpp>

#include <utility>

#include "flow/evaluations.hpp"
#include "flow/run_state.hpp"
#include "flow/steps.hpp"

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

/// The candidate with its verdict; its status is NotJudged, and `error` is set, when there is none.
ActionResult evaluate_start(const RepairRequest& request, const FlowRequest& flow, const Backends& backends,
                            std::optional<Error>& error, const std::stop_token& stop) {
  ActionResult start;
  start.action.id = "start";
  start.status = ActionStatus::Evaluated;
  start.candidate = request.candidate;
  start.recurrence = backends.detector.inspect(request.candidate.source, request.candidate.target).verdict;
  start.record = request.record;
  if (start.record) return start;
  auto record = Evaluations(flow, backends)
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

/// Everything that the journal knows, also about candidates that were not judged before `error` ended it.
RepairOutcome read_outcome(const Journal& journal, const FlowRequest& flow, const Backends& backends, Error error) {
  RunState state;
  for (const auto& event : journal.events()) apply(state, event);
  RepairOutcome outcome{.history = state.history, .best = {}, .reason = error.to_line(), .error = {}};
  for (const auto& [number, open] : state.open) {
    if (!open.reply) continue;
    auto result = read_reply(open, number, flow, state.history, backends.detector);
    if (result.status == ActionStatus::NotJudged) result.message = error.to_line();
    outcome.history[open.action.id] = std::move(result);
  }
  if (const auto* best = best_of(outcome.history)) outcome.best = best->action.id;
  outcome.error = std::move(error);
  return outcome;
}

}  // namespace

RepairLoop::RepairLoop(const Backends& backends, RepairOptions options)
    : backends_(backends), options_(std::move(options)) {}

RepairOutcome RepairLoop::run(const RepairRequest& request, const FlowObserver& observer, std::stop_token stop) {
  auto flow = flow_request(request);
  std::optional<Error> error;
  auto start = evaluate_start(request, flow, backends_, error, stop);
  if (error) return {.history = {{"start", std::move(start)}}, .best = {}, .reason = error->to_line(), .error = error};
  flow.known.push_back(std::move(start));
  const auto policy = make_repair_policy(options_);
  const auto journal = make_memory_journal([] { return std::chrono::system_clock::now(); });
  auto outcome = run_flow(flow, *policy, backends_, *journal, observer, std::move(stop));
  if (!outcome) return read_outcome(*journal, flow, backends_, std::move(outcome).error());
  return {.history = std::move(outcome->history),
          .best = std::move(outcome->best),
          .reason = std::move(outcome->reason),
          .error = {}};
}

}  // namespace v0
}  // namespace kernelgen
