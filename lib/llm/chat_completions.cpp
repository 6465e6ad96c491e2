#include "llm/chat_completions.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

#include "core/json_codec.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

/// Bytes of a server's text that a message quotes.
constexpr std::size_t k_max_quote = 200;

/// The member at the end of a path of objects; null when there is none.
const json::value* find(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const auto name : path) {
    const auto* object = at->if_object();
    at = object != nullptr ? object->if_contains(name) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string find_text(const json::value& value, std::initializer_list<std::string_view> path) {
  const auto* found = find(value, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

/// Tolerant: a malformed count is no reason to lose a reply.
std::optional<std::int64_t> find_count(const json::value& value, std::initializer_list<std::string_view> path) {
  const auto* found = find(value, path);
  if (found == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = found->to_number<std::int64_t>(error);
  if (error || number < 0) return std::nullopt;
  return number;
}

/// The provider's error text: OpenAI's {"error": {"message"}}, and its variants.
std::string provider_message(const json::value& document) {
  if (auto text = find_text(document, {"error", "message"}); !text.empty()) return text;
  for (const std::string_view name : {"error", "message", "detail"})
    if (auto text = find_text(document, {name}); !text.empty()) return text;
  const auto* error = find(document, {"error"});
  return error != nullptr ? json::serialize(*error) : std::string();
}

bool looks_like_html(std::string_view body) {
  const auto text = trim(body);
  return !text.empty() && text.front() == '<';
}

ChatAnswer failed(ErrorCode code, std::string message, AttemptFailure kind = AttemptFailure::Final) {
  return {{}, {{code, std::move(message), {}}, kind}};
}

/// Reads an answer with a status other than 200.
ChatAnswer read_refusal(const HttpResponse& response, std::string_view secret) {
  const auto document = parse_json(response.body);
  std::string words = document ? provider_message(*document) : std::string();
  if (words.empty()) words = response.body;
  words = without_secret(words, secret, k_max_quote);
  std::string message = fmt::format("HTTP {}", response.status);
  if (!words.empty()) message += ": " + words;
  if (response.status >= 500 || response.status == 408)
    return failed(ErrorCode::Unavailable, message, AttemptFailure::ServerError);
  // An exhausted account is not refilled within a request.
  const bool no_money = document && find_text(*document, {"error", "code"}) == "insufficient_quota";
  if (response.status == 402 || (response.status == 429 && no_money)) return failed(ErrorCode::Unavailable, message);
  if (response.status == 429) return failed(ErrorCode::Unavailable, message, AttemptFailure::Overloaded);
  if (response.status == 401 || response.status == 403) return failed(ErrorCode::PermissionDenied, message);
  if (response.status >= 400) return failed(ErrorCode::InvalidArgument, message);
  if (response.status >= 300) {
    message = fmt::format("HTTP {}: the server sends us to {}, which is not followed; correct the base URL",
                          response.status, without_secret(response.redirect, secret, k_max_quote));
    return failed(ErrorCode::InvalidArgument, message);
  }
  return failed(ErrorCode::Unavailable, "not a chat completion: " + message);
}

FinishReason to_finish_reason(std::string_view name) {
  if (name == "stop") return FinishReason::Stop;
  if (name == "length") return FinishReason::Length;
  if (name == "content_filter") return FinishReason::Refused;
  return FinishReason::Other;
}

TokenUsage read_usage(const json::value& document) {
  TokenUsage usage;
  usage.input_tokens = find_count(document, {"usage", "prompt_tokens"});
  usage.output_tokens = find_count(document, {"usage", "completion_tokens"});
  usage.cached_tokens = find_count(document, {"usage", "prompt_tokens_details", "cached_tokens"});
  // DeepSeek's name for the number.
  if (!usage.cached_tokens) usage.cached_tokens = find_count(document, {"usage", "prompt_cache_hit_tokens"});
  usage.reasoning_tokens = find_count(document, {"usage", "completion_tokens_details", "reasoning_tokens"});
  return usage;
}

/// Reads the content: a text, or the text parts of a list. Nothing for any other form.
std::optional<std::string> read_content(const json::value& content) {
  if (content.is_string()) return std::string(content.get_string());
  if (content.is_null()) return std::string();
  const auto* parts = content.if_array();
  if (parts == nullptr) return std::nullopt;
  std::string text;
  for (const auto& part : *parts) text += find_text(part, {"text"});
  return text;
}

/// The reply in a document that came with status 200; nothing when it is no completion.
std::optional<Reply> read_completion(const json::value& document) {
  const auto* choices = find(document, {"choices"});
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return std::nullopt;
  const json::value& choice = choices->get_array().front();
  const auto* message = find(choice, {"message"});
  if (message == nullptr || !message->is_object()) return std::nullopt;
  Reply reply;
  reply.finish = to_finish_reason(find_text(choice, {"finish_reason"}));
  const auto* content = find(*message, {"content"});
  auto text = read_content(content != nullptr ? *content : json::value());
  if (!text) return std::nullopt;
  reply.text = *std::move(text);
  if (const auto refusal = find_text(*message, {"refusal"}); reply.text.empty() && !refusal.empty()) {
    reply.text = refusal;
    reply.finish = FinishReason::Refused;
  }
  reply.usage = read_usage(document);
  reply.model = sanitize_line(find_text(document, {"model"}), k_max_quote);
  return reply;
}

}  // namespace

Result<BaseUrl> parse_base_url(std::string_view text) {
  const auto refuse = [](std::string why) {
    return Error{
        ErrorCode::InvalidArgument,
        "a base URL has the form http(s)://HOST[:PORT][/PATH], such as http://localhost:8000/v1; " + std::move(why),
        {}};
  };
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return refuse("this one has blanks or characters that are not ASCII");
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos || (text.substr(0, scheme) != "https" && text.substr(0, scheme) != "http"))
    return refuse("this one begins with neither http:// nor https://");
  if (text.find_first_of("@?#\\") != std::string_view::npos)
    return refuse("a user, a password, a query or a fragment is not taken");
  while (text.back() == '/' && text.size() > scheme + 3) text.remove_suffix(1);
  const auto rest = text.substr(scheme + 3);
  const auto host = rest.substr(0, rest.find('/'));
  if (host.empty() || host.front() == ':') return refuse("this one names no host");
  return BaseUrl{std::string(text), std::string(host)};
}

std::string chat_request_body(const LLMRequest& request, std::string_view model, std::string_view host) {
  json::object message{{"role", "user"}, {"content", to_utf8(request.prompt)}};
  json::object body{{"model", to_utf8(model)}, {"messages", json::array{std::move(message)}}};
  // fmt gives the shortest digits: 0.7, not 6.9999999999999996E-1.
  std::string text = fmt::format("\"temperature\":{}", request.temperature);
  if (request.max_output_tokens) {
    // OpenAI's newer models refuse the old name; most other servers know only that one.
    const auto* name = host == "api.openai.com" ? "max_completion_tokens" : "max_tokens";
    text += fmt::format(",\"{}\":{}", name, *request.max_output_tokens);
  }
  std::string serialized = json::serialize(body);
  serialized.pop_back();
  return serialized + ',' + text + '}';
}

ChatAnswer read_chat_answer(const HttpResponse& response, std::string_view secret) {
  if (response.status != 200) return read_refusal(response, secret);
  const auto unavailable = [&](std::string_view what, std::string_view said, AttemptFailure kind) {
    return failed(ErrorCode::Unavailable, fmt::format("{}: {}", what, without_secret(said, secret, k_max_quote)), kind);
  };
  const auto document = parse_json(response.body);
  if (!document && looks_like_html(response.body))
    return unavailable("the answer is a web page (is the base URL right?)", response.body, AttemptFailure::Final);
  if (!document) return unavailable("the answer is cut or not JSON", response.body, AttemptFailure::CutOff);
  // Gateways wrap errors of the servers behind them in a success.
  const auto* error = find(*document, {"error"});
  if (error != nullptr && !error->is_null())
    return unavailable("the provider reports", provider_message(*document), AttemptFailure::ServerError);
  auto reply = read_completion(*document);
  if (!reply)
    return unavailable("the answer holds no choice of a chat completion", response.body, AttemptFailure::CutOff);
  return {std::move(reply), {}};
}

std::string without_secret(std::string_view text, std::string_view secret, std::size_t max_bytes) {
  // Cleaned before the search: a control character within the secret would hide it, and be removed afterwards.
  std::string line = sanitize_line(text, text.size() * 3);
  constexpr std::string_view k_mark = "[key]";
  if (!secret.empty())
    for (auto at = line.find(secret); at != std::string::npos; at = line.find(secret, at + k_mark.size()))
      line.replace(at, secret.size(), k_mark);
  return sanitize_line(line, max_bytes);
}

}  // namespace v0
}  // namespace kernelgen
