#pragma once

/// \file
/// Factories of the clients for models. Each checks its options; a client that exists works.

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

/// Limits of the attempts within one request. A table in docs/models.md lists the failures that are retried, and how
/// often.
struct RetryOptions {
  /// Limit for every kind of failure; 1: no retries.
  int max_attempts = 5;
  /// Unit of the waits between attempts.
  std::chrono::milliseconds base{500};
  /// Longest wait between two attempts. A longer wait asked for by the server (Retry-After) makes the request fail at
  /// once.
  std::chrono::milliseconds longest{60'000};
};

/// The form in which a server is asked. Stored by name.
enum class LLMProtocol {
  ChatCompletions,  ///< OpenAI's chat completions, which most servers speak
  Responses,        ///< OpenAI's responses
  Messages,         ///< Anthropic's messages
  GenerateContent,  ///< Google's Gemini
};
/// "chat-completions", "responses", "messages", "generate-content".
[[nodiscard]] std::string_view to_string(LLMProtocol protocol);
[[nodiscard]] std::optional<LLMProtocol> parse_llm_protocol(std::string_view name);

/// Whether replies arrive while they are written.
enum class Streaming { On, Off };

/// What all clients of a program share: one thread for their connections, and the limits that servers have told, so
/// that runs with one key do not get in each other's way.
class ServerTraffic;
/// Internal when libcurl cannot be used.
[[nodiscard]] Result<std::shared_ptr<ServerTraffic>> make_server_traffic();

/// The limit of a reply where nothing else gives one.
inline constexpr std::int64_t k_default_output_tokens = 32'000;

/// A server with one of the protocols.
struct ServerClientOptions {
  LLMProtocol protocol = LLMProtocol::ChatCompletions;
  /// The first word of the client's identity.
  std::string provider = "openai";
  /// URL up to and including the version: "https://api.openai.com/v1", "http://localhost:8000/v1".
  std::string base_url;
  std::string model;
  /// Empty: none is sent. Never logged, never in a message.
  std::string api_key;
  /// Where the key came from, such as the name of a variable: told when it is not accepted. May be empty.
  std::string key_source{};
  /// The header that carries the key, up to the key, such as "api-key: "; empty: the protocol's.
  std::string key_header{};
  /// Off for servers that cannot stream. One that refuses is asked again without.
  Streaming streaming = Streaming::On;
  /// Limit of a reply for requests that have none; used by Anthropic's protocol, which demands one.
  std::int64_t default_output_tokens = k_default_output_tokens;
  /// For LLMClient::terms().
  ModelTerms terms{};
  /// Most requests in flight at once; unset: any number.
  std::optional<int> max_concurrent{};
  RetryOptions retry;
  /// Limit of name resolution, connection and TLS together.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Longest silence before the first byte of a reply, whatever a server sends before; unset: only the request's own
  /// timeout counts, because a thinking model may send nothing, and repeating its work would be paid twice.
  std::optional<std::chrono::milliseconds> first_byte_timeout{};
  /// Longest silence within an answer that has begun.
  std::chrono::milliseconds idle_timeout{120'000};
  /// "http://proxy:3128"; empty: none. The library does not read the environment; make_llm_client() does.
  std::string proxy{};
  /// Hosts that are reached without the proxy, separated by commas.
  std::string no_proxy{};
  /// Certificate authorities to trust, as a PEM file; empty: those of the system. Certificates are always checked.
  std::filesystem::path ca_file{};
  /// Shared with other clients; nullptr: one of its own.
  std::shared_ptr<ServerTraffic> traffic{};
};
/// Any number of requests may be in flight; one thread carries them.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_server_client(ServerClientOptions options);

/// A program that reads the prompt from standard input and writes the reply to standard output. KGEN_REQUEST_ID and
/// KGEN_TEMPERATURE are in its environment. It is started once for each request.
struct CommandClientOptions {
  std::vector<std::string> command;
  /// The program's whole environment.
  std::map<std::string, std::string> environment;
};
/// `runner` is borrowed and outlives the client.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_command_client(CommandClientOptions options,
                                                                     ProcessRunner& runner);

/// Prompts and replies as files: the client writes DIR/ID.prompt.md and waits for DIR/ID.reply.md (docs/mailbox.md).
/// Both files stay, so that a resumed run finds the reply; a reply to another prompt is set aside. Neither tokens nor a
/// model are known.
struct MailboxClientOptions {
  std::filesystem::path directory;
  Waiting waiting = Waiting::Wait;
  std::chrono::milliseconds poll{200};
  /// A reply counts once its file is not empty and has not changed for this time, because editors and slow tools save
  /// in steps.
  std::chrono::milliseconds quiet_period{2'000};
  /// Limit of one request, in place of LLMRequest::timeout, which is too short for a person; unset: no limit.
  std::optional<std::chrono::milliseconds> timeout;
};
/// Makes the directory when it is missing. InvalidArgument or the errors of making it.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_mailbox_client(MailboxClientOptions options);

/// How closely a request must match its recording.
enum class ReplayMode {
  Strict,   ///< the request's id and fingerprint must be in the file
  Lenient,  ///< the id is enough
};
/// Answers from a recording: JSON lines with id, fingerprint and reply. A request that is not in it is the error
/// NotFound, a fingerprint that differs InvalidArgument; both tell how to record anew.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_replay_client(const std::filesystem::path& file, ReplayMode mode);

/// Called when the recording client is destroyed, with the reason why replies were not recorded.
using RecordingFailure = std::function<void(const Error&)>;

/// Decorates a client: appends every reply to `file`, in the form that a replay reads, before returning it. A later
/// recording of the same id wins. A reply that cannot be recorded, because the disk is full, is returned all the same,
/// because it was paid for. Further requests are then refused with that error until the missing replies can be written;
/// `on_failure` is called if some are missing in the end.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_recording_client(std::unique_ptr<LLMClient> inner,
                                                                       const std::filesystem::path& file,
                                                                       RecordingFailure on_failure = {});

/// Models for kinds of prompts. Where a kind has several, the seed that a request belongs to decides: "seed2" and
/// "seed2-repair1" are asked of the second one.
using ModelsByKind = std::map<PromptKind, std::vector<std::unique_ptr<LLMClient>>>;
/// Asks a model for each kind of prompt: one of `by_kind`, else `others`. Its identity and its endpoint name all of
/// them; Reply::identity tells which one answered. None of the clients may be nullptr, none of the lists empty.
[[nodiscard]] std::unique_ptr<LLMClient> make_role_client(std::unique_ptr<LLMClient> others, ModelsByKind by_kind);

/// Asks `second` where `first` has an outage that outlasted its attempts, for that request alone. Reply::identity tells
/// which one answered. Neither may be nullptr.
[[nodiscard]] std::unique_ptr<LLMClient> make_fallback_client(std::unique_ptr<LLMClient> first,
                                                              std::unique_ptr<LLMClient> second);

struct Provider;

/// Inputs of make_llm_client() besides the text.
struct LLMSpecContext {
  /// The environment of this process: the only source of keys.
  std::map<std::string, std::string> environment;
  ProcessRunner& runner;
  Waiting waiting = Waiting::Wait;
  ReplayMode replay = ReplayMode::Strict;
  /// Borrowed for the call; nullptr: known_providers().
  const std::vector<Provider>* providers = nullptr;
  /// For all clients that are to share their limits; nullptr: each has its own.
  std::shared_ptr<ServerTraffic> traffic{};
};
/// Makes the client that a text describes, as in `kgen run --llm`: "command:PROGRAM ARG...", "mailbox:DIR",
/// "replay:FILE", "PROVIDER:MODEL" or "PROVIDER:MODEL@URL" for each of the providers (docs/models.md); "gateway" alone
/// asks the model that the environment names. InvalidArgument with the known forms; MissingTool for a key, an address
/// or a model that the environment should name and does not.
[[nodiscard]] Result<std::unique_ptr<LLMClient>> make_llm_client(std::string_view spec, const LLMSpecContext& context);

}  // namespace v0
}  // namespace kernelgen
