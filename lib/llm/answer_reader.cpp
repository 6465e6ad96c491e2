#include "llm/answer_reader.hpp"

#include <algorithm>
#include <array>
#include <boost/regex.hpp>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "llm/rate_limiter.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// Bytes of a server's text that a message quotes.
constexpr std::size_t k_max_quote = 200;

/// How providers say that a prompt is longer than they take. A limit of the reply alone reads differently.
constexpr std::array k_too_long{
    "prompt_too_long",       "context_length_exceeded", "context length",  "context window",       "context size",
    "context limit",         "prompt is too long",      "prompt too long", "input is too long",    "input token count",
    "maximum prompt length", "exceed the configured",   "maximum context", "request too large for"};
/// What an account without money is called.
constexpr std::array k_no_money{"insufficient_quota", "billing_error", "insufficient balance", "credit balance",
                                "requires more credits"};
/// How a filter of the provider refuses a prompt.
constexpr std::array k_filtered{"content_filter", "responsibleaipolicyviolation", "content management policy"};

constexpr std::string_view k_stream_type = "text/event-stream";
constexpr std::string_view k_byte_order_mark = "\xEF\xBB\xBF", k_data = "data:", k_event = "event:";

/// Whether more bytes could make `text` begin with `whole`.
bool is_beginning_of(std::string_view text, std::string_view whole) {
  return text.size() < whole.size() && whole.starts_with(text);
}

template <std::size_t Count>
bool contains_any(std::string_view text, const std::array<const char*, Count>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return contains(text, part); });
}

Answer failed(ErrorCode code, std::string message, AttemptFailure kind = AttemptFailure::Final) {
  return {.failure = {{code, std::move(message), {}}, kind}};
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return result;
}

bool holds_error(const boost::json::value& document) {
  const auto* error = find_member(without_list(document), {"error"});
  return error != nullptr && !error->is_null();
}

/// The wait that an error asks for in its body, as Google's do: "retryDelay": "37s".
std::optional<std::chrono::milliseconds> find_retry_delay(const boost::json::value& document) {
  for (const auto& detail : find_list(without_list(document), {"error", "details"}))
    if (const auto delay = find_text(detail, {"retryDelay"}); !delay.empty()) return parse_reset(delay, {});
  return std::nullopt;
}

/// Whether a request is too long because of the reply that it asks for, not because of its prompt: the words of OpenAI
/// and of servers that copy them, of vLLM, and of Anthropic, with both numbers.
bool is_reply_too_long(const std::string& all) {
  static const boost::regex k_both(
      R"re((\d+) in (?:the|your) (?:messages|prompt)\D{0,20}(\d+) (?:in|for) the completion)re"
      R"re(|max_(?:completion_)?tokens\D{0,60}is too large: (\d+).{0,200}?has (\d+) input tokens)re"
      R"re(|exceed context limit: (\d+) \+ (\d+))re");
  boost::smatch found;
  if (!boost::regex_search(all, found, k_both)) return false;
  const auto number = [&](int group) {
    std::int64_t value = 0;
    std::from_chars(&*found[group].begin(), &*found[group].begin() + found[group].length(), value);
    return value;
  };
  const bool has_reply_first = found[3].matched;
  const auto prompt = found[1].matched ? number(1) : has_reply_first ? number(4) : number(5);
  const auto reply = found[1].matched ? number(2) : has_reply_first ? number(3) : number(6);
  return reply > prompt;
}

/// Google answers 400 to a key that it does not know.
constexpr std::array k_wrong_key{"api_key_invalid", "api key not valid", "api key expired"};

/// What a status means. `all`: the provider's words in small letters, `words` as they are shown, `message` with what
/// stands around them.
Answer refused(long status, const std::string& all, std::string words, std::string message) {
  if (status == 401 || status == 403 || (status == 400 && contains_any(all, k_wrong_key)))
    return failed(ErrorCode::PermissionDenied, std::move(message));
  // An exhausted account is not refilled within a request.
  if (status == 402 || ((status == 429 || status == 400) && contains_any(all, k_no_money)))
    return failed(ErrorCode::Unavailable, std::move(message));
  if (contains_any(all, k_too_long) && is_reply_too_long(all))
    return failed(ErrorCode::InvalidArgument, message + "; the limit of the reply is too high for this model");
  if (status == 413 || contains_any(all, k_too_long)) return failed(ErrorCode::PromptTooLong, std::move(message));
  if (status == 429) return failed(ErrorCode::Unavailable, std::move(message), AttemptFailure::Overloaded);
  // Not implemented: it will not be a moment later.
  if (status == 501) return failed(ErrorCode::Unavailable, std::move(message));
  if (status >= 500 || status == 408 || status == 409)
    return failed(ErrorCode::Unavailable, std::move(message), AttemptFailure::ServerError);
  if (status == 400 && contains_any(all, k_filtered))
    return {.reply = Reply{.text = std::move(words), .finish = FinishReason::Refused}};
  auto answer = failed(ErrorCode::InvalidArgument, std::move(message));
  answer.refusal = all;
  return answer;
}

