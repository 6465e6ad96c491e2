#include <kernelgen/flow/engine.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <kernelgen/core/version.hpp>

#include "flow/campaign_state.hpp"
#include "flow/evaluations.hpp"
#include "flow/guarded.hpp"
#include "flow/repair_chain.hpp"
#include "flow/run_session.hpp"
#include "flow/run_state.hpp"
#include "flow/steps.hpp"
#include "flow/waiting_actions.hpp"
#include "flow/worker_threads.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Number of timeouts after which a request fails if others are answered meanwhile.
constexpr int k_max_timeouts = 3;

/// Time of each tool that watches a winner. A kernel that takes longer is seldom finished in three minutes either, and
/// other runs wait for the device.
constexpr std::chrono::seconds k_winner_watch_time{120};

/// The result of a reservation, a request, an evaluation or a profile. Exactly one of the four is set.
struct Completion {
  int number = 0;
  std::optional<Result<SharedBudget::Reservation>> reservation{};
  std::optional<Result<Reply>> reply{};
  std::optional<Result<EvaluationRecord>> record{};
  std::optional<Result<Profile>> profile{};
  /// Id of the result that was profiled.
  std::string action_id{};
};

/// A candidate that is being judged.
struct PendingVerdict {
  ActionResult result;
  /// Results with an equal candidate, which will share the verdict.
  std::vector<ActionResult> equal;
};

/// Carries out the decisions of a policy. The thread that runs it owns the journal and the state; other threads only
/// send requests and evaluate.
///
///     decide -> issue -> [model threads] -> reply -> [judge threads] -> finish -> decide
///
/// In a campaign a request goes to the model threads twice: the first time it waits for the budget.
class Engine {
 public:
  Engine(const FlowRequest& request, const Policy& policy, const Backends& backends, Journal& journal,
         const FlowObserver& observer, RunSession& session, std::stop_token stop)
      : request_(request),
        policy_(policy),
        backends_(backends),
        journal_(journal),
        observer_(observer),
        session_(session),
        stop_(std::move(stop)),
        evaluations_(request, backends, session.device_lock),
        models_(request.parallel_requests),
        judge_(request.parallel_evaluations) {
    for (const auto& event : journal.events()) apply(state_, event);
  }

  Result<FlowOutcome> run() {
    note_failure(start());
    while (failure_ || !state_.finished) {
      if (!failure_) note_failure(decide());
      if (!failure_ && state_.finished) break;
      if (busy_ == 0) return stopped();
      note_failure(handle(completions_.take()));
    }
    if (request_.sanitize_winner) KERNELGEN_CHECK(settle_winner());
    return FlowOutcome{state_.history, state_.best, state_.finished->reached, state_.finished->reason};
  }

 private:
  /// Notes a failure. After it nothing more is started; running work is waited for, because it is paid.
  void note_failure(Result<void> done) {
    if (!done && !failure_) failure_ = std::move(done).error();
  }

  Result<void> record(EventBody body) {
    // An event that the journal cannot take must not be used. After its first failure the journal is not used any more.
    if (journal_failed_) return *failure_;
    if (auto appended = journal_.append(std::move(body)); !appended) {
      journal_failed_ = true;
      note_failure(appended);
      return appended;
    }
    apply(state_, journal_.events().back());
    if (!observer_) return {};
    notify(progress());
    notify(journal_.events().back());
    return {};
  }

  void notify(const FlowNotice& notice) {
    if (!observer_) return;
    const std::scoped_lock lock(observing_);
    observer_(notice);
  }

  [[nodiscard]] FlowProgress progress() const {
    FlowProgress progress{
        .spent = state_.spent, .max_actions = most_actions(policy_, request_.budget, state_), .best = state_.best};
    for (const auto& [id, result] : state_.history) progress.finished_actions += result.number > 0 ? 1 : 0;
    if (const auto best = state_.history.find(state_.best); best != state_.history.end())
      progress.best_score = best->second.score();
    return progress;
  }

