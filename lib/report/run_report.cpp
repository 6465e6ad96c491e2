#include <algorithm>
#include <chrono>
#include <ratio>
#include <set>
#include <tuple>
#include <utility>

#include <kernelgen/prompt/error_classifier.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>

#include "flow/run_state.hpp"
#include "report/attempt_report.hpp"
#include "report/report_names.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr double k_nanoseconds_per_millisecond = 1e6;

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& number) {
  if (number) sum = sum.value_or(0) + *number;
}

std::string code_file_of(const std::string& stem, const ActionResult& result) {
  return result.candidate ? stem + std::string(file_extension(result.candidate->target, result.candidate->language))
                          : "";
}

AttemptReport report_open(int number, const OpenAction& open) {
  AttemptReport attempt;
  attempt.number = number;
  attempt.id = open.action.id;
  attempt.kind = open.action.kind;
  attempt.result_class = "unfinished";
  return attempt;
}

BestReport report_best(const ActionResult& result, bool announced) {
  BestReport best;
  best.id = result.action.id;
  best.recurrence = result.recurrence;
  if (result.headroom) best.headroom = result.headroom->sentence;
  // The journal writes the best_* files after BestChanged, so they may be a step behind.
  best.code_file = code_file_of(announced ? "best_code" : "code_" + std::to_string(result.number), result);
  if (!result.record) return best;
  best.labels = result.record->labels;
  if (!result.record->timing) return best;
  const auto& timing = *result.record->timing;
  if (result.score()) best.score = timing.scored_speedup();
  best.reference_ms = timing.reference_median_ns / k_nanoseconds_per_millisecond;
  best.kernel_ms = timing.candidate_median_ns / k_nanoseconds_per_millisecond;
  return best;
}

std::optional<BestReport> find_best(const RunState& state) {
  const auto announced = state.history.find(state.best);
  if (announced != state.history.end()) return report_best(announced->second, true);
  const auto* best = best_of(state.history);
  return best == nullptr ? std::nullopt : std::optional(report_best(*best, false));
}

/// Finds the record of the best kernel, else the last one; nullptr when nothing was evaluated.
const EvaluationRecord* representative_record(const RunState& state, const std::string& best) {
  const EvaluationRecord* last = nullptr;
  int last_number = 0;
  for (const auto& [id, result] : state.history) {
    if (!result.record) continue;
    if (id == best) return &*result.record;
    if (last != nullptr && result.number < last_number) continue;
    last = &*result.record;
    last_number = result.number;
  }
  return last;
}

/// Collects the requests of one run from its events.
class RequestCollector {
 public:
  explicit RequestCollector(RunReport& run) : run_(run) {}

  void see(const Event& event) {
    if (const auto* issued = std::get_if<ActionIssued>(&event.body)) actions_[issued->number] = issued->action;
    if (const auto* sent = std::get_if<RequestSent>(&event.body)) send(sent->number, event.time);
    if (const auto* pending = std::get_if<RequestPending>(&event.body)) waiting_.insert(pending->number);
    if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) answer(*arrived);
    if (const auto* failed = std::get_if<RequestFailed>(&event.body))
      end(failed->number, RequestStatus::Failed, failed->endpoint);
    if (const auto* deferred = std::get_if<RequestDeferred>(&event.body))
      end(deferred->number, RequestStatus::Deferred, deferred->endpoint);
  }

 private:
  void send(int number, const std::string& time) {
    // A pending request is asked again: this is the same request.
    if (waiting_.erase(number) > 0) return;
    const auto& action = actions_[number];
    RequestReport request;
    request.time = time;
    request.number = number;
    request.action_id = action.id;
    request.kind = action.kind;
    request.model = run_.model;
    last_[number] = run_.requests.size();
    run_.requests.push_back(std::move(request));
  }

  void end(int number, RequestStatus status, const std::string& endpoint) {
    auto* request = last(number);
    if (request == nullptr) return;
    request->status = status;
    request->endpoint = endpoint;
  }

  void answer(const ReplyArrived& event) {
    auto* request = last(event.number);
    if (request == nullptr) return;
    end(event.number, RequestStatus::Answered, event.endpoint);
    const auto& reply = event.reply;
    if (!reply.model.empty()) request->model = reply.model;
    request->usage = reply.usage;
    request->latency_seconds = std::chrono::duration<double>(reply.latency).count();
    if (reply.first_output) request->first_output_seconds = std::chrono::duration<double>(*reply.first_output).count();
    request->request_id = reply.request_id;
    request->identity = reply.identity;
    request->left_out = reply.left_out;
    request->finish = reply.finish;
    request->cost = event.cost;
  }

  /// An answer belongs to the latest request of its action.
  RequestReport* last(int number) {
    const auto found = last_.find(number);
    return found == last_.end() ? nullptr : &run_.requests[found->second];
  }

  RunReport& run_;
  std::map<int, Action> actions_;
  std::map<int, std::size_t> last_;
  std::set<int> waiting_;
};

