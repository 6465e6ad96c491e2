#pragma once

/// \file
/// What happens in a run, one value an event. The journal is a list of them; history is computed from them alone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The first event of a run: what a resumed run must have in common with it.
struct RunStarted {
  std::string kernelgen_version;
  TaskSource task;
  Target target = Target::Cpp;
  std::string policy;
  /// Everything that steers the run, as sorted `name value` lines; a difference is shown by name.
  std::vector<std::pair<std::string, std::string>> options;
  /// LLMClient::identity(). Earlier versions wrote the endpoint behind it: "openai gpt-5 at localhost:8000".
  std::string model;
};

/// A run that was started before goes on, perhaps in another process. The time between sessions does not count.
struct RunResumed {
  std::string kernelgen_version;
};

/// What prompts are made of besides the task: asked once, so that a resumed run builds the same ones.
struct TaskDescribed {
  TaskDescription description;
  std::vector<std::pair<std::string, std::string>> device;
  /// What floors are computed from; absent for a CPU, or where it is unknown.
  std::optional<GpuFacts> gpu;
  /// Threads that a kernel may use. 0: written by an earlier version, which did not record it.
  int threads = 0;
};

/// An action got its number, and its prompt was built.
struct ActionIssued {
  int number = 0;
  Action action;
  Prompt prompt;
};

/// Written before a request leaves. A request that has no answer when the process ends may have been paid for.
struct RequestSent {
  int number = 0;
};

/// The request is answered elsewhere, and waiting was not wanted. A resumed run asks for the answer again; it is the
/// same request then.
struct RequestPending {
  int number = 0;
};

/// Written at resume for each request that was in flight: whether it was answered, and paid for, is unknown.
struct RequestUnknown {
  int number = 0;
};

/// The reply, whole. Written before anything looks at it.
struct ReplyArrived {
  int number = 0;
  Reply reply;
  /// By the prices of that time; absent without prices.
  std::optional<double> cost;
  /// LLMClient::endpoint().
  std::string endpoint{};
};

/// The request will get no reply: what it asks is refused, or other requests were answered while it timed out again and
/// again.
struct RequestFailed {
  int number = 0;
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::string endpoint{};
};

/// The endpoint gave no answer. The action stays open, and is asked again when others are answered or the run is
/// resumed.
struct RequestDeferred {
  int number = 0;
  ErrorCode code = ErrorCode::Unavailable;
  std::string message;
  std::string endpoint{};
};

/// An action that had ended without a reply because of an outage, as earlier versions recorded it, is to be asked
/// again.
struct ActionReopened {
  std::string action_id;
};

/// Everything that came of an action. The next decision may use it.
struct ActionFinished {
  ActionResult result;
};

/// A kernel was profiled, or could not be. The next decision may use it.
struct ProfileTaken {
  std::string action_id;
  Profile profile;
  /// Replaces that of the result: it knows the launches.
  std::optional<Headroom> headroom;
};

/// Another candidate is the best one now.
struct BestChanged {
  std::string action_id;
};

/// A budget ran out; nothing more is issued.
struct BudgetExhausted {
  /// "tokens", "requests", "evaluations", "cost", "seconds".
  std::string which;
  std::string message;
};

/// The search is over.
struct RunFinished {
  std::string reason;
  /// Whether the goal was reached.
  bool reached = false;
};

using EventBody = std::variant<RunStarted, RunResumed, TaskDescribed, ActionIssued, RequestSent, RequestPending,
                               RequestUnknown, ReplyArrived, RequestFailed, ActionFinished, BestChanged,
                               BudgetExhausted, RunFinished, ProfileTaken, RequestDeferred, ActionReopened>;

/// One line of events.jsonl.
struct Event {
  /// UTC, ISO 8601, to the millisecond; given by the journal.
  std::string time;
  EventBody body;
};

/// The stable name: "run_started", "reply_arrived", ...
[[nodiscard]] std::string_view type_of(const EventBody& body);

/// One line of JSON without its end, with "schema", "type" and "time".
[[nodiscard]] std::string to_json(const Event& event);
/// Reads what to_json wrote, in this or an older schema. InvalidArgument for anything else; a newer schema is
/// Unsupported.
[[nodiscard]] Result<Event> parse_event(std::string_view line);

}  // namespace v0
}  // namespace kernelgen
