#pragma once

/// \file
/// From the bytes of an HTTP answer to a reply, or to the reason why it is none.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/result.hpp>

#include "llm/http.hpp"
#include "llm/protocol.hpp"
#include "llm/sse.hpp"

namespace kernelgen {
inline namespace v0 {

/// A reply, or the reason why an answer is none.
struct Answer {
  std::optional<Reply> reply;
  /// The other replies of a request for several, without usage: the first one has that of all.
  std::vector<Reply> further;
  HttpFailure failure;
  /// The provider's words for a request that it refused, for form_without_refused(); empty for any other failure.
  std::string refusal;
  /// The status of HTTP; 0 where there was no answer.
  long status = 0;
  /// The wait that the body of the answer asks for.
  std::optional<std::chrono::milliseconds> retry_after;
};

/// Reads one answer as it arrives. Never takes an error text for a reply. Codes: Unavailable (402, 408, 429, 5xx, any
/// answer that is no reply, and a stream that ends before its reply does), PermissionDenied (401, 403), PromptTooLong,
/// InvalidArgument (any other refusal, with the provider's words). Messages are one line, and quote at most 200 bytes
/// of the server's text, without `secret`.
class AnswerReader {
 public:
  /// `protocol` outlives the reader. `choices`: so many replies were asked for.
  AnswerReader(const Protocol& protocol, std::string secret, int choices = 1);

  /// Takes the next bytes of the body.
  void take(const HttpHead& head, std::string_view bytes);
  /// Reads the whole after the last byte.
  [[nodiscard]] Answer finish(const HttpResponse& response);
  /// Whether a part of the reply has arrived, not only what servers send before a model has thought.
  [[nodiscard]] bool has_begun() const { return form_ == Form::Document || first_output_; }
  /// How far the reply is. Thread-safe.
  [[nodiscard]] LLMProgress progress() const { return {text_bytes_.load(), reasoning_bytes_.load()}; }
  /// Whether a stream has said how its reply ended.
  [[nodiscard]] bool is_whole_stream() const { return form_ == Form::Stream && draft_.finish && !draft_.error; }
  /// The time of the first byte of reasoning or text; unset while there is none, and for an answer in one piece.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> first_output() const { return first_output_; }

 private:
  enum class Form { Unknown, Document, Stream };

  void choose_form(const HttpHead& head);
  void take_event(const SseEvent& event);
  Answer finish_document(const HttpResponse& response);
  Answer finish_stream(const HttpResponse& response);
  Answer ended_early();
  Answer reply_of(const HttpResponse& response);
  [[nodiscard]] Answer reported(const ReportedError& error) const;
  [[nodiscard]] Answer unavailable(std::string_view what, std::string_view said, AttemptFailure kind) const;

  const Protocol& protocol_;
  std::string secret_;
  Form form_ = Form::Unknown;
  std::string body_;
  SseParser parser_;
  Draft draft_;
  bool is_done_ = false;
  /// The first event that could not be read.
  std::string unreadable_;
  std::optional<std::chrono::steady_clock::time_point> first_output_;
  std::atomic<std::size_t> text_bytes_ = 0;
  std::atomic<std::size_t> reasoning_bytes_ = 0;
};

/// Puts "[key]" in place of `secret`, wherever it stands.
void remove_secret(std::string& text, std::string_view secret);
/// Makes `text` one line of at most `max_bytes`, with "[key]" in place of `secret`.
[[nodiscard]] std::string without_secret(std::string_view text, std::string_view secret, std::size_t max_bytes);

}  // namespace v0
}  // namespace kernelgen
