#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "llm/retry.hpp"

namespace kernelgen {
inline namespace v0 {

/// One POST request.
struct HttpRequest {
  std::string url;
  /// Headers as "Name: value".
  std::vector<std::string> headers;
  std::string body;
  /// URL of the proxy; empty: none. The environment is ignored.
  std::string proxy;
  /// Hosts that are reached without the proxy, separated by commas.
  std::string no_proxy;
  /// Certificate authorities, as a PEM file; empty: those of the system.
  std::string ca_file;
  /// Limit from the call to the last byte.
  std::chrono::milliseconds timeout{0};
  /// Longest silence within an answer that has begun.
  std::chrono::milliseconds idle_timeout{0};
  /// Limit of the answer; a longer one is given up.
  std::size_t max_body_bytes = 16u << 20;
};

/// The answer of the server, whatever its status.
struct HttpResponse {
  long status = 0;
  std::string body;
  /// Retry-After, given in seconds or as a date.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Target of a redirection; it is not followed.
  std::string redirect;
};

/// The reason why there is no answer.
struct HttpFailure {
  Error error;
  AttemptFailure kind = AttemptFailure::Final;
};

/// Either `response` or `failure`.
struct HttpOutcome {
  std::optional<HttpResponse> response;
  HttpFailure failure;
};

/// Sends `request` and waits for the answer. Thread-safe. Follows no redirection, raises no SIGPIPE, checks
/// certificates. Codes of failures: Timeout (the request's), Cancelled (within milliseconds), Unavailable for
/// everything else. Messages hold nothing of the headers.
[[nodiscard]] HttpOutcome http_post(const HttpRequest& request, const std::stop_token& stop);

}  // namespace v0
}  // namespace kernelgen