  /// Starts the run, or resumes it with the same options. No request that was answered is sent again.
  Result<void> start() {
    auto wanted = start_of(request_, policy_, backends_.llm);
    auto same =
        state_.started ? check_same_run(*state_.started, wanted, threads_of(request_.evaluation)) : Result<void>{};
    const bool has_failed = state_.finished && state_.best.empty();
    // A run without any reply may start over with other options, for example after a mistyped model.
    if (!state_.started || (!same && state_.replies == 0) || (has_failed && session_.restart == Restart::IfFailed)) {
      KERNELGEN_CHECK(record(std::move(wanted)));
    } else if (request_.continues && (!same || (is_over() && !was_continued_and_stopped()))) {
      KERNELGEN_CHECK(continue_run(std::move(wanted)));
    } else {
      KERNELGEN_CHECK(std::move(same));
      if (is_over()) return {};
      const bool reopens = reopens_actions();
      KERNELGEN_CHECK(record(RunResumed{std::string(version())}));
      if (reopens) KERNELGEN_CHECK(reopen());
    }
    for (const auto& known : request_.known) {
      if (state_.has_action(known.action.id)) continue;
      KERNELGEN_CHECK(record(ActionFinished{known}));
    }
    KERNELGEN_CHECK(describe_task());
    KERNELGEN_CHECK(judge_start());
    return resume_open_actions();
  }

  /// True if a resumed run would do nothing, the check of its winner aside.
  [[nodiscard]] bool is_over() const {
    const bool more = state_.exhausted && !exhausted_budget(request_.budget, state_.spent);
    return state_.finished && !more && !reopens_actions();
  }

  /// True if a run was continued and ended, and its winner is still to be watched. In a run that was never continued,
  /// an unwatched winner proves nothing: its session may have been told not to watch.
  [[nodiscard]] bool was_continued_and_stopped() const {
    return state_.continuations > 0 && needs_winner_check(state_, request_);
  }

  [[nodiscard]] bool reopens_actions() const {
    return !state_.ended_by_outage.empty() && !(state_.finished && state_.finished->reached);
  }

  /// Goes on with other options, or after the end. Requests that are open are asked as they are.
  Result<void> continue_run(RunStarted wanted) {
    KERNELGEN_CHECK(check_continuable(*state_.started, wanted, threads_of(request_.evaluation)));
    if (const auto exhausted = exhausted_budget(request_.budget, state_.spent))
      return Error{ErrorCode::InvalidArgument, exhausted->message + "; give a larger one to continue the run"};
    return record(RunContinued{std::move(wanted.kernelgen_version), std::move(wanted.policy), std::move(wanted.options),
                               std::move(wanted.model)});
  }

  /// Judges the kernel that the run starts from, unless an earlier session has.
  Result<void> judge_start() {
    auto action = start_action();
    if (!request_.start || state_.has_action(action.id)) return {};
    ActionResult result;
    result.action = std::move(action);
    result.status = ActionStatus::NotJudged;
    result.candidate = request_.start;
    result.recurrence = recurrence_of(*request_.start, request_, backends_.detector);
    return evaluate({std::move(result), {}});
  }

  /// True if an action was issued, or is the start that is being judged.
  [[nodiscard]] bool is_issued(const std::string& id) const {
    return state_.has_action(id) || (judging_.contains(0) && id == start_action().id);
  }

  /// Reopens actions that earlier versions failed because of an outage. The policy asks for them again.
  Result<void> reopen() {
    const auto ids = state_.ended_by_outage;
    for (const auto& id : ids) KERNELGEN_CHECK(record(ActionReopened{id}));
    return {};
  }

  Result<void> describe_task() {
    if (state_.task) return {};
    KERNELGEN_TRY(auto description, guarded<TaskDescription>("the benchmarker", [&] {
                    return backends_.benchmarker.describe(request_.task, request_.evaluation, stop_);
                  }));
    return record(
        TaskDescribed{std::move(description), request_.device, request_.gpu, threads_of(request_.evaluation)});
  }

