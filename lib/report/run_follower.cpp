#include "report/run_follower.hpp"

#include <algorithm>
#include <utility>

#include <kernelgen/store/journal.hpp>

#include "report/attempt_report.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// Time after its last event up to which a run is taken to be in progress, when what it has taken is added up. A run
/// that was killed says nothing any more.
constexpr std::chrono::minutes k_longest_silence{10};
/// Attempts of a run that are kept; a search has some dozens of them.
constexpr std::size_t k_max_attempts = 300;
constexpr std::size_t k_max_sessions = 1000;
constexpr std::size_t k_max_recent = 2000;
constexpr std::size_t k_max_errors = 8;
constexpr std::size_t k_max_classes = 200;
constexpr std::size_t k_watched_name = 200;
constexpr std::size_t k_watched_message = 400;

std::string watched_line(std::string_view text, std::size_t max_bytes = k_watched_message) {
  return sanitize_line(text, max_bytes);
}

/// A record with what the state of a run is computed from: whether it is correct, and how fast.
EvaluationRecord essence_of(const EvaluationRecord& record) {
  EvaluationRecord essence;
  essence.outcome.kind = record.outcome.kind;
  essence.outcome.detail = watched_line(record.outcome.detail, k_watched_name);
  essence.labels = record.labels;
  if (!record.timing) return essence;
  auto& timing = essence.timing.emplace();
  timing.speedup_call = record.timing->speedup_call;
  timing.speedup_device = record.timing->speedup_device;
  return essence;
}

// Removes from an event what is long and what no state is computed from.

template <class Body>
void shorten(Body&) {}
void shorten(RunStarted& event) { event.task.text.clear(); }
void shorten(TaskDescribed& event) { event = {}; }
void shorten(ActionIssued& event) {
  event.action.instructions.clear();
  event.prompt = {.kind = event.prompt.kind, .text = "", .estimated_tokens = event.prompt.estimated_tokens};
}
void shorten(ReplyArrived& event) {
  // Where the provider reports no tokens, they follow from the text.
  event.reply.usage.output_tokens = tokens_of(event.reply, {}).output;
  event.reply.text.clear();
}
void shorten(ActionFinished& event) {
  auto& result = event.result;
  ActionResult essence;
  essence.action = {.id = result.action.id, .kind = result.action.kind};
  essence.number = result.number;
  essence.status = result.status;
  if (result.record) essence.record = essence_of(*result.record);
  result = std::move(essence);
}
void shorten(ProfileTaken& event) {
  event.profile = {};
  event.headroom.reset();
}

template <class T>
void push_bounded(std::deque<T>& queue, T element, std::size_t most) {
  queue.push_back(std::move(element));
  if (queue.size() > most) queue.pop_front();
}

milliseconds since(JournalClock::Time then, JournalClock::Time now) {
  return std::max(std::chrono::duration_cast<milliseconds>(now - then), milliseconds{0});
}

}  // namespace

void RunFollower::see(Event event, std::optional<Time> appeared) {
  const auto time = parse_utc(event.time).value_or(clock_.newest().value_or(Time{}));
  if (appeared)
    clock_.see_new(time, *appeared);
  else
    clock_.see_old(time);
  note_session(event, time);
  note_attempt(event, time);
  const auto* finished = std::get_if<ActionFinished>(&event.body);
  if (finished != nullptr) note_finished(finished->result, time);
  std::visit([](auto& body) { shorten(body); }, event.body);
  const auto* changed = std::get_if<BestChanged>(&event.body);
  apply(state_, event);
  if (changed != nullptr) {
    const auto best = state_.history.find(changed->action_id);
    best_score_ = best == state_.history.end() ? std::nullopt : best->second.score();
  }
  if (finished != nullptr) forget_old_attempts();
}

void RunFollower::note_session(const Event& event, Time time) {
  const bool restarts = std::holds_alternative<RunStarted>(event.body);
  if (begins_session(event.body)) {
    sessions_.emplace_back(time, time);
    if (sessions_.size() > k_max_sessions) {
      sessions_[1].first = sessions_[0].first;
      sessions_.erase(sessions_.begin());
    }
    waiting_.clear();
    outage_.clear();
  } else if (!sessions_.empty()) {
    sessions_.back().second = std::max(sessions_.back().second, time);
  }
  if (restarts) {
    attempts_.clear();
    open_times_.clear();
    best_score_.reset();
    finished_ = failed_ = forgotten_ = 0;
  }
}

