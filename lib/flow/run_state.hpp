#pragma once

/// \file
/// What the events of a run add up to. Pure: the engine, a resumed engine and a reader of the journal see the same.

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
  /// A request left and nothing came back yet.
  bool in_flight = false;
  std::optional<Reply> reply{};
  /// Place of the reply among all replies of the run. Of two equal candidates the one that arrived first is judged,
  /// whatever happens between its arrival and its verdict.
  int arrival = 0;
  /// How often the request timed out while other requests were answered.
  int timeouts = 0;
  /// The request timed out, and no other one has been answered since: the endpoint may be down.
  bool timed_out = false;
  /// Replies of the run when the request was sent last.
  int replies_when_sent = 0;
  /// The request was deferred at least once.
  bool was_deferred = false;
  /// The last request failed by an outage and was not deferred, as earlier versions did.
  bool failed_by_outage = false;
};

/// The tokens of one request, estimated where the provider does not say.
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
  /// By number.
  std::map<int, OpenAction> open;
  History history;
  std::string best;
  int last_number = 0;
  Spent spent;
  std::optional<RunFinished> finished;
  /// The run ended because a budget did, not because the policy was done.
  bool exhausted = false;
  /// Replies so far. While there is none, nothing would be lost by beginning anew.
  int replies = 0;
  /// Finished actions that an earlier version gave up because of an outage.
  std::set<std::string> ended_by_outage;

  /// Candidates that may yet be evaluated.
  [[nodiscard]] std::int64_t open_evaluations() const;
  /// Whether the action has been issued, finished or not.
  [[nodiscard]] bool knows(const std::string& action_id) const;

 private:
  friend void apply(RunState& state, const Event& event);
  /// When the current session began.
  std::optional<std::chrono::system_clock::time_point> session_started_;
  std::chrono::milliseconds earlier_sessions_{0};
};

/// Adds an event.
void apply(RunState& state, const Event& event);

/// The model's identity in RunStarted::model. Earlier versions wrote where it was asked behind it: "openai gpt-5 at
/// localhost:8000", "command /bin/my-model", "mailbox /tmp/mail", "replay replies.jsonl".
[[nodiscard]] std::string model_identity(const std::string& recorded);

}  // namespace v0
}  // namespace kernelgen
