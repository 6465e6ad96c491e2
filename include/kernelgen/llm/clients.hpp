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

/// When and how often a request is tried again. The delay is base * 2^n with jitter, at least what Retry-After says.
struct RetryOptions {
  int max_attempts = 5;
  std::chrono::milliseconds base{1'000};
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
  /// Give up an attempt when an answer that has begun stops for so long. Before its first byte only the request's own
  /// timeout counts: the answer comes in one piece, a model that thinks sends nothing, and its work would be paid
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

/// Any program: the prompt on standard input, the reply on standard output. KGEN_REQUEST_ID, KGEN_TEMPERATURE in its
/// environment.
struct CommandClientOptions {
  std::vector<std::string> command;
  /// What the program sees.
  std::map<std::string, std::string> environment;
};
/// `runner` is borrowed and outlives the client.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_command_client(CommandClientOptions options,
                                                                     ProcessRunner& runner);

/// Somebody else answers: DIR/ID.prompt.md appears, DIR/ID.reply.md is awaited (docs/mailbox.md). Both files stay, so
/// that a resumed run finds the reply; a reply to another prompt is set aside. Neither tokens nor a model are known.
struct MailboxClientOptions {
  std::filesystem::path directory;
  Waiting waiting = Waiting::Wait;
  std::chrono::milliseconds poll{200};
  /// A reply counts once it was not empty and left alone for so long: people save with editors, tools write slowly.
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

/// Decorates a client: every reply is appended to `file` in the form that a replay reads, before it is handed on. A
/// later recording of the same id wins.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_recording_client(std::unique_ptr<LLMClient> inner,
                                                                       const std::filesystem::path& file);

/// Where make_llm_client finds what the text does not say.
struct LLMSpecContext {
  /// Of this process; keys are taken from here and from nowhere else.
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
