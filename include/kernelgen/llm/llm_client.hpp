#pragma once

/// \file
/// LLMClient: prompt in, reply out.

#include <chrono>
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

/// One request.
struct LLMRequest {
  /// Names the request within a run and across a resume: letters, digits, '.', '_', '-'. Mailbox files carry it.
  std::string id;
  std::string prompt;
  /// Prompt::fingerprint; a strict replay compares it. Empty: not compared.
  std::string fingerprint;
  double temperature = 0.7;
  /// Limit of the reply; unset: the provider's.
  std::optional<std::int64_t> max_output_tokens;
  /// From sending to the last byte of the reply, all attempts together.
  std::chrono::milliseconds timeout{600'000};
};

/// Asks a model. Implementations are thread-safe; several requests may be in flight.
///
/// Errors: Timeout; Unavailable (the endpoint refuses, breaks off or answers what is no reply; trying later may help);
/// PermissionDenied (the key is not accepted); InvalidArgument (the provider rejects the request, e.g. too long);
/// Pending (a reply that somebody else writes is not there, and waiting was not wanted); Cancelled.
class LLMClient {
 public:
  virtual ~LLMClient() = default;
  virtual Result<Reply> complete(const LLMRequest& request, std::stop_token stop) = 0;
  /// For people and records: "openai gpt-5 at api.openai.com", "mailbox /tmp/mail". Never holds a key.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace v0
}  // namespace kernelgen
