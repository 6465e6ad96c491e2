/// OpenAI's chat completions, which most servers speak.

#include <boost/json.hpp>
#include <utility>

#include "llm/protocol.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

std::string chat_path(const RequestForm&) { return "/chat/completions"; }

std::string chat_body(const LLMRequest& request, const RequestForm& form, std::string_view so_far) {
  json::array messages;
  for (const auto& turn : turns_of(request, so_far))
    messages.push_back(
        json::object{{"role", turn.by == Turn::By::User ? "user" : "assistant"}, {"content", turn.text}});
  json::object body{{"model", to_utf8(form.model)}, {"messages", std::move(messages)}};
  if (request.max_output_tokens)
    body[form.has_new_limit_name ? "max_completion_tokens" : "max_tokens"] = *request.max_output_tokens;
  if (!request.effort.empty()) body["reasoning_effort"] = to_utf8(request.effort);
  if (form.choices > 1) body["n"] = form.choices;
  if (form.streams) body["stream"] = true;
  if (form.streams && form.asks_for_usage) body["stream_options"] = json::object{{"include_usage", true}};
  std::string text = json::serialize(body);
  if (form.sends_temperature) append_number(text, "temperature", request.temperature);
  return text;
}

FinishReason read_chat_finish(std::string_view name) {
  if (name == "stop") return FinishReason::Stop;
  if (name == "length") return FinishReason::Length;
  if (name == "content_filter") return FinishReason::Refused;
  return FinishReason::Other;
}

void read_chat_usage(const json::value& usage, TokenUsage& into) {
  read_count(into.input_tokens, usage, {"prompt_tokens"});
  read_count(into.output_tokens, usage, {"completion_tokens"});
  // DeepSeek's name for the number first; the other one counts where both are given.
  read_count(into.cached_tokens, usage, {"prompt_cache_hit_tokens"});
  read_count(into.cached_tokens, usage, {"prompt_tokens_details", "cached_tokens"});
  read_count(into.reasoning_tokens, usage, {"completion_tokens_details", "reasoning_tokens"});
  // xAI counts reasoning apart from the reply; only its total has both.
  const auto total = find_count(usage, {"total_tokens"});
  const auto apart = into.reasoning_tokens.value_or(0);
  if (total && into.input_tokens && into.output_tokens && *total == *into.input_tokens + *into.output_tokens + apart)
    into.output_tokens = *into.output_tokens + apart;
}

/// Adds the content: a text, or the text parts of a list. False for any other form.
bool add_content(const json::value& content, std::string& text) {
  if (content.is_string()) {
    text += content.get_string();
    return true;
  }
  if (content.is_null()) return true;
  const auto* parts = content.if_array();
  if (parts == nullptr) return false;
  for (const auto& part : *parts) text += find_text(part, {"text"});
  return true;
}

/// Reads a whole message, or what a stream adds to one. False when it has no form of a message.
bool read_message(const json::value& message, Draft& draft) {
  if (!message.is_object()) return false;
  const auto* content = find_member(message, {"content"});
  const bool was_empty = draft.text.empty();
  if (content != nullptr && !add_content(*content, draft.text)) return false;
  for (const std::string_view name : {"reasoning_content", "reasoning"})
    draft.reasoning_bytes += find_text(message, {name}).size();
  if (const auto refusal = find_text(message, {"refusal"}); !refusal.empty() && (was_empty || draft.finish)) {
    draft.text += refusal;
    draft.finish = FinishReason::Refused;
  }
  return true;
}

/// Reads what stands beside the choices.
void read_around_choices(const json::value& document, Draft& draft) {
  if (const auto* usage = find_member(document, {"usage"})) read_chat_usage(*usage, draft.usage);
  // Groq's place for the usage of a stream.
  if (const auto* usage = find_member(document, {"x_groq", "usage"})) read_chat_usage(*usage, draft.usage);
  if (auto model = find_text(document, {"model"}); !model.empty()) draft.model = std::move(model);
}

/// Keeps the reason of a refusal, which servers end with "stop".
void note_finish(const json::value& choice, Draft& draft) {
  const auto reason = find_text(choice, {"finish_reason"});
  if (!reason.empty() && draft.finish != FinishReason::Refused) draft.finish = read_chat_finish(reason);
}

/// False when the choice has no message.
bool read_choice(const json::value& choice, Draft& draft) {
  const auto* message = find_member(choice, {"message"});
  if (message == nullptr || !read_message(*message, draft)) return false;
  note_finish(choice, draft);
  if (!draft.finish) draft.finish = FinishReason::Other;
  return true;
}

bool read_chat_document(const json::value& document, Draft& draft) {
  const auto& choices = find_list(document, {"choices"});
  if (choices.empty() || !read_choice(choices.front(), draft)) return false;
  for (std::size_t i = 1; i < choices.size(); ++i)
    if (auto* into = draft.choice(static_cast<std::int64_t>(i))) read_choice(choices[i], *into);
  read_around_choices(document, draft);
  return true;
}

void read_chat_event(const json::value& event, Draft& draft) {
  if (const auto* error = find_member(event, {"error"}); error != nullptr && !error->is_null())
    draft.error = find_reported_error(event, "");
  for (const auto& choice : find_list(event, {"choices"})) {
    auto* into = draft.choice(find_count(choice, {"index"}).value_or(0));
    if (into == nullptr) continue;
    if (const auto* delta = find_member(choice, {"delta"})) read_message(*delta, *into);
    note_finish(choice, *into);
  }
  read_around_choices(event, draft);
}

}  // namespace

const Protocol k_chat_completions{.name = "chat-completions",
                                  .answer_name = "chat completion",
                                  .key_header = "Authorization: Bearer ",
                                  .own_header = "",
                                  .has_choices = true,
                                  .path = &chat_path,
                                  .body = &chat_body,
                                  .read_document = &read_chat_document,
                                  .read_event = &read_chat_event};

}  // namespace v0
}  // namespace kernelgen
