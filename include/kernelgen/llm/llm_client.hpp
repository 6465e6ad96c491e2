#pragma once

/// \file
/// LLMClient: prompt in, reply out.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How far a reply is that is on its way.
struct LLMProgress {
  std::size_t text_bytes = 0;
  /// Bytes of the model's reasoning, where the provider shows them.
  std::size_t reasoning_bytes = 0;
};

/// One request.
struct LLMRequest {
  /// Name of the request within a run and across a resume: letters, digits, '.', '_', '-'. Mailbox files carry it.
  std::string id;
  std::string prompt;
  /// So many bytes at the beginning of the prompt are the same in other requests, and worth keeping for a provider that
  /// is told what to keep. 0: none.
  std::size_t shared_bytes = 0;
  /// Prompt::fingerprint, compared by a strict replay. Empty: not compared.
  std::string fingerprint;
  /// What the prompt is for; see make_role_client().
  PromptKind kind = PromptKind::Seed;
  double temperature = 0.7;
  /// How much a reasoning model is to think, in the provider's words ("low", "high"); empty: its default.
  std::string effort{};
  /// Limit of the reply in tokens; unset: the provider's limit.
  std::optional<std::int64_t> max_output_tokens;
  /// How often a reply that was cut by its limit may be gone on with, each time by a request of its own, where the
  /// client can. The pieces are put together, and their tokens and times added.
  int continuations = 0;
  /// Limit from sending to the last byte of the reply, all attempts and continuations together. Waiting for one's turn
  /// at a server that is asked too much does not count.
  std::chrono::milliseconds timeout{600'000};
  /// Called before a failed attempt is repeated, from the asking thread, with the reason and the wait. May be empty.
  std::function<void(const std::string& reason, std::chrono::milliseconds wait)> on_retry{};
  /// Called while the reply streams in, at most ten times a second, from the asking thread. May be empty.
  std::function<void(const LLMProgress&)> on_progress{};
};

/// Prices and limits of a model, as far as they are known before it is asked.
struct ModelTerms {
  std::optional<Prices> prices{};
  /// The longest reply in tokens.
  std::optional<std::int64_t> max_output_tokens{};
};

/// Asks a model. Implementations are thread-safe; several requests may be in flight. Errors: Timeout and Unavailable
/// are outages (see is_outage()): the endpoint does not answer in time, refuses, breaks off, has no quota left, or
/// sends an answer that is no reply. PermissionDenied: the key is not accepted. PromptTooLong: the model takes only
/// shorter prompts. InvalidArgument: the provider rejects the request for another reason. Pending: a reply that is
/// written elsewhere is not there yet, and the caller did not want to wait. Cancelled. After any other code, no request
/// can succeed before a person has mended something.
class LLMClient {
 public:
  virtual ~LLMClient() = default;
  /// Asks once, and waits for the reply. Returns Cancelled soon after `stop` was triggered.
  virtual Result<Reply> complete(const LLMRequest& request, std::stop_token stop) = 0;
  /// Asks for several replies to one prompt. `take` gets the number of each, from 1 to `count`, and the reply or why
  /// there is none, as soon as it is there, from any thread but one at a time. Returns after the last. By default this
  /// is a request for each, with the number at the end of its id. A server that knows choices is asked for them in one
  /// request, and for the missing ones again. The tokens of such a request are those of its first reply.
  virtual void complete_several(const LLMRequest& request, int count, std::stop_token stop,
                                const std::function<void(int number, Result<Reply> reply)>& take);
  /// The model alone: "openai gpt-5", "command my-model", "mailbox". A run that is resumed must ask the same one. Never
  /// holds a key.
  [[nodiscard]] virtual std::string identity() const = 0;
  /// The place where the model is asked: "localhost:8000", a path, a directory. It may differ in every session of a
  /// run, and is recorded with each request. Never holds a key. May be empty.
  [[nodiscard]] virtual std::string endpoint() const { return {}; }
  /// Prices and limits of the model that answers prompts of this kind.
  [[nodiscard]] virtual ModelTerms terms(PromptKind) const { return {}; }
};

/// Whether the endpoint is the reason for a missing answer, not the request: the same request may be answered later.
[[nodiscard]] constexpr bool is_outage(ErrorCode code) {
  return code == ErrorCode::Timeout || code == ErrorCode::Unavailable;
}

}  // namespace v0
}  // namespace kernelgen