  /// Resumes the unfinished actions of an earlier session.
  Result<void> resume_open_actions() {
    std::map<int, int> by_arrival;
    for (const auto& [number, open] : state_.open) {
      if (open.reply)
        by_arrival[open.arrival] = number;
      else
        waiting_.add_ready(number);
    }
    for (const int number : waiting_.ready())
      if (state_.open[number].in_flight) KERNELGEN_CHECK(record(RequestUnknown{number}));
    for (const auto& [arrival, number] : by_arrival) KERNELGEN_CHECK(judge(number));
    return {};
  }

  /// Asks the policy, and starts the actions that it returns.
  Result<void> decide() {
    KERNELGEN_CHECK(fail_timed_out_requests());
    const auto decision = policy_.decide(state_.history, search_facts(request_, state_));
    if (decision.best != state_.best) KERNELGEN_CHECK(record(BestChanged{decision.best}));
    if (decision.finished) return busy_ == 0 ? finish(decision.reason) : Result<void>{};
    if (stop_.stop_requested()) return {};
    if (wants_more(decision)) {
      if (const auto exhausted = exhausted_budget(request_.budget, state_.spent)) return end_early(*exhausted);
    }
    for (const auto& id : decision.profiles)
      if (!profiling_.contains(id)) KERNELGEN_CHECK(profile(id));
    if (waiting_.is_paused()) return {};
    KERNELGEN_CHECK(ask_open_actions());
    for (const auto& action : decision.actions) {
      if (is_issued(action.id)) continue;
      if (!may_issue()) break;
      KERNELGEN_CHECK(issue(action));
    }
    // Only a request can show whether the endpoint is back.
    if (asking_ == 0) {
      waiting_.retry_unanswered();
      KERNELGEN_CHECK(ask_open_actions());
    }
    if (busy_ == 0 && waiting_.empty())
      return Error{ErrorCode::Internal, "policy " + policy_.name() + " returned no action but is not finished"};
    return {};
  }

  /// True if the decision has something to start, budgets aside.
  [[nodiscard]] bool wants_more(const Decision& decision) const {
    const auto is_new = [&](const Action& action) { return !is_issued(action.id); };
    const auto is_unprofiled = [&](const std::string& id) { return !profiling_.contains(id); };
    return waiting_.has_requests() || std::any_of(decision.actions.begin(), decision.actions.end(), is_new) ||
           std::any_of(decision.profiles.begin(), decision.profiles.end(), is_unprofiled);
  }

  /// True if another request can be sent at once. None is queued, because a budget may end meanwhile.
  [[nodiscard]] bool has_room_to_ask() const { return asking_ < std::max(request_.parallel_requests, 1); }

  [[nodiscard]] bool may_issue() const {
    const bool something_is_open = busy_ > 0 || !waiting_.empty();
    return has_room_to_ask() && !(something_is_open && is_budget_reserved(request_.budget, state_));
  }

  /// Takes a profile on a thread for evaluations.
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

  /// Adds a profile to its result. A failure to profile does not end the run.
  Result<void> handle_profile(const std::string& id, Result<Profile> taken) {
    profiling_.erase(id);
    // A resumed run takes it again.
    if (!taken && taken.error().code == ErrorCode::Cancelled) return {};
    // It is taken elsewhere, and waiting was not wanted.
    if (!taken && taken.error().code == ErrorCode::Pending) return std::move(taken).error();
    ProfileTaken event{id, taken ? *std::move(taken) : unavailable_profile(taken.error().to_line()), std::nullopt};
    const auto& result = state_.history.at(id);
    event.headroom = headroom_of(result, *state_.task, event.profile.unavailable ? nullptr : &event.profile);
    return record(std::move(event));
  }

  /// Ends the run because a budget is used up. Running work is waited for, because it is paid.
  Result<void> end_early(const BudgetExhausted& exhausted) {
    if (!state_.exhausted) KERNELGEN_CHECK(record(exhausted));
    return busy_ == 0 ? finish(exhausted.message) : Result<void>{};
  }

  Result<void> finish(const std::string& reason) { return record(RunFinished{reason, is_reached()}); }

