/// Anthropic's messages.

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "llm/protocol.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

std::string messages_path(const RequestForm&) { return "/messages"; }

json::object text_block(std::string_view text) { return {{"type", "text"}, {"text", to_utf8(text)}}; }

/// The prompt; in two blocks where other requests share the first one, which the provider keeps. Servers that copy the
/// protocol know a plain text better.
json::value content_of(const LLMRequest& request) {
  const std::string_view prompt = request.prompt;
  const auto shared = std::min(request.shared_bytes, prompt.size());
  if (shared == 0) return json::value(to_utf8(prompt));
  auto block = text_block(prompt.substr(0, shared));
  block["cache_control"] = json::object{{"type", "ephemeral"}};
  json::array content{std::move(block)};
  if (shared < prompt.size()) content.push_back(text_block(prompt.substr(shared)));
  return content;
}

std::string messages_body(const LLMRequest& request, const RequestForm& form, std::string_view so_far) {
  json::array messages;
  for (const auto& turn : turns_of(request, so_far))
    messages.push_back(json::object{{"role", turn.by == Turn::By::User ? "user" : "assistant"},
                                    {"content", messages.empty() ? content_of(request) : json::value(turn.text)}});
  json::object body{{"model", to_utf8(form.model)},
                    {"max_tokens", request.max_output_tokens.value_or(form.default_limit)},
                    {"messages", std::move(messages)}};
  if (!request.effort.empty()) body["output_config"] = json::object{{"effort", to_utf8(request.effort)}};
  if (form.streams) body["stream"] = true;
  std::string text = json::serialize(body);
  if (form.sends_temperature) append_number(text, "temperature", request.temperature);
  return text;
}

FinishReason read_stop_reason(std::string_view name) {
  if (name == "end_turn" || name == "stop_sequence") return FinishReason::Stop;
  if (name == "max_tokens" || name == "model_context_window_exceeded") return FinishReason::Length;
  return name == "refusal" ? FinishReason::Refused : FinishReason::Other;
}

/// input_tokens counts only what was neither read from the cache nor written to it.
void read_messages_usage(const json::value& usage, TokenUsage& into) {
  read_count(into.output_tokens, usage, {"output_tokens"});
  const auto fresh = find_count(usage, {"input_tokens"});
  if (!fresh) return;
  const auto read = find_count(usage, {"cache_read_input_tokens"});
  const auto written = find_count(usage, {"cache_creation_input_tokens"});
  into.input_tokens = *fresh + read.value_or(0) + written.value_or(0);
  into.cached_tokens = read;
  into.cache_write_tokens = written;
}

bool read_messages_document(const json::value& document, Draft& draft) {
  const auto* content = find_member(document, {"content"});
  if (content == nullptr || !content->is_array()) return false;
  for (const auto& block : content->get_array()) {
    if (find_text(block, {"type"}) == "text") draft.text += find_text(block, {"text"});
    draft.reasoning_bytes += find_text(block, {"thinking"}).size();
  }
  draft.finish = read_stop_reason(find_text(document, {"stop_reason"}));
  if (const auto* usage = find_member(document, {"usage"})) read_messages_usage(*usage, draft.usage);
  draft.model = find_text(document, {"model"});
  return true;
}

void read_messages_event(const json::value& event, Draft& draft) {
  const auto type = find_text(event, {"type"});
  if (type == "message_start") {
    draft.model = find_text(event, {"message", "model"});
    if (const auto* usage = find_member(event, {"message", "usage"})) read_messages_usage(*usage, draft.usage);
  } else if (type == "content_block_start") {
    draft.text += find_text(event, {"content_block", "text"});
  } else if (type == "content_block_delta") {
    draft.text += find_text(event, {"delta", "text"});
    draft.reasoning_bytes += find_text(event, {"delta", "thinking"}).size();
  } else if (type == "message_delta") {
    if (const auto reason = find_text(event, {"delta", "stop_reason"}); !reason.empty())
      draft.finish = read_stop_reason(reason);
    if (const auto* usage = find_member(event, {"usage"})) read_messages_usage(*usage, draft.usage);
  } else if (type == "error") {
    draft.error = find_reported_error(event, "an error without words");
  }
}

}  // namespace

const Protocol k_messages{.name = "messages",
                          .answer_name = "message",
                          .key_header = "x-api-key: ",
                          .own_header = "anthropic-version: 2023-06-01",
                          .path = &messages_path,
                          .body = &messages_body,
                          .read_document = &read_messages_document,
                          .read_event = &read_messages_event};

}  // namespace v0
}  // namespace kernelgen