void RunFollower::note_attempt(const Event& event, Time time) {
  const auto touch = [&](int number, bool waits) {
    open_times_[number] = time;
    if (waits)
      waiting_.insert(number);
    else
      waiting_.erase(number);
  };
  const auto fail = [&](int number, const std::string& message) {
    note_error(MonitorErrorKind::Model, action_id(number), message, time);
  };
  if (const auto* issued = std::get_if<ActionIssued>(&event.body)) touch(issued->number, false);
  if (const auto* sent = std::get_if<RequestSent>(&event.body)) {
    push_bounded(requests_, time, k_max_recent);
    touch(sent->number, false);
  }
  if (const auto* pending = std::get_if<RequestPending>(&event.body)) {
    // It is asked for again, which is the same request.
    if (!requests_.empty()) requests_.pop_back();
    touch(pending->number, true);
  }
  if (const auto* unknown = std::get_if<RequestUnknown>(&event.body)) {
    ++unanswered_;
    touch(unknown->number, false);
  }
  if (const auto* deferred = std::get_if<RequestDeferred>(&event.body)) {
    touch(deferred->number, true);
    outage_ = watched_line(deferred->message);
    fail(deferred->number, deferred->message);
  }
  if (const auto* failed = std::get_if<RequestFailed>(&event.body)) {
    touch(failed->number, false);
    fail(failed->number, failed->message);
  }
  if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) {
    touch(arrived->number, false);
    outage_.clear();
  }
}

void RunFollower::note_finished(const ActionResult& result, Time time) {
  open_times_.erase(result.number);
  waiting_.erase(result.number);
  const auto report = report_attempt(result);
  MonitoredAttempt attempt{.number = result.number,
                           .id = watched_line(report.id, k_watched_name),
                           .result_class = watched_line(report.result_class, k_watched_name),
                           .failed = report.failed(),
                           .score = report.score,
                           .message = watched_line(report.message)};
  // A winner finishes again when it has been watched.
  const bool again = attempts_.contains(result.number);
  if (!again) ++finished_;
  if (attempt.failed && !(again && attempts_[result.number].first.failed)) {
    ++failed_;
    if (failures_.size() < k_max_classes || failures_.contains(attempt.result_class)) ++failures_[attempt.result_class];
    const bool is_judged = result.status != ActionStatus::NotJudged && result.status != ActionStatus::ModelFailed;
    const auto text = attempt.message.empty() ? attempt.result_class : attempt.result_class + ": " + attempt.message;
    if (result.status != ActionStatus::ModelFailed)
      note_error(is_judged ? MonitorErrorKind::Kernel : MonitorErrorKind::Machinery, attempt.id, text, time);
  }
  attempts_[result.number] = {std::move(attempt), time};
  if (!again && result.record && result.status == ActionStatus::Evaluated) note_device(*result.record, time);
}

void RunFollower::note_device(const EvaluationRecord& record, Time time) {
  constexpr std::size_t k_max_devices = 64;
  const auto& environment = record.environment;
  if (environment.device.empty()) return;
  auto name = watched_line(environment.device, k_watched_name);
  if (!environment.device_uuid.empty()) name += " " + watched_line(environment.device_uuid, k_watched_name);
  if (devices_.size() >= k_max_devices && !devices_.contains(name)) return;
  auto& device = devices_[name];
  const auto busy = device_time_of(record);
  ++device.evaluations;
  device.busy += busy;
  push_bounded(device.recent, {time, busy}, k_max_recent);
}

void RunFollower::note_error(MonitorErrorKind kind, const std::string& action, const std::string& message, Time time) {
  push_bounded(
      errors_[kind],
      {time,
       {.kind = kind, .run = "", .action = watched_line(action, k_watched_name), .message = watched_line(message)}},
      k_max_errors);
}