  [[nodiscard]] bool is_reached() const {
    const auto best = state_.history.find(state_.best);
    return best != state_.history.end() && best->second.score().value_or(0) >= request_.goal;
  }

  /// Checks the winner of a search that is over, and the next best while one fails.
  Result<void> settle_winner() {
    for (auto best = state_.history.find(state_.best); best != state_.history.end();
         best = state_.history.find(state_.best)) {
      if (!best->second.correct()) {
        const auto* next = best_of(state_.history);
        KERNELGEN_CHECK(record(BestChanged{next == nullptr ? "" : next->action.id}));
      } else if (best->second.record->sanitizers.empty()) {
        KERNELGEN_CHECK(check_winner());
      } else {
        break;
      }
    }
    return is_reached() == state_.finished->reached ? Result<void>{} : finish(std::string(state_.finished->reason));
  }

  /// Moves what tools said to the record of the full verdict. Other labels are those of an untimed evaluation.
  static void take_sanitizers(EvaluationRecord& checked, EvaluationRecord& record) {
    record.sanitizers = std::move(checked.sanitizers);
    for (auto& label : checked.labels)
      if (label.starts_with(k_not_sanitized)) record.labels.push_back(std::move(label));
  }

  /// Judges the winner once more under sanitizers. The search is over, so that nothing else runs. What is found
  /// replaces its verdict, and the next best becomes the winner.
  Result<void> check_winner() {
    auto result = state_.history.at(state_.best);
    EvaluationRequest request{request_.task, *result.candidate, request_.evaluation};
    request.options.mode = EvaluationMode::CorrectnessOnly;
    request.options.baselines = {};
    request.options.sanitizers = {.enabled = true, .timeout = k_winner_watch_time};
    const auto on_step = [&](const EvaluationProgress& step) { notify(EvaluationStep{result.action.id, step}); };
    auto checked = evaluations_.evaluate(request, on_step, pause_notice(result.action.id), stop_);
    if (!checked && (checked.error().code == ErrorCode::Cancelled || checked.error().code == ErrorCode::Pending))
      return std::move(checked).error();
    if (checked) take_sanitizers(*checked, *result.record);
    if (checked && !checked->outcome.correct()) result.record->outcome = std::move(checked->outcome);
    // It says that it was checked, also where that gave nothing.
    if (result.record->sanitizers.empty())
      result.record->sanitizers.push_back(
          {.tool = "none",
           .version = {},
           .status = SanitizerStatus::NotFinished,
           .reason = checked ? "the worker did not watch it" : checked.error().to_line()});
    for (auto& [id, equal] : History(state_.history)) {
      if (!equal.candidate || equal.candidate->id != result.candidate->id) continue;
      equal.record = result.record;
      KERNELGEN_CHECK(record(ActionFinished{std::move(equal)}));
    }
    return {};
  }

  Result<void> issue(const Action& action) {
    KERNELGEN_TRY(auto prompt, backends_.prompts.build(prompt_request(request_, *state_.task, state_.history, action))
                                   .context("building the prompt of " + action.id));
    const int number = state_.last_number + 1;
    KERNELGEN_CHECK(record(ActionIssued{number, action, std::move(prompt)}));
    return ask(number);
  }

  /// Sends a request, in a campaign once the budget allows it. The intent to send is journaled after that, because a
  /// request that waits for the budget is not sent.
  Result<void> ask(int number) {
    if (session_.budget == nullptr) return send(number);
    ++busy_;
    ++asking_;
    models_.post([this, number, most = most_of_request(state_.open[number].prompt, request_)] {
      Completion completion{.number = number};
      completion.reservation = session_.budget->reserve(most, stop_);
      completions_.put(std::move(completion));
    });
    return {};
  }

  Result<void> handle_reservation(int number, Result<SharedBudget::Reservation> reservation) {
    if (!reservation) {
      if (reservation.error().code == ErrorCode::Cancelled) return {};
      session_.is_out_of_budget = true;
      waiting_.defer(number, reservation.error());
      return {};
    }
    if (failure_ || stop_.stop_requested()) return {};
    // The run's own budget may have ended meanwhile.
    if (exhausted_budget(request_.budget, state_.spent)) {
      waiting_.add_ready(number);
      return {};
    }
    const auto time_left = reservation->time_left();
    reservations_.emplace(number, *std::move(reservation));
    return send(number, time_left);
  }

