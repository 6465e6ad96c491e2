#pragma once

/// \file
/// HTTP requests, all of them on one thread.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "llm/retry.hpp"

namespace kernelgen {
inline namespace v0 {

/// The head of an answer: its status and its headers.
struct HttpHead {
  long status = 0;
  /// By name in lower case; of equal names the last one.
  std::map<std::string, std::string, std::less<>> headers;
  /// Target of a redirection; it is not followed.
  std::string redirect;

  /// The value of a header; empty when there is none. `name` is in lower case.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

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
  /// Limit of name resolution, connection and TLS together.
  std::chrono::milliseconds connect_timeout{30'000};
  /// Longest silence before the first byte of the answer; unset: none but `timeout`.
  std::optional<std::chrono::milliseconds> first_byte_timeout;
  /// Longest silence within an answer that has begun.
  std::chrono::milliseconds idle_timeout{0};
  /// Whether what has arrived begins the answer, called as on_body; empty: the first byte does. A server may send its
  /// headers, or the first events of a stream, long before a model has thought.
  std::function<bool()> has_begun;
  /// Limit of the answer, decompressed; a longer one is given up. A stream has some 270 bytes for each token.
  std::size_t max_body_bytes = 64u << 20;
  /// Takes each piece of the body as it arrives. Called from the thread of the transfers, which it must not hold up,
  /// and never after the request is over.
  std::function<void(const HttpHead&, std::string_view)> on_body;
  /// Called at most ten times a second while bytes arrive, by the thread that sends the request: it may take its time,
  /// and its exceptions end the request and pass through. May be empty.
  std::function<void()> on_news;
};

/// The answer of the server, whatever its status; HttpRequest::on_body has had its body.
struct HttpResponse : HttpHead {
  /// Retry-After, given in seconds or as a date.
  std::optional<std::chrono::milliseconds> retry_after;
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

/// Carries out requests. Thread-safe.
class HttpEngine {
 public:
  virtual ~HttpEngine() = default;
  /// Sends `request` and waits for the answer. Codes of failures: Timeout (the request's), Cancelled (within
  /// milliseconds), Unavailable for everything else. Messages hold nothing of the headers.
  [[nodiscard]] virtual HttpOutcome send(const HttpRequest& request, const std::stop_token& stop) = 0;
};
/// Makes an engine with a thread of its own, which carries any number of requests at once and keeps connections for the
/// next ones. It follows no redirection, raises no SIGPIPE, checks certificates, and takes compressed answers. It is
/// destroyed when no request is under way. Internal when libcurl cannot be used.
[[nodiscard]] Result<std::unique_ptr<HttpEngine>> make_http_engine();

}  // namespace v0
}  // namespace kernelgen
