#include <kernelgen/flow/engine.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <kernelgen/core/version.hpp>

#include "flow/evaluations.hpp"
#include "flow/guarded.hpp"
#include "flow/run_state.hpp"
#include "flow/steps.hpp"
#include "flow/worker_threads.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A request, an evaluation or a profile came to its end. Exactly one of the three is set.
struct Completion {
  int number = 0;
  std::optional<Result<Reply>> reply{};
  std::optional<Result<EvaluationRecord>> record{};
  std::optional<Result<Profile>> profile{};
  /// Of a profile.
  std::string action_id{};
};

/// Carries out decisions. The thread that runs it owns the journal and the state; other threads only ask and judge.
///
///     decide -> issue -> [model threads] -> reply -> [judge threads] -> finish -> decide
class Engine {
 public:
  Engine(const FlowRequest& request, const Policy& policy, const Backends& backends, Journal& journal,
         const FlowObserver& observer, std::stop_token stop)
      : request_(request),
        policy_(policy),
        backends_(backends),
        journal_(journal),
        observer_(observer),
        stop_(std::move(stop)),
        evaluations_(request, backends),
        models_(request.parallel_requests),
        judge_(request.parallel_evaluations) {
    for (const auto& event : journal.events()) apply(state_, event);
  }

  Result<FlowOutcome> run() {
    if (auto started = start(); !started) return std::move(started).error();
    while (!state_.finished) {
      if (auto decided = decide(); !decided) return std::move(decided).error();
      if (state_.finished) break;
      if (busy_ == 0) return stopped();
      if (auto handled = handle(completions_.take()); !handled) return std::move(handled).error();
    }
    return FlowOutcome{state_.history, state_.best, state_.finished->reached, state_.finished->reason};
  }

 private:
  Result<void> record(EventBody body) {
    if (auto appended = journal_.append(std::move(body)); !appended) return appended;
    apply(state_, journal_.events().back());
    notify(journal_.events().back());
    return {};
  }

  void notify(const std::variant<Event, EvaluationStep>& seen) {
    if (!observer_) return;
    const std::scoped_lock lock(observing_);
    observer_(seen);
  }

  /// Begins the run, or goes on with it: the same options, and nothing asked twice that was answered.
  Result<void> start() {
    RunStarted wanted{std::string(version()),        request_.task,           request_.target, policy_.name(),
                      options_of(request_, policy_), backends_.llm.identity()};
    auto same = state_.started ? check_same_run(*state_.started, wanted) : Result<void>{};
    // A mistyped model must not take the name of the run: what was never answered may begin anew.
    if (!state_.started || (!same && !state_.answered)) {
      if (auto done = record(std::move(wanted)); !done) return done;
    } else {
      if (!same) return same;
      const bool more = state_.exhausted && !exhausted_budget(request_.budget, state_.spent);
      if (state_.finished && !more) return {};
      if (auto done = record(RunResumed{std::string(version())}); !done) return done;
    }
    for (const auto& known : request_.known) {
      if (state_.knows(known.action.id)) continue;
      if (auto done = record(ActionFinished{known}); !done) return done;
    }
    if (auto described = describe_task(); !described) return described;
    return take_up();
  }

  Result<void> describe_task() {
    if (state_.task) return {};
    auto description = guarded<TaskDescription>(
        "the benchmarker", [&] { return backends_.benchmarker.describe(request_.task, request_.evaluation, stop_); });
    if (!description) return std::move(description).error();
    return record(TaskDescribed{*std::move(description), request_.device, request_.gpu});
  }

  /// Actions of an earlier session that have not finished.
  Result<void> take_up() {
    std::vector<int> numbers;
    for (const auto& [number, open] : state_.open) numbers.push_back(number);
    for (const int number : numbers) {
      if (state_.open[number].in_flight) {
        if (auto done = record(RequestUnknown{number}); !done) return done;
      }
      if (auto done = state_.open[number].reply ? judge(number) : ask(number); !done) return done;
    }
    return {};
  }

