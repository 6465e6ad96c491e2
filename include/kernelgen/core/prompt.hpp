#pragma once

/// \file
/// Prompts and replies as plain values.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The purpose of a prompt. Stored by name.
enum class PromptKind {
  Seed,       ///< a first kernel
  Repair,     ///< a candidate that failed, to be corrected
  Analysis,   ///< is there a better algorithm? Answered by JSON, not by code
  Optimize,   ///< a kernel after an analysis
  Stage,      ///< one aspect of a correct kernel tuned
  Reflect,    ///< a new attempt after feedback on an earlier one
  Critic,     ///< what is wrong with a candidate, or what limits its speed? Answered in words, not by code
  Crossover,  ///< one kernel made of the ideas of two correct ones
};
inline constexpr std::array k_prompt_kinds{PromptKind::Seed,     PromptKind::Repair,   PromptKind::Analysis,
                                           PromptKind::Optimize, PromptKind::Stage,    PromptKind::Reflect,
                                           PromptKind::Critic,   PromptKind::Crossover};
[[nodiscard]] std::string_view to_string(PromptKind kind);
[[nodiscard]] std::optional<PromptKind> parse_prompt_kind(std::string_view name);

/// The text for a model, with what is known about it.
struct Prompt {
  PromptKind kind = PromptKind::Seed;
  std::string text;
  /// An estimate of about four bytes a token; no tokenizer is used.
  std::int64_t estimated_tokens = 0;
  /// Names of optional parts (examples, history) that a token budget left out.
  std::vector<std::string> dropped;
  /// SHA-256, in hex, of this prompt without anything measured or asked of this machine: times, errors, compiler
  /// messages, device facts. Equal on every machine for the same templates, task, candidates and steps.
  std::string fingerprint;
  /// So many bytes at the beginning are the same in the other prompts of a search; see LLMRequest::shared_bytes.
  std::size_t shared_bytes = 0;
};

/// The reason why a model stopped. Stored by name.
enum class FinishReason {
  Stop,     ///< the reply is complete
  Length,   ///< the limit of output tokens: the reply is cut
  Refused,  ///< the provider's filter refused
  Other,    ///< the provider said something else, or nothing
};
[[nodiscard]] std::string_view to_string(FinishReason reason);
[[nodiscard]] std::optional<FinishReason> parse_finish_reason(std::string_view name);

/// The cost of a request in tokens, as reported by the provider; absent where it reports none.
struct TokenUsage {
  /// All tokens of the prompt, those of a cache among them.
  std::optional<std::int64_t> input_tokens;
  /// All tokens that were made, reasoning among them.
  std::optional<std::int64_t> output_tokens;
  /// Input tokens that were read from the provider's cache.
  std::optional<std::int64_t> cached_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  /// Input tokens that were written to the provider's cache, where that has a price of its own.
  std::optional<std::int64_t> cache_write_tokens{};
  bool operator==(const TokenUsage&) const = default;
};

/// Prices of a model's tokens, in any one currency.
struct Prices {
  double per_million_input = 0;
  double per_million_output = 0;
  /// Input that the provider had seen before; unset: the same as other input.
  std::optional<double> per_million_cached{};
  /// Input that the provider keeps from now on; unset: the same as other input.
  std::optional<double> per_million_cache_write{};
  bool operator==(const Prices&) const = default;
};

/// The answer of a model.
struct Reply {
  std::string text;
  FinishReason finish = FinishReason::Stop;
  TokenUsage usage;
  /// The provider's name for it; empty where it is unknown.
  std::string model;
  std::chrono::nanoseconds latency{0};
  /// The time until the first byte of reasoning or text; unset where the answer came in one piece.
  std::optional<std::chrono::nanoseconds> first_output{};
  /// The provider's name for the request; empty where it gives none.
  std::string request_id{};
  /// What of the request the model refused, and was left out: "temperature".
  std::string left_out{};
  /// LLMClient::identity() of the one of several clients that gave the reply; empty where there is one.
  std::string identity{};
  /// What the model that gave the reply takes for tokens, where the client knows.
  std::optional<Prices> prices{};
};

}  // namespace v0
}  // namespace kernelgen