/// The path of a task decides its level, as in KernelBench; what the judge saw decides for other tasks.
std::string level_of(const RunState& state) {
  auto level = state.started ? state.started->task.level : TaskLevel::Unknown;
  if (level == TaskLevel::Unknown && state.task) level = state.task->description.level;
  return level == TaskLevel::Unknown ? "" : std::string(to_string(level));
}

std::vector<std::string> families_of(const RunState& state) {
  if (!state.task || !state.task->description.facts) return {};
  const auto& facts = *state.task->description.facts;
  std::vector<std::string> families;
  for (const auto family : facts.families) families.emplace_back(to_string(family));
  if (facts.recurrence) families.emplace_back("recurrent");
  if (families.empty()) families.emplace_back("elementwise");
  return families;
}

RunStatus status_of(const RunState& state, const RunReport& run) {
  if (!state.finished) return RunStatus::Unfinished;
  if (!run.best) return RunStatus::Failed;
  return state.finished->reached ? RunStatus::Success : RunStatus::Partial;
}

/// Adds the model that a run was continued with, unless it is the last one of before: "a, b".
void add_model(std::string& models, const std::string& recorded) {
  const auto model = model_identity(recorded);
  if (models != model && !models.ends_with(", " + model)) models += ", " + model;
}

}  // namespace

EvaluationTime evaluation_time(const std::vector<Phase>& phases) {
  constexpr double k_milliseconds = 1000;
  EvaluationTime time;
  for (const auto& [name, milliseconds] : phases) {
    auto& part = name.starts_with("compile") || name == "build ahead" ? time.compiling
                 : name.starts_with("wait for")                       ? time.waiting
                 : name == "admit" || name == "start the judge"       ? time.starting
                                                                      : time.judging;
    part += milliseconds / k_milliseconds;
  }
  return time;
}

AttemptReport report_attempt(const ActionResult& result) {
  AttemptReport attempt;
  attempt.number = result.number;
  attempt.id = result.action.id;
  attempt.kind = result.action.kind;
  attempt.status = result.status;
  attempt.result_class = result.record ? result.record->outcome.to_class() : std::string(to_string(result.status));
  if (result.record)
    attempt.error_class = classify_error(*result.record, result.candidate ? result.candidate->source : "").error_class;
  attempt.score = result.score();
  attempt.message = result.message;
  if (attempt.message.empty() && result.record) attempt.message = result.record->outcome.message;
  if (attempt.message.empty() && result.analysis) {
    attempt.message = result.analysis->reason;
    if (const auto& correction = result.analysis->correction; !correction.empty())
      attempt.message += (attempt.message.empty() ? "" : "; ") + ("but " + correction);
  }
  attempt.recurrence = result.recurrence;
  attempt.code_file = code_file_of("code_" + std::to_string(result.number), result);
  // Duplicates have the record of another attempt.
  if (result.status == ActionStatus::Evaluated && result.record) attempt.time = evaluation_time(result.record->phases);
  return attempt;
}

