#pragma once

/// \file
/// The ways to ask a model. Each factory checks its options; a client that exists works.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/waiting.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Bounds of the attempts within one request. Which failures are tried again, and how often, is a table in
/// docs/models.md.
struct RetryOptions {
  /// Limit for every kind of failure; 1: a request is one attempt.
  int max_attempts = 5;
  /// Unit of the waits between attempts.
  std::chrono::milliseconds base{500};
  /// Longest wait between two attempts. A server that asks for a longer one (Retry-After) is not waited for: the
  /// request fails at once.
  std::chrono::milliseconds longest{60'000};
};

/// Any server with OpenAI's chat completions.
struct OpenAIClientOptions {
  /// Up to and including the version: "https://api.openai.com/v1", "http://localhost:8000/v1".
  std::string base_url;
  std::string model;
  /// Sent as a bearer token; empty: none. Never logged, never in a message.
  std::string api_key;
  RetryOptions retry;
  /// An attempt is given up when an answer that has begun stops for so long. Before its first byte only the request's
  /// own timeout counts: the answer comes in one piece, a model that thinks sends nothing, and its work would be paid
  /// twice.
  std::chrono::milliseconds idle_timeout{120'000};
  /// "http://proxy:3128"; empty: none. The library does not look into the environment; make_llm_client does.
  std::string proxy{};
  /// Hosts that are reached without the proxy, separated by commas.
  std::string no_proxy{};
  /// Certificate authorities to trust, as a PEM file; empty: those of the system. Certificates are always checked.
  std::filesystem::path ca_file{};
};
/// Keeps no connection: each request has its own, so that requests do not wait for each other.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_openai_client(OpenAIClientOptions options);

/// Any program: the prompt on standard input, the reply on standard output. KGEN_REQUEST_ID and KGEN_TEMPERATURE are in
/// its environment. It is run once for each request.
struct CommandClientOptions {
  std::vector<std::string> command;
  /// All that the program sees of an environment.
  std::map<std::string, std::string> environment;
};
/// `runner` is borrowed and outlives the client.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_command_client(CommandClientOptions options,
                                                                     ProcessRunner& runner);

/// Prompts and replies as files: DIR/ID.prompt.md appears, DIR/ID.reply.md is awaited (docs/mailbox.md). Both files
/// stay, so that a resumed run finds the reply; a reply to another prompt is set aside. Neither tokens nor a model are
/// known.
struct MailboxClientOptions {
  std::filesystem::path directory;
  Waiting waiting = Waiting::Wait;
  std::chrono::milliseconds poll{200};
  /// A reply counts once it is not empty and was left alone for so long: people save with editors, tools write slowly.
  std::chrono::milliseconds settle{2'000};
  /// Limit of one request instead of LLMRequest::timeout, which is meant for machines; unset: as long as it takes.
  std::optional<std::chrono::milliseconds> timeout;
};
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_mailbox_client(MailboxClientOptions options);

/// How closely a replay must fit.
enum class ReplayMode {
  Strict,   ///< the request's id and fingerprint must be in the file
  Lenient,  ///< the id is enough
};
/// Answers from a recording: JSON lines with id, fingerprint and reply. What is not in it is the error NotFound, a
/// fingerprint that differs InvalidArgument; both say how to record anew.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_replay_client(const std::filesystem::path& file, ReplayMode mode);

/// Is told why replies were not recorded, when the client is destroyed.
using RecordingFailure = std::function<void(const Error&)>;

/// Decorates a client: every reply is appended to `file` in the form that a replay reads, before it is handed on. A
/// later recording of the same id wins. A reply that cannot be recorded, because the disk is full, is handed on all the
/// same: it was paid for. Then requests are refused with that error until what is missing can be written; `on_failure`
/// hears of what is missing in the end.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_recording_client(std::unique_ptr<LLMClient> inner,
                                                                       const std::filesystem::path& file,
                                                                       RecordingFailure on_failure = {});

/// What make_llm_client needs besides the text.
struct LLMSpecContext {
  /// The environment of this process. Keys are taken from here and from nowhere else.
  std::map<std::string, std::string> environment;
  ProcessRunner& runner;
  Waiting waiting = Waiting::Wait;
  ReplayMode replay = ReplayMode::Strict;
};
/// From one text, as `kgen run --llm` takes it: "command:PROGRAM ARG...", "mailbox:DIR", "replay:FILE",
/// "openai:MODEL" (OPENAI_API_KEY, OPENAI_BASE_URL), "openai:MODEL@URL". InvalidArgument with the known forms.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_llm_client(std::string_view spec, const LLMSpecContext& context);

}  // namespace v0
}  // namespace kernelgen