  /// Asks the policy, and begins what it wants.
  Result<void> decide() {
    const auto decision = policy_.next(state_.history);
    if (decision.best != state_.best) {
      if (auto done = record(BestChanged{decision.best}); !done) return done;
    }
    if (decision.finished) return busy_ == 0 ? finish(decision.reason) : Result<void>{};
    if (failure_ || stop_.stop_requested()) return {};
    for (const auto& id : decision.profiles) {
      if (profiling_.contains(id)) continue;
      if (const auto exhausted = exhausted_budget(request_.budget, state_.spent)) return end_early(*exhausted);
      if (auto done = profile(id); !done) return done;
    }
    for (const auto& action : decision.actions) {
      if (state_.knows(action.id)) continue;
      if (const auto exhausted = exhausted_budget(request_.budget, state_.spent)) return end_early(*exhausted);
      if ((busy_ > 0 || !parked_.empty()) && is_committed(request_.budget, state_)) return {};
      // What only stands in a queue would be sent although a budget has ended meanwhile.
      if (asking_ >= std::max(request_.parallel_requests, 1)) return {};
      if (auto done = issue(action); !done) return done;
    }
    if (busy_ == 0 && parked_.empty())
      return Error{ErrorCode::Internal, "policy " + policy_.name() + " wants nothing more but is not finished"};
    return {};
  }

  /// On a judge's thread.
  Result<void> profile(const std::string& id) {
    const auto found = state_.history.find(id);
    if (found == state_.history.end() || !found->second.correct())
      return Error{ErrorCode::Internal,
                   "policy " + policy_.name() + " wants a profile of " + id + ", which is no correct kernel"};
    if (found->second.profile || !profiling_.insert(id).second) return {};
    ++busy_;
    judge_.post([this, id, request = profile_request(found->second, request_, *state_.task)] {
      Completion completion;
      completion.action_id = id;
      completion.profile = evaluations_.profile(request, stop_);
      completions_.put(std::move(completion));
    });
    return {};
  }

  /// What cannot be profiled is no reason to end a run.
  Result<void> handle_profile(const std::string& id, Result<Profile> taken) {
    profiling_.erase(id);
    // It is taken when the run is resumed.
    if (!taken && taken.error().code == ErrorCode::Cancelled) return {};
    ProfileTaken event{id, taken ? *std::move(taken) : unavailable_profile(taken.error().to_line()), std::nullopt};
    const auto& result = state_.history.at(id);
    event.headroom = headroom_of(result, request_, *state_.task, event.profile.unavailable ? nullptr : &event.profile);
    return record(std::move(event));
  }

  /// What runs is waited for: it is paid already.
  Result<void> end_early(const BudgetExhausted& exhausted) {
    if (!state_.exhausted) {
      if (auto done = record(exhausted); !done) return done;
    }
    return busy_ == 0 ? finish(exhausted.message) : Result<void>{};
  }

  Result<void> finish(const std::string& reason) {
    const auto best = state_.history.find(state_.best);
    const bool reached = best != state_.history.end() && best->second.score().value_or(0) >= request_.goal;
    return record(RunFinished{reason, reached});
  }

  Result<void> issue(const Action& action) {
    auto prompt = backends_.prompts.build(prompt_request(request_, *state_.task, state_.history, action));
    if (!prompt) return std::move(prompt).context("building the prompt of " + action.id).error();
    const int number = state_.last_number + 1;
    if (auto done = record(ActionIssued{number, action, *std::move(prompt)}); !done) return done;
    return ask(number);
  }

  Result<void> ask(int number) {
    const auto& open = state_.open[number];
    LLMRequest request{.id = request_id(open.action),
                       .prompt = open.prompt.text,
                       .fingerprint = open.prompt.fingerprint,
                       .temperature = open.action.temperature,
                       .max_output_tokens = request_.max_output_tokens,
                       .timeout = request_timeout()};
    if (auto done = record(RequestSent{number}); !done) return done;
    ++busy_;
    ++asking_;
    models_.post([this, number, request = std::move(request)] {
      Completion completion{.number = number};
      completion.reply = guarded<Reply>("the model client", [&] { return backends_.llm.complete(request, stop_); });
      completions_.put(std::move(completion));
    });
    return {};
  }

  /// Unique within the task and the same at every resume. A slash is no part of a file name.
  [[nodiscard]] std::string request_id(const Action& action) const {
    std::string id = (request_.name.empty() ? request_.task.name : request_.name) + '.' + action.id;
    std::replace_if(
        id.begin(), id.end(), [](unsigned char byte) { return std::isalnum(byte) == 0 && byte != '.' && byte != '_'; },
        '-');
    return id;
  }

