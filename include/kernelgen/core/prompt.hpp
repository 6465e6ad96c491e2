#pragma once

/// \file
/// What is sent to a model and what comes back, as plain values.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What a model is asked for. Stored by name.
enum class PromptKind {
  Seed,      ///< a first kernel
  Repair,    ///< a candidate that failed, to be mended
  Analysis,  ///< is there a better algorithm? Answered by JSON, not by code
  Optimize,  ///< a kernel after an analysis
  Stage,     ///< one aspect of a correct kernel tuned
  Reflect,   ///< a new attempt after feedback on an earlier one
  Critic,    ///< what is wrong with a candidate, or what holds it up? Answered in words, not by code
};
[[nodiscard]] std::string_view to_string(PromptKind kind);
[[nodiscard]] std::optional<PromptKind> parse_prompt_kind(std::string_view name);

/// The text for a model.
struct Prompt {
  PromptKind kind = PromptKind::Seed;
  std::string text;
  /// About four bytes a token; no tokenizer is asked.
  std::int64_t estimated_tokens = 0;
  /// Optional parts (examples, history) that a token budget left out, by name.
  std::vector<std::string> dropped;
  /// SHA-256, in hex, of this prompt with everything blanked that was measured or asked of this machine: times, errors,
  /// compiler messages, device facts. Equal on every machine for the same templates, task, candidates and steps.
  std::string fingerprint;
};

/// Why a model stopped. Stored by name.
enum class FinishReason {
  Stop,     ///< it was done
  Length,   ///< the limit of output tokens: the reply is cut
  Refused,  ///< the provider's filter
  Other,    ///< the provider said something else, or nothing
};
[[nodiscard]] std::string_view to_string(FinishReason reason);
[[nodiscard]] std::optional<FinishReason> parse_finish_reason(std::string_view name);

/// What a request cost, as the provider said; absent where it did not.
struct TokenUsage {
  std::optional<std::int64_t> input_tokens;
  std::optional<std::int64_t> output_tokens;
  std::optional<std::int64_t> cached_tokens;
  std::optional<std::int64_t> reasoning_tokens;
  bool operator==(const TokenUsage&) const = default;
};

/// What a model answered.
struct Reply {
  std::string text;
  FinishReason finish = FinishReason::Stop;
  TokenUsage usage;
  /// The provider's name for it; empty where it is unknown.
  std::string model;
  std::chrono::nanoseconds latency{0};
};

}  // namespace v0
}  // namespace kernelgen