  /// Replaces the reservation of a request by what it has used; in full if that is unknown.
  void settle(int number, const std::optional<Spending>& used) {
    const auto reservation = reservations_.extract(number);
    if (reservation.empty()) return;
    used ? reservation.mapped().settle(*used) : reservation.mapped().settle_in_full();
  }

  Result<void> send(int number, std::optional<std::chrono::milliseconds> time_left = std::nullopt) {
    const auto& open = state_.open[number];
    LLMRequest request{.id = request_id(open.action),
                       .prompt = open.prompt.text,
                       .shared_bytes = open.prompt.shared_bytes,
                       .fingerprint = open.prompt.fingerprint,
                       .kind = open.action.kind,
                       .temperature = open.action.temperature,
                       .effort = request_.effort,
                       .max_output_tokens = request_.max_output_tokens,
                       // A campaign's budget has set aside what one reply may cost.
                       .continuations = session_.budget == nullptr ? 1 : 0,
                       .timeout = std::min(request_timeout(), time_left.value_or(request_.request_timeout)),
                       .on_retry = pause_notice(open.action.id),
                       .on_progress = [this, id = open.action.id](const LLMProgress& progress) {
                         notify(ReplyProgress{id, progress});
                       }};
    KERNELGEN_CHECK(record(RequestSent{number}));
    ++busy_;
    ++asking_;
    models_.post([this, number, request = std::move(request)] {
      Completion completion{.number = number};
      completion.reply = guarded<Reply>("the model client", [&] { return backends_.llm.complete(request, stop_); });
      completions_.put(std::move(completion));
    });
    return {};
  }

  /// Returns a callback that tells the observer about a pause of an action.
  [[nodiscard]] std::function<void(const std::string&, std::chrono::milliseconds)> pause_notice(std::string id) {
    return [this, id = std::move(id)](const std::string& reason, std::chrono::milliseconds wait) {
      notify(ActionPaused{id, reason, wait});
    };
  }

  /// Sends requests for issued actions, as many as may be in flight.
  Result<void> ask_open_actions() {
    while (!waiting_.ready().empty() && has_room_to_ask()) KERNELGEN_CHECK(ask(waiting_.take_ready()));
    return {};
  }

