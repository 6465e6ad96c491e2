#pragma once

/// \file
/// The messages between a client and `kgen worker`: framed JSON over any byte stream. docs/protocol.md is the
/// specification. Everything here is pure: bytes in, messages out, no I/O.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

#include "bench/prebuilt.hpp"
#include "bench/profiling.hpp"

namespace kernelgen {
inline namespace v0 {

/// The version of the protocol. It is raised when an old peer would misunderstand a new one; additions that can be
/// ignored do not raise it.
constexpr int k_worker_protocol_version = 1;

/// Identifies a request within one connection; chosen by the client, repeated in every answer.
using RequestId = std::uint64_t;

/// Worker to client: the first message, unasked.
struct HelloMessage {
  int protocol = k_worker_protocol_version;
  std::string kernelgen_version;
  /// "cpu: AMD EPYC, 2 cores"
  std::string device;
  std::int64_t pid = 0;
};

/// Client to worker: judge a candidate. Answered by progress (any number of times) and then one record or error.
/// The path of the task and the candidate's prompt and reply are not sent.
struct EvaluateMessage {
  RequestId id = 0;
  EvaluationRequest request;
  /// Set if the client built the candidate. Then the message has the type "evaluate_prebuilt", which a worker of an
  /// earlier version refuses: it would ignore a member, and judge a build of its own.
  std::optional<Prebuilt> prebuilt{};
};

/// Client to worker: build and run the reference only. Answered by one description or error.
struct DescribeMessage {
  RequestId id = 0;
  TaskSource task;
  EvaluationOptions options;
};

/// Client to worker: profile a candidate, in the sandbox. Answered by one "profiled" or error. A worker of an earlier
/// version answers with the error Unsupported.
struct ProfileMessage {
  RequestId id = 0;
  RemoteProfileRequest request;
};

/// Client to worker: give up a request. It is still answered, usually by an error "cancelled".
struct CancelMessage {
  RequestId id = 0;
};

/// In both directions: asks whether the peer still answers. The answer is a pong with the same id.
struct PingMessage {
  RequestId id = 0;
};
struct PongMessage {
  RequestId id = 0;
};

/// Client to worker: finish. The end of the stream means the same.
struct ShutdownMessage {};

/// Worker to client: the step that a request has reached.
struct ProgressMessage {
  RequestId id = 0;
  EvaluationProgress progress;
};

/// Worker to client: the verdict.
struct RecordMessage {
  RequestId id = 0;
  EvaluationRecord record;
};

/// Worker to client: the judge's description of a task.
struct DescriptionMessage {
  RequestId id = 0;
  TaskDescription description;
};

/// Worker to client: the profile, or the reason why there is none.
struct ProfiledMessage {
  RequestId id = 0;
  Profile profile;
};

/// Worker to client: the machinery failed, or a message was not valid. Without an id it concerns a message with an
/// unreadable id, or the stream itself, which then ends.
struct ErrorMessage {
  std::optional<RequestId> id;
  Error error;
};

/// A message of a type that this version does not know. A client ignores it; a worker answers with an error
/// "unsupported".
struct UnknownMessage {
  std::string type;
  std::optional<RequestId> id;
  /// The whole message as it came.
  std::string json;
};

using Message = std::variant<HelloMessage, EvaluateMessage, DescribeMessage, ProfileMessage, CancelMessage, PingMessage,
                             PongMessage, ShutdownMessage, ProgressMessage, RecordMessage, DescriptionMessage,
                             ProfiledMessage, ErrorMessage, UnknownMessage>;

/// The answer to a request: a message with its result, or with its error.
template <class Answer, class Value>
[[nodiscard]] Message answer_to(RequestId id, Result<Value> result) {
  if (result) return Answer{id, *std::move(result)};
  return ErrorMessage{id, std::move(result).error()};
}

/// The stable name of a message's type: "hello", "evaluate", ...
[[nodiscard]] std::string_view type_of(const Message& message);

/// A message as JSON text on one line.
[[nodiscard]] std::string to_json(const Message& message);
/// Reads one message. Protocol error for anything that is not one; unknown members are ignored.
[[nodiscard]] Result<Message> parse_message(std::string_view text);

/// The bytes of one frame that carries the message. InvalidArgument when it is larger than a frame may be (64 MiB).
[[nodiscard]] Result<std::string> encode_message(const Message& message);

/// Splits a byte stream into messages. One thread at a time.
class MessageDecoder {
 public:
  MessageDecoder();
  ~MessageDecoder();
  MessageDecoder(MessageDecoder&&) noexcept;
  MessageDecoder& operator=(MessageDecoder&&) noexcept;

  /// Adds bytes that arrived; any number, split anywhere.
  void feed(std::string_view bytes);
  /// The next whole message; nothing while more bytes are needed. A Protocol error is about one message, which is
  /// skipped, or about the framing: then is_lost(), and every further call gives that error.
  [[nodiscard]] Result<std::optional<Message>> next();
  /// Whether the framing is lost, so that no further message can be found.
  [[nodiscard]] bool is_lost() const;
  /// The id of the message that the last error of next() was about; nothing where it could not be read.
  [[nodiscard]] std::optional<RequestId> failed_id() const;
  /// Whether a part of a message has arrived: an end of stream now means that the peer died while it was writing.
  [[nodiscard]] bool has_partial_message() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace v0
}  // namespace kernelgen
