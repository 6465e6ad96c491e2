#include "llm/protocol.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "llm/continuation.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {

namespace json = boost::json;

const Protocol& protocol_of(LLMProtocol protocol) {
  switch (protocol) {
    case LLMProtocol::ChatCompletions:
      return k_chat_completions;
    case LLMProtocol::Responses:
      return k_responses;
    case LLMProtocol::Messages:
      return k_messages;
    case LLMProtocol::GenerateContent:
      return k_generate_content;
  }
  return k_chat_completions;
}

std::optional<RequestForm> form_without_refused(const RequestForm& form, std::string_view words) {
  RequestForm other = form;
  const bool is_unknown = contains(words, "support") || contains(words, "unknown") || contains(words, "unrecognized") ||
                          contains(words, "not permitted") || contains(words, "extra_forbidden");
  if (is_unknown && contains(words, "max_completion_tokens"))
    // "Use 'max_completion_tokens' instead", or a server that does not know the new name.
    other.has_new_limit_name = !form.has_new_limit_name;
  else if (form.sends_temperature && contains(words, "temperature"))
    other.sends_temperature = false;
  else if (form.asks_for_usage && contains(words, "stream_options"))
    other.asks_for_usage = false;
  else if (form.streams && (has_word(words, "stream") || has_word(words, "streaming")))
    other.streams = false;
  else
    return std::nullopt;
  return other;
}

std::string left_out_of(const RequestForm& form) { return form.sends_temperature ? "" : "temperature"; }

const json::value* find_member(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const auto name : path) {
    const auto* object = at->if_object();
    at = object != nullptr ? object->if_contains(name) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string find_text(const json::value& value, std::initializer_list<std::string_view> path) {
  const auto* found = find_member(value, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::optional<std::int64_t> find_count(const json::value& value, std::initializer_list<std::string_view> path) {
  const auto* found = find_member(value, path);
  if (found == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = found->to_number<std::int64_t>(error);
  if (error || number < 0) return std::nullopt;
  return number;
}

void read_count(std::optional<std::int64_t>& place, const json::value& value,
                std::initializer_list<std::string_view> path) {
  if (const auto count = find_count(value, path)) place = count;
}

const json::array& find_list(const json::value& value, std::initializer_list<std::string_view> path) {
  static const json::array k_none;
  const auto* found = find_member(value, path);
  return found != nullptr && found->is_array() ? found->get_array() : k_none;
}

const json::value& without_list(const json::value& document) {
  const auto* list = document.if_array();
  return list != nullptr && list->size() == 1 ? list->front() : document;
}

Draft* Draft::choice(std::int64_t index) {
  if (index == 0) return this;
  const bool is_known = index > 0 && index <= static_cast<std::int64_t>(further.size());
  return is_known ? &further[static_cast<std::size_t>(index) - 1] : nullptr;
}

std::string find_error_words(const json::value& answer) {
  const auto& document = without_list(answer);
  if (auto text = find_text(document, {"error", "message"}); !text.empty()) return text;
  for (const std::string_view name : {"error", "message", "detail"})
    if (auto text = find_text(document, {name}); !text.empty()) return text;
  for (const std::string_view name : {"error", "detail", "message"})
    if (const auto* found = find_member(document, {name}); found != nullptr && !found->is_null())
      return json::serialize(*found);
  return {};
}

namespace {

/// The status that a member tells by its number, or by a name for a kind of error.
std::optional<long> status_at(const json::value& document, std::initializer_list<std::string_view> path) {
  struct NamedStatus {
    std::string_view name;
    long status;
  };
  // Types of OpenAI's, Anthropic's and Google's errors, and of servers that copy them.
  static constexpr auto k_named = std::to_array<NamedStatus>({{"invalid_request_error", 400},
                                                              {"INVALID_ARGUMENT", 400},
                                                              {"authentication_error", 401},
                                                              {"invalid_api_key", 401},
                                                              {"insufficient_quota", 402},
                                                              {"UNAUTHENTICATED", 401},
                                                              {"billing_error", 402},
                                                              {"permission_error", 403},
                                                              {"PERMISSION_DENIED", 403},
                                                              {"not_found_error", 404},
                                                              {"model_not_found", 404},
                                                              {"NOT_FOUND", 404},
                                                              {"request_too_large", 413},
                                                              {"rate_limit_error", 429},
                                                              {"rate_limit_exceeded", 429},
                                                              {"RESOURCE_EXHAUSTED", 429}});
  if (const auto code = find_count(document, path); code && *code >= 400 && *code < 600)
    return static_cast<long>(*code);
  const auto name = find_text(document, path);
  const auto* known = std::find_if(k_named.begin(), k_named.end(), [&](const auto& one) { return one.name == name; });
  return known == k_named.end() ? std::nullopt : std::optional(known->status);
}

}  // namespace

ReportedError find_reported_error(const json::value& answer, std::string_view otherwise) {
  const auto& document = without_list(answer);
  ReportedError error{.words = find_error_words(document)};
  if (error.words.empty()) error.words = otherwise;
  error.all = error.words;
  for (const std::string_view member : {"code", "status", "type", "param"})
    for (const auto& name : {find_text(document, {"error", member}), find_text(document, {member})})
      if (!name.empty()) error.all += ' ' + name;
  // OpenRouter's place for the words of the provider.
  error.all += ' ' + find_text(document, {"error", "metadata", "raw"});
  for (const std::string_view member : {"code", "status", "type"}) {
    auto status = status_at(document, {"error", member});
    if (!status) status = status_at(document, {member});
    if (!status) continue;
    error.status = *status;
    break;
  }
  return error;
}

std::vector<Turn> turns_of(const LLMRequest& request, std::string_view so_far) {
  std::vector<Turn> turns{{Turn::By::User, to_utf8(request.prompt)}};
  if (so_far.empty()) return turns;
  turns.push_back({Turn::By::Model, to_utf8(so_far)});
  turns.push_back({Turn::By::User, std::string(k_continue_prompt)});
  return turns;
}

void append_number(std::string& object, std::string_view name, double number) {
  object.pop_back();
  object += fmt::format("{}\"{}\":{}}}", object.size() > 1 ? "," : "", name, number);
}

}  // namespace v0
}  // namespace kernelgen