void RunFollower::forget_old_attempts() {
  if (attempts_.size() <= k_max_attempts) return;
  const auto oldest = attempts_.begin();
  const bool is_best = oldest->second.first.id == state_.best;
  const auto victim = is_best ? std::next(oldest) : oldest;
  state_.history.erase(victim->second.first.id);
  attempts_.erase(victim);
  ++forgotten_;
}

std::string RunFollower::action_id(int number) const {
  const auto open = state_.open.find(number);
  return open == state_.open.end() ? "" : open->second.action.id;
}

MonitorPhase RunFollower::phase_of(int number, const OpenAction& action) const {
  if (action.in_flight) return MonitorPhase::Asking;
  if (action.reply) return MonitorPhase::Judging;
  return waiting_.contains(number) ? MonitorPhase::Waiting : MonitorPhase::Deciding;
}

CampaignRunStatus RunFollower::status(const std::optional<Time>& paused_by) const {
  if (!state_.started) return CampaignRunStatus::NotBegun;
  if (state_.finished) {
    if (state_.finished->reached) return CampaignRunStatus::Success;
    return state_.best.empty() ? CampaignRunStatus::Failed : CampaignRunStatus::Partial;
  }
  if (paused_by && clock_.newest() && *clock_.newest() <= *paused_by) return CampaignRunStatus::Paused;
  const bool all_wait =
      !state_.open.empty() && std::all_of(state_.open.begin(), state_.open.end(), [&](const auto& entry) {
        return phase_of(entry.first, entry.second) == MonitorPhase::Waiting;
      });
  return all_wait ? CampaignRunStatus::Paused : CampaignRunStatus::Running;
}

void RunFollower::add_attempts(MonitoredRun& run, Time now) const {
  for (const auto& [number, finished] : attempts_) {
    run.attempts.push_back(finished.first);
    run.attempts.back().age = since(finished.second, now);
  }
  for (const auto& [number, open] : state_.open) {
    const auto phase = phase_of(number, open);
    const auto time = open_times_.find(number);
    run.attempts.push_back({.number = number,
                            .id = watched_line(open.action.id, k_watched_name),
                            .phase = phase,
                            .age = time == open_times_.end() ? milliseconds{0} : since(time->second, now)});
    if (run.status == CampaignRunStatus::Running) ++run.phases[phase];
  }
  std::sort(run.attempts.begin(), run.attempts.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
}

MonitoredRun RunFollower::view(Time ours, const std::optional<Time>& paused_by) const {
  MonitoredRun run;
  run.status = status(paused_by);
  if (state_.started) {
    run.target = to_string(state_.started->target);
    run.policy = watched_line(state_.started->policy, k_watched_name);
    run.model = watched_line(model_identity(state_.started->model), k_watched_name);
  }
  run.best = watched_line(state_.best, k_watched_name);
  run.best_score = best_score_;
  run.finished_attempts = finished_;
  run.failed_attempts = failed_;
  run.spent = state_.spent;
  run.unanswered = unanswered_;
  run.reason = state_.finished ? watched_line(state_.finished->reason) : outage_;
  run.omitted_attempts = forgotten_;
  const auto now = clock_.now(ours);
  if (!now) return run;
  run.silent = since(*clock_.newest(), *now);
  if (run.status == CampaignRunStatus::Running) {
    run.spent.time += std::min<milliseconds>(*run.silent, k_longest_silence);
    if (state_.open.empty()) ++run.phases[state_.task ? MonitorPhase::Deciding : MonitorPhase::Preparing];
  }
  add_attempts(run, *now);
  return run;
}

std::vector<SessionTime> RunFollower::sessions(Time ours, bool in_progress) const {
  auto sessions = sessions_;
  if (const auto now = clock_.now(ours); now && in_progress && !sessions.empty())
    sessions.back().second = std::max(sessions.back().second, std::min(*now, *clock_.newest() + k_longest_silence));
  return sessions;
}

int RunFollower::recent_requests(Time ours) const {
  const auto now = clock_.now(ours);
  if (!now) return 0;
  return static_cast<int>(
      std::count_if(requests_.begin(), requests_.end(), [&](Time time) { return time > *now - k_monitor_window; }));
}

}  // namespace v0
}  // namespace kernelgen
