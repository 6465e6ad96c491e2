#pragma once

/// \file
/// What the events of a run add up to. Pure: the engine, a resumed engine and a reader of the journal see the same.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace v0 {

/// An action that was issued and has not finished.
struct OpenAction {
  Action action;
  Prompt prompt;
  /// A request left and nothing came back yet.
  bool in_flight = false;
  std::optional<Reply> reply;
};

/// The tokens of one request, estimated where the provider does not say.
struct TokenCount {
  std::int64_t input = 0;
  /// Among the input.
  std::int64_t cached = 0;
  std::int64_t output = 0;
};
[[nodiscard]] TokenCount tokens_of(const Reply& reply, const Prompt& prompt);
[[nodiscard]] inline std::int64_t total_of(const TokenCount& tokens) { return tokens.input + tokens.output; }

/// What a run has spent.
struct Spent {
  std::int64_t tokens = 0;
  std::int64_t requests = 0;
  std::int64_t evaluations = 0;
  double cost = 0;
  std::chrono::milliseconds time{0};
};

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

  /// Whether any model was ever heard; until then nothing would be lost by beginning anew.
  bool answered = false;

  /// Candidates that may yet be evaluated.
  [[nodiscard]] std::int64_t open_evaluations() const;
  /// Whether the action has been issued, finished or not.
  [[nodiscard]] bool knows(const std::string& action_id) const;

 private:
  friend void apply(RunState& state, const Event& event);
  /// Of the session that is going on.
  std::optional<std::chrono::system_clock::time_point> session_started_;
  std::chrono::milliseconds earlier_sessions_{0};
};

/// Adds an event.
void apply(RunState& state, const Event& event);

}  // namespace v0
}  // namespace kernelgen