  [[nodiscard]] std::chrono::milliseconds request_timeout() const {
    if (!request_.budget.time) return request_.request_timeout;
    const std::chrono::milliseconds left = *request_.budget.time - state_.spent.time;
    return std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds{1}, request_.request_timeout);
  }

  Result<void> handle(Completion completion) {
    --busy_;
    if (completion.reply) --asking_;
    if (completion.profile) return handle_profile(completion.action_id, *std::move(completion.profile));
    return completion.reply ? handle_reply(completion.number, *std::move(completion.reply))
                            : handle_record(completion.number, *std::move(completion.record));
  }

  Result<void> handle_reply(int number, Result<Reply> reply) {
    if (reply) {
      const auto cost = cost_of(*reply, state_.open[number].prompt, request_.prices);
      if (auto done = record(ReplyArrived{number, *std::move(reply), cost}); !done) return done;
      return judge(number);
    }
    const auto& error = reply.error();
    // Still unanswered: it is asked again when the run is resumed.
    if (error.code == ErrorCode::Cancelled) return {};
    if (error.code == ErrorCode::Pending) {
      if (auto done = record(RequestPending{number}); !done) return done;
      return park(number, error);
    }
    if (auto done = record(RequestFailed{number, error.code, error.to_line()}); !done) return done;
    if (ends_run(error.code)) return give_up(error);
    ActionResult result;
    result.action = state_.open[number].action;
    result.number = number;
    result.status = ActionStatus::ModelFailed;
    result.message = error.to_line();
    return record(ActionFinished{std::move(result)});
  }

  /// Reads the reply and hands a new candidate to the judge.
  Result<void> judge(int number) {
    auto result = read_reply(state_.open[number], number, request_, state_.history, backends_.detector);
    if (!result.candidate || result.record) return finish(std::move(result));
    judging_[number] = result;
    ++busy_;
    judge_.post([this, number, candidate = *result.candidate, id = result.action.id] {
      const auto progress = [&](const EvaluationProgress& step) { notify(EvaluationStep{id, step}); };
      Completion completion{.number = number};
      completion.record = evaluations_.evaluate(candidate, progress, stop_);
      completions_.put(std::move(completion));
    });
    return {};
  }

  Result<void> handle_record(int number, Result<EvaluationRecord> record_or) {
    ActionResult result = std::move(judging_[number]);
    judging_.erase(number);
    if (record_or) {
      result.status = ActionStatus::Evaluated;
      result.record = *std::move(record_or);
      return finish(std::move(result));
    }
    const auto& error = record_or.error();
    // The reply is in the journal: a resumed run judges it.
    if (error.code == ErrorCode::Cancelled) return {};
    if (error.code == ErrorCode::Pending) return park(number, error);
    if (ends_run(error.code)) return give_up(error);
    result.message = error.to_line();
    return record(ActionFinished{std::move(result)});
  }

  Result<void> finish(ActionResult result) {
    result.headroom = headroom_of(result, request_, *state_.task, nullptr);
    return record(ActionFinished{std::move(result)});
  }

  Result<void> park(int number, const Error& error) {
    parked_.insert_or_assign(number, error);
    return {};
  }

  /// Begins nothing more; what runs is waited for, because it is paid.
  Result<void> give_up(const Error& error) {
    if (!failure_) failure_ = error;
    return {};
  }

  /// Nothing runs and nothing can be begun.
  [[nodiscard]] Error stopped() const {
    if (failure_) return *failure_;
    if (stop_.stop_requested()) return {ErrorCode::Cancelled, "interrupted; the same command goes on from here"};
    if (parked_.size() == 1) return parked_.begin()->second;
    return {ErrorCode::Pending, "waiting for " + std::to_string(parked_.size()) +
                                    " answers that are made elsewhere; first: " + parked_.begin()->second.to_line()};
  }

  const FlowRequest& request_;
  const Policy& policy_;
  const Backends& backends_;
  Journal& journal_;
  const FlowObserver& observer_;
  std::stop_token stop_;
  std::mutex observing_;

  RunState state_;
  std::map<int, ActionResult> judging_;
  std::map<int, Error> parked_;
  /// Ids of results that are being profiled.
  std::set<std::string> profiling_;
  std::optional<Error> failure_;
  /// Requests and evaluations that will give a completion.
  int busy_ = 0;
  /// The requests among them.
  int asking_ = 0;

  Evaluations evaluations_;
  Handover<Completion> completions_;
  // Last, so that they end first: their jobs use everything above.
  WorkerThreads models_;
  WorkerThreads judge_;
};

}  // namespace

Result<FlowOutcome> run_flow(const FlowRequest& request, const Policy& policy, const Backends& backends,
                             Journal& journal, const FlowObserver& observer, std::stop_token stop) {
  // An error can leave requests under way; they are told to stop when the engine goes.
  std::stop_source own;
  const std::stop_callback forward(stop, [&] { own.request_stop(); });
  Engine engine(request, policy, backends, journal, observer, own.get_token());
  auto outcome = engine.run();
  own.request_stop();
  return outcome;
}

}  // namespace v0
}  // namespace kernelgen