  /// The id of a request: unique within the task, the same at every resume, and without a slash, so that it can be a
  /// file name.
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
    if (completion.reply || completion.reservation) --asking_;
    if (completion.reservation) return handle_reservation(completion.number, *std::move(completion.reservation));
    if (completion.profile) return handle_profile(completion.action_id, *std::move(completion.profile));
    return completion.reply ? handle_reply(completion.number, *std::move(completion.reply))
                            : handle_record(completion.number, *std::move(completion.record));
  }

  Result<void> handle_reply(int number, Result<Reply> reply) {
    if (!reply) {
      settle(number, spending_without_reply(reply.error().code));
      return handle_no_reply(number, reply.error());
    }
    const auto& prompt = state_.open[number].prompt;
    const auto prices = prices_of(request_, prompt.kind, *reply);
    const auto cost = cost_of(*reply, prompt, request_);
    settle(number, Spending{1, total_of(tokens_of(*reply, prompt)), cost.value_or(0)});
    const std::string text = reply->text;
    if (auto done = record(ReplyArrived{number, *std::move(reply), cost, backends_.llm.endpoint(), prices}); !done) {
      write_reply_to_fallback(number, text);
      return done;
    }
    waiting_.note_reply();
    return judge(number);
  }

  Result<void> handle_no_reply(int number, const Error& error) {
    // It stays unanswered; a resumed run sends it again.
    if (error.code == ErrorCode::Cancelled) return {};
    if (error.code == ErrorCode::Pending) {
      KERNELGEN_CHECK(record(RequestPending{number}));
      waiting_.defer(number, error);
      return {};
    }
    if (is_outage(error.code)) {
      KERNELGEN_CHECK(record(RequestDeferred{number, error.code, error.to_line(), backends_.llm.endpoint()}));
      waiting_.defer_unanswered(number, error);
      return {};
    }
    if (error.code == ErrorCode::PromptTooLong) return shorten_prompt(number, error);
    KERNELGEN_CHECK(record(RequestFailed{number, error.code, error.to_line(), backends_.llm.endpoint()}));
    return error;
  }

  /// Asks again with a prompt that leaves out examples and history, as much as it takes. The model's own limit is not
  /// known; a refusal costs nothing. The error where nothing more can be left out.
  Result<void> shorten_prompt(int number, const Error& error) {
    const auto action = state_.open[number].action;
    const auto tokens = state_.open[number].prompt.estimated_tokens;
    auto request = prompt_request(request_, *state_.task, state_.history, action);
    // A quarter less, or whatever less is possible.
    request.max_tokens = tokens * 3 / 4;
    auto shorter = backends_.prompts.build(request);
    if (!shorter) {
      request.max_tokens = tokens - 1;
      shorter = backends_.prompts.build(request);
    }
    if (!shorter || shorter->estimated_tokens >= tokens) {
      KERNELGEN_CHECK(record(RequestFailed{number, error.code, error.to_line(), backends_.llm.endpoint()}));
      return Error{error.code, error.message + "; nothing more can be left out of the prompt of " + action.id};
    }
    KERNELGEN_CHECK(record(RequestDeferred{number, error.code, error.to_line(), backends_.llm.endpoint()}));
    KERNELGEN_CHECK(record(ActionIssued{number, action, *std::move(shorter)}));
    waiting_.add_ready(number);
    return {};
  }

  /// Fails actions with requests that the endpoint does not answer although it answers others.
  Result<void> fail_timed_out_requests() {
    std::vector<int> timed_out;
    for (const auto& [number, open] : state_.open)
      if (!open.in_flight && !open.reply && open.timeouts >= k_max_timeouts) timed_out.push_back(number);
    for (const int number : timed_out) KERNELGEN_CHECK(fail_timed_out(number));
    return {};
  }

  Result<void> fail_timed_out(int number) {
    waiting_.remove(number);
    ActionResult result;
    result.action = state_.open[number].action;
    result.number = number;
    result.status = ActionStatus::ModelFailed;
    result.message = "no reply in time, " + std::to_string(k_max_timeouts) + " times, while others were answered";
    KERNELGEN_CHECK(record(RequestFailed{number, ErrorCode::Timeout, result.message, backends_.llm.endpoint()}));
    return record(ActionFinished{std::move(result)});
  }

  /// Writes a reply that the journal cannot take to a file, because it was paid for. The error names the file.
  void write_reply_to_fallback(int number, const std::string& text) {
    const auto id = request_id(state_.open[number].action);
    const auto kept = write_fallback_file(request_.fallback_directory, id + ".txt", text);
    failure_->message += kept ? "; the reply to " + id + " is in " + kept->string()
                              : "; the reply to " + id + " is lost: " + kept.error().to_line();
  }

  /// Reads the reply and hands a new candidate to the judge.
  Result<void> judge(int number) {
    auto result =
        read_reply(state_.open[number], number, request_, state_.task->description, state_.history, backends_.detector);
    if (!result.candidate || result.record) return finish(std::move(result));
    const auto equal = std::find_if(judging_.begin(), judging_.end(), [&](const auto& entry) {
      return entry.second.result.candidate->id == result.candidate->id;
    });
    if (equal == judging_.end()) return evaluate({std::move(result), {}});
    equal->second.equal.push_back(std::move(result));
    return {};
  }

  Result<void> evaluate(PendingVerdict judging) {
    const int number = judging.result.number;
    ++busy_;
    judge_.post([this, number, candidate = *judging.result.candidate, id = judging.result.action.id] {
      const auto on_step = [&](const EvaluationProgress& step) { notify(EvaluationStep{id, step}); };
      Completion completion{.number = number};
      completion.record = evaluations_.evaluate(candidate, on_step, pause_notice(id), stop_);
      completions_.put(std::move(completion));
    });
    judging_[number] = std::move(judging);
    return {};
  }

  Result<void> handle_record(int number, Result<EvaluationRecord> record_or) {
    auto judging = std::move(judging_.extract(number).mapped());
    auto& result = judging.result;
    if (!record_or) {
      const auto& error = record_or.error();
      // The replies are in the journal, so a resumed run judges this candidate and equal ones.
      if (error.code == ErrorCode::Cancelled) return {};
      if (error.code == ErrorCode::Pending) {
        waiting_.defer(number, error);
        return {};
      }
      if (ends_run(error.code)) return error;
      result.message = error.to_line();
      KERNELGEN_CHECK(record(ActionFinished{result}));
      return evaluate_next(std::move(judging.equal));
    }
    result.status = ActionStatus::Evaluated;
    result.record = *std::move(record_or);
    KERNELGEN_CHECK(finish(result));
    for (auto& equal : judging.equal) {
      share_verdict(equal, result);
      KERNELGEN_CHECK(finish(std::move(equal)));
    }
    return {};
  }

  /// Evaluates the next of several equal candidates, because the one before it got no verdict to share.
  Result<void> evaluate_next(std::vector<ActionResult> equal) {
    if (equal.empty()) return {};
    auto first = std::move(equal.front());
    equal.erase(equal.begin());
    return evaluate({std::move(first), std::move(equal)});
  }

  Result<void> finish(ActionResult result) {
    result.headroom = headroom_of(result, *state_.task, nullptr);
    return record(ActionFinished{std::move(result)});
  }

  /// The error of a run that cannot go on: nothing runs and nothing can be started.
  [[nodiscard]] Error stopped() const {
    if (failure_) return *failure_;
    if (stop_.stop_requested()) return {ErrorCode::Cancelled, "interrupted"};
    return waiting_.reason_to_stop(backends_.llm.identity(), backends_.llm.endpoint());
  }

  const FlowRequest& request_;
  const Policy& policy_;
  const Backends& backends_;
  Journal& journal_;
  const FlowObserver& observer_;
  RunSession& session_;
  std::stop_token stop_;
  std::mutex observing_;

  RunState state_;
  /// Pending verdicts by number, at most one for each candidate.
  std::map<int, PendingVerdict> judging_;
  WaitingActions waiting_;
  /// Ids of the results that are being profiled.
  std::set<std::string> profiling_;
  /// Shares of the campaign's budget, by the numbers of the requests in flight.
  std::map<int, SharedBudget::Reservation> reservations_;
  std::optional<Error> failure_;
  bool journal_failed_ = false;
  /// Number of requests, evaluations and profiles that will give a Completion.
  int busy_ = 0;
  /// Number of requests among them.
  int asking_ = 0;

  Evaluations evaluations_;
  BlockingQueue<Completion> completions_;
  // These are the last members, so that they end first: their jobs use the other members.
  WorkerThreads models_;
  WorkerThreads judge_;
};

}  // namespace

Result<FlowOutcome> run_in_session(const FlowRequest& request, const Policy& policy, const Backends& backends,
                                   Journal& journal, const FlowObserver& observer, RunSession& session,
                                   std::stop_token stop) {
  // An error can leave requests in flight; they are cancelled when the engine is destroyed.
  std::stop_source own;
  const std::stop_callback forward(stop, [&] { own.request_stop(); });
  Engine engine(request, policy, backends, journal, observer, session, own.get_token());
  auto outcome = engine.run();
  own.request_stop();
  return outcome;
}

Result<FlowOutcome> run_flow(const FlowRequest& request, const Policy& policy, const Backends& backends,
                             Journal& journal, const FlowObserver& observer, std::stop_token stop) {
  FairSharedMutex device_lock;
  RunSession session{.device_lock = device_lock};
  return run_in_session(request, policy, backends, journal, observer, session, std::move(stop));
}

}  // namespace v0
}  // namespace kernelgen