bool is_sample(const AttemptReport& attempt) {
  return attempt.status == ActionStatus::Evaluated || attempt.status == ActionStatus::Duplicate ||
         attempt.status == ActionStatus::Unchanged || attempt.status == ActionStatus::NoCode;
}

std::string_view to_string(RunStatus status) { return names_of<RunStatus>.name(status); }
std::string_view to_string(RequestStatus status) { return names_of<RequestStatus>.name(status); }

bool AttemptReport::failed() const {
  return status && *status != ActionStatus::Analyzed && result_class != to_string(OutcomeKind::Correct);
}

std::optional<std::int64_t> UsageReport::total_tokens() const {
  std::optional<std::int64_t> total;
  add(total, tokens.input_tokens);
  add(total, tokens.output_tokens);
  return total;
}

UsageReport usage_of(const std::vector<RequestReport>& requests) {
  UsageReport usage;
  for (const auto& request : requests) {
    ++usage.requests;
    if (request.status == RequestStatus::Answered) ++usage.answered;
    if (request.status == RequestStatus::Failed) ++usage.failed;
    if (request.status == RequestStatus::Deferred) ++usage.deferred;
    if (request.status == RequestStatus::Unknown) ++usage.unknown;
    add(usage.tokens.input_tokens, request.usage.input_tokens);
    add(usage.tokens.output_tokens, request.usage.output_tokens);
    add(usage.tokens.cached_tokens, request.usage.cached_tokens);
    add(usage.tokens.reasoning_tokens, request.usage.reasoning_tokens);
    usage.latency_seconds += request.latency_seconds.value_or(0);
    if (request.cost) usage.cost = usage.cost.value_or(0) + *request.cost;
  }
  return usage;
}

std::map<std::string, int> RunReport::failures() const {
  std::map<std::string, int> classes;
  for (const auto& attempt : attempts)
    if (attempt.failed()) ++classes[attempt.result_class];
  return classes;
}

RunReport report_run(const std::string& task, const std::string& name, const std::vector<Event>& events) {
  RunReport run;
  run.task = task;
  run.name = name;
  RunState state;
  RequestCollector requests(run);
  std::string outage;
  for (const auto& event : events) {
    if (const auto* started = std::get_if<RunStarted>(&event.body)) run.model = model_identity(started->model);
    if (const auto* continued = std::get_if<RunContinued>(&event.body)) add_model(run.model, continued->model);
    if (const auto* deferred = std::get_if<RequestDeferred>(&event.body)) outage = "paused: " + deferred->message;
    if (std::holds_alternative<ReplyArrived>(event.body)) outage.clear();
    apply(state, event);
    requests.see(event);
  }
  if (state.started) {
    run.target = to_string(state.started->target);
    run.policy = state.started->policy;
    run.content_id = state.started->task.content_id;
  }
  run.level = level_of(state);
  run.families = families_of(state);
  for (const auto& [id, result] : state.history) run.attempts.push_back(report_attempt(result));
  for (const auto& [number, open] : state.open) run.attempts.push_back(report_open(number, open));
  std::sort(run.attempts.begin(), run.attempts.end(),
            [](const auto& a, const auto& b) { return std::tie(a.number, a.id) < std::tie(b.number, b.id); });
  run.best = find_best(state);
  if (const auto* record = representative_record(state, run.best ? run.best->id : "")) {
    run.device = record->environment.device;
    run.precision = record->precision;
  }
  run.status = status_of(state, run);
  run.evaluations = state.spent.evaluations;
  run.minutes = std::chrono::duration<double, std::ratio<60>>(state.spent.time).count();
  run.reason = state.finished ? state.finished->reason : outage;
  return run;
}

}  // namespace v0
}  // namespace kernelgen
