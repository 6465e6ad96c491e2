#include "flow/run_state.hpp"

#include <algorithm>

#include <kernelgen/store/journal.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

/// A later beginning forgets the search before it, but neither its numbers nor what it spent.
void add(RunState& state, const RunStarted& event) {
  state.started = event;
  state.task.reset();
  state.open.clear();
  state.history.clear();
  state.best.clear();
  state.finished.reset();
}
void add(RunState& state, const RunResumed&) { state.finished.reset(); }
void add(RunState& state, const TaskDescribed& event) { state.task = event; }
void add(RunState& state, const ActionIssued& event) {
  state.open[event.number] = {event.action, event.prompt, false, std::nullopt};
  state.last_number = std::max(state.last_number, event.number);
}
void add(RunState& state, const RequestSent& event) {
  state.open[event.number].in_flight = true;
  ++state.spent.requests;
}
void add(RunState& state, const RequestPending& event) {
  state.open[event.number].in_flight = false;
  --state.spent.requests;
}
void add(RunState& state, const RequestUnknown& event) { state.open[event.number].in_flight = false; }
void add(RunState& state, const ReplyArrived& event) {
  auto& action = state.open[event.number];
  action.in_flight = false;
  action.reply = event.reply;
  state.answered = true;
  state.spent.tokens += total_of(tokens_of(event.reply, action.prompt));
  state.spent.cost += event.cost.value_or(0);
}
void add(RunState& state, const RequestFailed& event) { state.open[event.number].in_flight = false; }
void add(RunState& state, const ActionFinished& event) {
  state.open.erase(event.result.number);
  state.history[event.result.action.id] = event.result;
  if (event.result.status == ActionStatus::Evaluated || event.result.status == ActionStatus::NotJudged)
    ++state.spent.evaluations;
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

bool RunState::knows(const std::string& action_id) const {
  return history.contains(action_id) ||
         std::any_of(open.begin(), open.end(), [&](const auto& entry) { return entry.second.action.id == action_id; });
}

void apply(RunState& state, const Event& event) {
  const bool session = std::holds_alternative<RunStarted>(event.body) || std::holds_alternative<RunResumed>(event.body);
  const auto time = parse_utc(event.time);
  if (session) {
    state.earlier_sessions_ = state.spent.time;
    state.session_started_ = time;
    state.exhausted = false;
  } else if (time && state.session_started_) {
    using std::chrono::milliseconds;
    const auto passed = std::chrono::duration_cast<milliseconds>(*time - *state.session_started_);
    // A clock that was set back takes nothing away.
    state.spent.time = std::max(state.spent.time, state.earlier_sessions_ + std::max(passed, milliseconds{0}));
  }
  std::visit([&](const auto& body) { add(state, body); }, event.body);
}

}  // namespace v0
}  // namespace kernelgen
