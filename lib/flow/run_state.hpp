#pragma once

/// \file
/// The state of a run as its events define it. Pure: the engine, a resumed engine and a reader of the journal compute
/// the same.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace v0 {

/// An action that was issued and has not finished.
struct OpenAction {
  Action action;
  Prompt prompt;
  /// True if a request was sent and has no reply or error yet.
  bool in_flight = false;
  std::optional<Reply> reply{};
  /// Sequence number of the reply within the run. Of two equal candidates the one with the lower number is judged.
  int arrival = 0;
  /// Number of timeouts of the request while other requests were answered.
  int timeouts = 0;
  /// True if the request timed out and no other one has been answered since, so that the endpoint may be down.
  bool timed_out = false;
  /// Number of replies of the run when the request was sent last.
  int replies_when_sent = 0;
  /// True if the request was deferred at least once.
  bool was_deferred = false;
  /// True if the last request failed by an outage without being deferred, as in earlier versions.
  bool failed_by_outage = false;
};

/// The tokens of one request, estimated if the provider does not report them.
struct TokenCount {
  std::int64_t input = 0;
  /// Part of the input.
  std::int64_t cached = 0;
  std::int64_t output = 0;
};
[[nodiscard]] TokenCount tokens_of(const Reply& reply, const Prompt& prompt);
[[nodiscard]] inline std::int64_t total_of(const TokenCount& tokens) { return tokens.input + tokens.output; }

struct RunState {
  std::optional<RunStarted> started;
  std::optional<TaskDescribed> task;
  /// Open actions by number.
  std::map<int, OpenAction> open;
  History history;
  std::string best;
  int last_number = 0;
  ResourceUsage spent;
  std::optional<RunFinished> finished;
  /// True if the run ended because a budget was used up.
  bool exhausted = false;
  /// Number of replies so far. Without one, a run can start over without losing anything.
  int replies = 0;
  /// Number of times that the run was continued.
  int continuations = 0;
  /// Ids of the actions that began before it was continued last.
  std::set<std::string> earlier;
  /// Ids of finished actions that an earlier version gave up because of an outage.
  std::set<std::string> ended_by_outage;

  /// Maximal number of evaluations that the open actions still need.
  [[nodiscard]] std::int64_t open_evaluations() const;
  /// True if the action has been issued, finished or not.
  [[nodiscard]] bool has_action(const std::string& action_id) const;

 private:
  friend void apply(RunState& state, const Event& event);
  /// Start of the current session.
  std::optional<std::chrono::system_clock::time_point> session_started_;
  std::chrono::milliseconds earlier_sessions_{0};
};

/// True for events with which a session begins: RunStarted, RunResumed, RunContinued.
[[nodiscard]] bool begins_session(const EventBody& body);

/// Adds an event to the state.
void apply(RunState& state, const Event& event);

/// The model's identity in RunStarted::model. Earlier versions appended the endpoint to it: "openai gpt-5 at
/// localhost:8000", "command /bin/my-model", "mailbox /tmp/mail", "replay replies.jsonl".
[[nodiscard]] std::string model_identity(const std::string& recorded);

}  // namespace v0
}  // namespace kernelgen
