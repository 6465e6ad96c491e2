/// OpenAI's responses.

#include <boost/json.hpp>
#include <utility>

#include "llm/protocol.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

std::string responses_path(const RequestForm&) { return "/responses"; }

std::string responses_body(const LLMRequest& request, const RequestForm& form, std::string_view so_far) {
  json::array input;
  for (const auto& turn : turns_of(request, so_far))
    input.push_back(json::object{{"role", turn.by == Turn::By::User ? "user" : "assistant"}, {"content", turn.text}});
  // Nothing is kept at the provider: each request is whole.
  json::object body{{"model", to_utf8(form.model)}, {"input", std::move(input)}, {"store", false}};
  if (request.max_output_tokens) body["max_output_tokens"] = *request.max_output_tokens;
  if (!request.effort.empty()) body["reasoning"] = json::object{{"effort", to_utf8(request.effort)}};
  if (form.streams) body["stream"] = true;
  std::string text = json::serialize(body);
  if (form.sends_temperature) append_number(text, "temperature", request.temperature);
  return text;
}

void read_responses_usage(const json::value& response, TokenUsage& into) {
  read_count(into.input_tokens, response, {"usage", "input_tokens"});
  read_count(into.output_tokens, response, {"usage", "output_tokens"});
  read_count(into.cached_tokens, response, {"usage", "input_tokens_details", "cached_tokens"});
  read_count(into.reasoning_tokens, response, {"usage", "output_tokens_details", "reasoning_tokens"});
}

FinishReason read_status(const json::value& response) {
  const auto status = find_text(response, {"status"});
  if (status == "completed") return FinishReason::Stop;
  const auto reason = find_text(response, {"incomplete_details", "reason"});
  if (reason == "max_output_tokens") return FinishReason::Length;
  return reason == "content_filter" ? FinishReason::Refused : FinishReason::Other;
}

bool read_responses_document(const json::value& document, Draft& draft) {
  const auto* output = find_member(document, {"output"});
  if (output == nullptr || !output->is_array()) return false;
  draft.text.clear();
  draft.finish = read_status(document);
  for (const auto& item : output->get_array()) {
    if (find_text(item, {"type"}) != "message") continue;
    for (const auto& part : find_list(item, {"content"})) {
      draft.text += find_text(part, {"text"});
      const auto refusal = find_text(part, {"refusal"});
      draft.text += refusal;
      if (!refusal.empty()) draft.finish = FinishReason::Refused;
    }
  }
  read_responses_usage(document, draft.usage);
  draft.model = find_text(document, {"model"});
  return true;
}

void read_responses_event(const json::value& event, Draft& draft) {
  const auto type = find_text(event, {"type"});
  const auto delta = find_text(event, {"delta"});
  if (type == "response.output_text.delta" || type == "response.refusal.delta") {
    draft.text += delta;
  } else if (type == "response.reasoning_text.delta" || type == "response.reasoning_summary_text.delta") {
    draft.reasoning_bytes += delta.size();
  } else if (type == "response.completed" || type == "response.incomplete") {
    // The whole reply once more, which counts.
    const std::string streamed = draft.text;
    if (const auto* response = find_member(event, {"response"})) read_responses_document(*response, draft);
    if (draft.text.empty()) draft.text = streamed;
    if (!draft.finish) draft.finish = FinishReason::Other;
  } else if (type == "response.failed") {
    const auto* response = find_member(event, {"response"});
    draft.error = find_reported_error(response != nullptr ? *response : event, "the response failed");
  } else if (type == "error") {
    draft.error = find_reported_error(event, "an error without words");
  }
}

}  // namespace

const Protocol k_responses{.name = "responses",
                           .answer_name = "response",
                           .key_header = "Authorization: Bearer ",
                           .own_header = "",
                           .path = &responses_path,
                           .body = &responses_body,
                           .read_document = &read_responses_document,
                           .read_event = &read_responses_event};

}  // namespace v0
}  // namespace kernelgen
