#pragma once

/// \file
/// OpenAI's chat completions as text: requests, and the meaning of answers. Nothing here opens a connection.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/llm/llm_client.hpp>

#include "llm/http.hpp"

namespace kernelgen {
inline namespace v0 {

/// A base URL and its host.
struct BaseUrl {
  /// "https://host:port/v1", without a slash at its end.
  std::string url;
  /// "host:port", for messages.
  std::string host;
};
/// InvalidArgument unless it is http(s)://host[:port][/path]. A user, a query or a fragment is refused: they may hold a
/// secret, and the URL is shown. The message does not repeat the text.
[[nodiscard]] Result<BaseUrl> parse_base_url(std::string_view text);

/// Writes the body of a request.
[[nodiscard]] std::string chat_request_body(const LLMRequest& request, std::string_view model, std::string_view host);

/// A reply, or the reason why an answer is none.
struct ChatAnswer {
  std::optional<Reply> reply;
  HttpFailure failure;
};
/// Reads an answer; never takes an error text for a reply. Codes: Unavailable (402, 408, 429, 5xx, and any answer that
/// is no chat completion), PermissionDenied (401, 403), InvalidArgument (any other refusal, with the provider's text).
/// Messages are one line, and quote at most 200 bytes of the server's text, without `secret`.
[[nodiscard]] ChatAnswer read_chat_answer(const HttpResponse& response, std::string_view secret);

/// Makes `text` one line of at most `max_bytes`, with "[key]" in place of `secret`.
[[nodiscard]] std::string without_secret(std::string_view text, std::string_view secret, std::size_t max_bytes);

}  // namespace v0
}  // namespace kernelgen