/// Reads an answer with a status other than 200.
Answer read_refusal(const HttpResponse& response, std::string_view body, std::string_view secret) {
  const auto document = parse_json(body);
  std::string words = document ? find_error_words(*document) : std::string();
  if (words.empty()) words = body;
  words = without_secret(words, secret, k_max_quote);
  const auto status = response.status;
  std::string message = fmt::format("HTTP {}", status);
  if (!words.empty()) message += ": " + words;
  if (status >= 400) {
    auto answer = refused(status, lower(body.substr(0, 4'096)), std::move(words), std::move(message));
    if (!answer.refusal.empty() && document) answer.refusal = lower(find_reported_error(*document, "").all);
    if (status == 429 && document) answer.retry_after = find_retry_delay(*document);
    return answer;
  }
  if (status >= 300) {
    message = fmt::format("HTTP {}: the server sends us to {}, which is not followed; correct the base URL", status,
                          without_secret(response.redirect, secret, k_max_quote));
    return failed(ErrorCode::InvalidArgument, message);
  }
  return failed(ErrorCode::Unavailable, "not a reply: " + message);
}

/// Servers on one's own machine are often given a word as their key ("none", "test"), which a kernel may hold as well.
void remove_from_reply(std::string& text, std::string_view secret) {
  constexpr std::size_t k_shortest_key = 16;
  if (secret.size() >= k_shortest_key) remove_secret(text, secret);
}

/// The headers in which providers name a request.
std::string find_request_id(const HttpHead& head) {
  for (const std::string_view name :
       {"x-request-id", "request-id", "x-goog-request-id", "apim-request-id", "x-litellm-call-id"})
    if (const auto id = head.header(name); !id.empty()) return sanitize_line(id, k_max_quote);
  return {};
}

}  // namespace

AnswerReader::AnswerReader(const Protocol& protocol, std::string secret, int choices)
    : protocol_(protocol), secret_(std::move(secret)) {
  draft_.further.resize(static_cast<std::size_t>(std::max(choices, 1)) - 1);
}

void AnswerReader::take(const HttpHead& head, std::string_view bytes) {
  if (form_ == Form::Stream) return parser_.feed(bytes, [this](const SseEvent& event) { take_event(event); });
  body_ += bytes;
  if (form_ == Form::Unknown) choose_form(head);
  if (form_ == Form::Stream)
    parser_.feed(std::exchange(body_, {}), [this](const SseEvent& event) { take_event(event); });
}

/// By the first characters: some servers send a stream as JSON, or an error of status 200 as a stream.
void AnswerReader::choose_form(const HttpHead& head) {
  if (is_beginning_of(body_, k_byte_order_mark)) return;
  const auto text = trim(without_byte_order_mark(body_));
  if (text.empty() || is_beginning_of(text, k_data) || is_beginning_of(text, k_event)) return;
  const bool looks_like_document = text.front() == '{' || text.front() == '[' || text.front() == '<';
  const bool is_stream = contains(head.header("content-type"), k_stream_type) || text.front() == ':' ||
                         text.starts_with(k_data) || text.starts_with(k_event);
  form_ = head.status == 200 && !looks_like_document && is_stream ? Form::Stream : Form::Document;
}

void AnswerReader::take_event(const SseEvent& event) {
  if (event.data == "[DONE]") {
    is_done_ = true;
    return;
  }
  if (trim(event.data).empty()) return;
  // A character may be invalid where a server cuts its text into pieces.
  const auto document = parse_json(to_utf8(event.data));
  if (!document) {
    if (unreadable_.empty()) unreadable_ = event.data;
    return;
  }
  protocol_.read_event(*document, draft_);
  text_bytes_ = draft_.text.size();
  reasoning_bytes_ = draft_.reasoning_bytes;
  if (!first_output_ && draft_.text.size() + draft_.reasoning_bytes > 0) first_output_ = Clock::now();
}

Answer AnswerReader::finish(const HttpResponse& response) {
  if (response.status != 200) return read_refusal(response, body_, secret_);
  const bool is_empty_stream =
      form_ == Form::Unknown && contains(response.header("content-type"), k_stream_type) && trim(body_).empty();
  return form_ == Form::Stream || is_empty_stream ? finish_stream(response) : finish_document(response);
}

Answer AnswerReader::finish_document(const HttpResponse& response) {
  const auto document = parse_json(without_byte_order_mark(body_));
  if (!document && trim(body_).starts_with('<'))
    return unavailable("the answer is a web page (is the base URL right?)", body_, AttemptFailure::Final);
  if (!document) return unavailable("the answer is cut or not JSON", body_, AttemptFailure::CutOff);
  // Gateways wrap errors of the servers behind them in a success.
  if (holds_error(*document)) return reported(find_reported_error(*document, ""));
  if (!protocol_.read_document(*document, draft_))
    return unavailable(fmt::format("the answer is no {}", protocol_.answer_name), body_, AttemptFailure::CutOff);
  return reply_of(response);
}

Answer AnswerReader::finish_stream(const HttpResponse& response) {
  if (draft_.error) return reported(*draft_.error);
  if (!unreadable_.empty())
    return unavailable("the stream holds an event that is no JSON", unreadable_, AttemptFailure::CutOff);
  const bool is_whole = draft_.finish || (is_done_ && !draft_.text.empty());
  if (!is_whole) return ended_early();
  if (!draft_.finish) draft_.finish = FinishReason::Other;
  return reply_of(response);
}

Answer AnswerReader::ended_early() {
  const auto size = draft_.text.size();
  // Before it is cut: half a key would not be found.
  remove_secret(draft_.text, secret_);
  constexpr std::size_t k_last_bytes = 60;
  return unavailable(fmt::format("the stream ended after {} bytes of the reply", size),
                     draft_.text.substr(draft_.text.size() - std::min(draft_.text.size(), k_last_bytes)),
                     AttemptFailure::CutOff);
}

Answer AnswerReader::reply_of(const HttpResponse& response) {
  remove_from_reply(draft_.text, secret_);
  Answer answer;
  answer.reply = Reply{.text = std::move(draft_.text),
                       .finish = *draft_.finish,
                       .usage = draft_.usage,
                       .model = without_secret(draft_.model, secret_, k_max_quote),
                       .request_id = without_secret(find_request_id(response), secret_, k_max_quote)};
  for (auto& choice : draft_.further) {
    if (!choice.finish) continue;
    remove_from_reply(choice.text, secret_);
    answer.further.push_back({.text = std::move(choice.text),
                              .finish = *choice.finish,
                              .model = answer.reply->model,
                              .request_id = answer.reply->request_id});
  }
  return answer;
}

/// An error in an answer of status 200. An account without money is told in all kinds of errors.
Answer AnswerReader::reported(const ReportedError& error) const {
  const auto all = lower(error.all);
  auto words = without_secret(error.words, secret_, k_max_quote);
  auto message = words.empty() ? std::string("the provider reports an error") : "the provider reports: " + words;
  if (contains_any(all, k_no_money)) return failed(ErrorCode::Unavailable, std::move(message));
  return refused(error.status, all, std::move(words), std::move(message));
}

Answer AnswerReader::unavailable(std::string_view what, std::string_view said, AttemptFailure kind) const {
  const auto quote = without_secret(said, secret_, k_max_quote);
  return failed(ErrorCode::Unavailable, quote.empty() ? std::string(what) : fmt::format("{}: {}", what, quote), kind);
}

void remove_secret(std::string& text, std::string_view secret) {
  constexpr std::string_view k_mark = "[key]";
  if (secret.empty()) return;
  for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + k_mark.size()))
    text.replace(at, secret.size(), k_mark);
}

std::string without_secret(std::string_view text, std::string_view secret, std::size_t max_bytes) {
  // Cleaned before the search: a control character within the secret would hide it, and be removed afterwards.
  std::string line = sanitize_line(text, text.size() * 3);
  remove_secret(line, secret);
  return sanitize_line(line, max_bytes);
}

}  // namespace v0
}  // namespace kernelgen
