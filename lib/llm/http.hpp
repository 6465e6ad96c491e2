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

/// One POST.
struct HttpRequest {
  std::string url;
  /// "Name: value" each.
  std::vector<std::string> headers;
  std::string body;
  /// Empty: none. The environment is ignored.
  std::string proxy;
  /// Hosts that are reached directly all the same, separated by commas.
  std::string no_proxy;
  /// Certificate authorities, as a PEM file; empty: those of the system.
  std::string ca_file;
  /// From now to the last byte.
  std::chrono::milliseconds timeout{0};
  /// Longest silence within an answer that has begun.
  std::chrono::milliseconds idle_timeout{0};
  /// An answer that is longer is given up.
  std::size_t max_body_bytes = 16u << 20;
};

/// The answer of the server, whatever its status.
struct HttpResponse {
  long status = 0;
  std::string body;
  /// From Retry-After, be it seconds or a date.
  std::optional<std::chrono::milliseconds> retry_after;
  /// Where a redirection would lead; it is not followed.
  std::string redirect;
};

/// Why there is no answer.
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
