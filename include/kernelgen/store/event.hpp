#pragma once

/// \file
/// Events of a run, one value each. The journal is a list of them; history is computed from them alone.

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

/// The first event of a run: the settings that a resumed run must have in common with it.
struct RunStarted {
  std::string kernelgen_version;
  TaskSource task;
  Target target = Target::Cpp;
  std::string policy;
  /// Every option that affects the run, as sorted `name value` lines; a difference is shown by name.
  std::vector<std::pair<std::string, std::string>> options;
  /// LLMClient::identity(). Earlier versions appended the endpoint: "openai gpt-5 at localhost:8000".
  std::string model;
};

/// The run goes on, perhaps in another process. The time between sessions does not count.
struct RunResumed {
  std::string kernelgen_version;
};

/// The inputs of prompts besides the task: recorded once, so that a resumed run builds the same ones.
struct TaskDescribed {
  TaskDescription description;
  std::vector<std::pair<std::string, std::string>> device;
  /// The device for lower bounds; absent for a CPU, or where it is unknown.
  std::optional<GpuFacts> gpu;
  /// Threads that a kernel may use. 0: an earlier version wrote the event, and did not record it.
  int threads = 0;
};

/// An action got its number, and its prompt was built.
struct ActionIssued {
  int number = 0;
  Action action;
  Prompt prompt;
};

/// A request is about to be sent. Without an answer when the process ends, it may have been paid for.
struct RequestSent {
  int number = 0;
};

/// The request is answered elsewhere, and the caller did not want to wait. A resumed run asks for the answer to the
/// same request again.
struct RequestPending {
  int number = 0;
};

/// Written at resume for each request that was in flight: whether it was answered, and paid for, is unknown.
struct RequestUnknown {
  int number = 0;
};

/// The whole reply. Written before it is used.
struct ReplyArrived {
  int number = 0;
  Reply reply;
  /// Cost by the prices at that time; absent without prices.
  std::optional<double> cost;
  /// LLMClient::endpoint().
  std::string endpoint{};
  /// The prices that `cost` follows from.
  std::optional<Prices> prices{};
};

/// The request will get no reply: the provider refuses it, or it timed out repeatedly while other requests were
/// answered.
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

/// An action that earlier versions recorded as ended, because an outage left it without a reply, is to be asked again.
struct ActionReopened {
  std::string action_id;
};

/// The result of an action. The next decision may use it.
struct ActionFinished {
  ActionResult result;
};

/// A kernel was profiled, or could not be. The next decision may use it.
struct ProfileTaken {
  std::string action_id;
  Profile profile;
  /// Replaces the result's headroom, because it takes the launches into account.
  std::optional<Headroom> headroom;
};

/// A new best candidate.
struct BestChanged {
  std::string action_id;
};

/// A budget is used up; no further action is issued.
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

/// The run goes on with other options, or after its end: a new epoch. What was done before stays; these settings
/// replace those of RunStarted for resumed runs. The task and the target stay.
struct RunContinued {
  std::string kernelgen_version;
  std::string policy;
  /// Every option that affects the run from here on, as in RunStarted.
  std::vector<std::pair<std::string, std::string>> options;
  std::string model;
};

/// What may happen. New kinds are added at the end.
using EventBody =
    std::variant<RunStarted, RunResumed, TaskDescribed, ActionIssued, RequestSent, RequestPending, RequestUnknown,
                 ReplyArrived, RequestFailed, ActionFinished, BestChanged, BudgetExhausted, RunFinished, ProfileTaken,
                 RequestDeferred, ActionReopened, RunContinued>;

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
/// Reads the output of to_json(), of this or an older schema. InvalidArgument for anything else; a newer schema is
/// Unsupported.
[[nodiscard]] Result<Event> parse_event(std::string_view line);

}  // namespace v0
}  // namespace kernelgen
