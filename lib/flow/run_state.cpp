#include "flow/run_state.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <kernelgen/llm/llm_client.hpp>
#include <kernelgen/store/journal.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

/// A second start discards the search before it, but keeps its numbers and its use of resources.
void add(RunState& state, const RunStarted& event) {
  state.started = event;
  state.task.reset();
  state.open.clear();
  state.history.clear();
  state.best.clear();
  state.finished.reset();
  state.ended_by_outage.clear();
  state.continuations = 0;
  state.earlier.clear();
}
void add(RunState& state, const RunResumed&) { state.finished.reset(); }
/// What is open stays open, and belongs to the time before.
void add(RunState& state, const RunContinued& event) {
  if (!state.started) return;
  state.started->kernelgen_version = event.kernelgen_version;
  state.started->policy = event.policy;
  state.started->options = event.options;
  state.started->model = event.model;
  state.finished.reset();
  state.ended_by_outage.clear();
  ++state.continuations;
  for (const auto& [id, result] : state.history) state.earlier.insert(id);
  for (const auto& [number, open] : state.open) state.earlier.insert(open.action.id);
}
void add(RunState& state, const TaskDescribed& event) { state.task = event; }
void add(RunState& state, const ActionIssued& event) {
  state.open[event.number] = {.action = event.action, .prompt = event.prompt};
  state.last_number = std::max(state.last_number, event.number);
}
void add(RunState& state, const RequestSent& event) {
  auto& action = state.open[event.number];
  action.in_flight = true;
  action.replies_when_sent = state.replies;
  action.failed_by_outage = false;
  ++state.spent.requests;
}
void add(RunState& state, const RequestPending& event) {
  state.open[event.number].in_flight = false;
  --state.spent.requests;
}
void add(RunState& state, const RequestUnknown& event) { state.open[event.number].in_flight = false; }
void add(RunState& state, const RequestDeferred& event) {
  auto& action = state.open[event.number];
  action.in_flight = false;
  action.was_deferred = true;
  if (event.code != ErrorCode::Timeout) {
    // A refused request costs nothing. One that timed out may have to be paid.
    --state.spent.requests;
  } else if (state.replies > action.replies_when_sent) {
    ++action.timeouts;
  } else {
    action.timed_out = true;
  }
}
void add(RunState& state, const ReplyArrived& event) {
  auto& action = state.open[event.number];
  action.in_flight = false;
  action.reply = event.reply;
  action.arrival = ++state.replies;
  state.spent.tokens += total_of(tokens_of(event.reply, action.prompt));
  state.spent.cost += event.cost.value_or(0);
  // The endpoint answers, so earlier timeouts were of the requests themselves.
  for (auto& [number, other] : state.open)
    if (std::exchange(other.timed_out, false)) ++other.timeouts;
}
void add(RunState& state, const RequestFailed& event) {
  auto& action = state.open[event.number];
  action.in_flight = false;
  action.failed_by_outage = is_outage(event.code) && !action.was_deferred;
}
void add(RunState& state, const ActionFinished& event) {
  const auto& result = event.result;
  const auto open = state.open.find(result.number);
  const bool outage = result.status == ActionStatus::ModelFailed && open != state.open.end();
  if (outage && open->second.failed_by_outage) state.ended_by_outage.insert(result.action.id);
  state.open.erase(result.number);
  // A winner finishes again when it has been watched.
  if (!state.history.insert_or_assign(result.action.id, result).second) return;
  if (result.status == ActionStatus::Evaluated || result.status == ActionStatus::NotJudged) ++state.spent.evaluations;
}
void add(RunState& state, const ActionReopened& event) {
  state.ended_by_outage.erase(event.action_id);
  state.history.erase(event.action_id);
}
void add(RunState& state, const ProfileTaken& event) {
  const auto found = state.history.find(event.action_id);
  if (found == state.history.end()) return;
  found->second.profile = event.profile;
  if (event.headroom) found->second.headroom = event.headroom;
}
void add(RunState& state, const BestChanged& event) { state.best = event.action_id; }
void add(RunState& state, const BudgetExhausted&) { state.exhausted = true; }
void add(RunState& state, const RunFinished& event) { state.finished = event; }

}  // namespace

TokenCount tokens_of(const Reply& reply, const Prompt& prompt) {
  constexpr std::int64_t k_bytes_per_token = 4;
  const auto written = static_cast<std::int64_t>(reply.text.size()) / k_bytes_per_token;
  return {.input = reply.usage.input_tokens.value_or(prompt.estimated_tokens),
          .cached = reply.usage.cached_tokens.value_or(0),
          .output = reply.usage.output_tokens.value_or(written)};
}

std::int64_t RunState::open_evaluations() const {
  return std::count_if(open.begin(), open.end(), [](const auto& entry) {
    const auto kind = entry.second.action.kind;
    return kind != PromptKind::Analysis && kind != PromptKind::Critic;
  });
}

bool RunState::has_action(const std::string& action_id) const {
  return history.contains(action_id) ||
         std::any_of(open.begin(), open.end(), [&](const auto& entry) { return entry.second.action.id == action_id; });
}

bool begins_session(const EventBody& body) {
  return std::holds_alternative<RunStarted>(body) || std::holds_alternative<RunResumed>(body) ||
         std::holds_alternative<RunContinued>(body);
}

void apply(RunState& state, const Event& event) {
  const auto time = parse_utc(event.time);
  if (begins_session(event.body)) {
    state.earlier_sessions_ = state.spent.time;
    state.session_started_ = time;
    state.exhausted = false;
  } else if (time && state.session_started_) {
    using std::chrono::milliseconds;
    const auto passed = std::chrono::duration_cast<milliseconds>(*time - *state.session_started_);
    // The time never decreases, even if the clock was set back.
    state.spent.time = std::max(state.spent.time, state.earlier_sessions_ + std::max(passed, milliseconds{0}));
  }
  std::visit([&](const auto& body) { add(state, body); }, event.body);
}

std::string model_identity(const std::string& recorded) {
  const auto blank = recorded.find(' ');
  if (blank == recorded.npos) return recorded;
  auto kind = recorded.substr(0, blank);
  if (kind == "mailbox" || kind == "replay") return kind;
  if (kind == "command") return kind + ' ' + std::filesystem::path(recorded.substr(blank + 1)).filename().string();
  const auto at = recorded.rfind(" at ");
  return kind == "openai" && at != recorded.npos ? recorded.substr(0, at) : recorded;
}

}  // namespace v0
}  // namespace kernelgen
