/// Google's Gemini.

#include <boost/json.hpp>
#include <utility>

#include "llm/protocol.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

std::string gemini_path(const RequestForm& form) {
  // Its list of models has the names with this beginning.
  constexpr std::string_view k_folder = "models/";
  std::string_view model = form.model;
  if (model.starts_with(k_folder)) model.remove_prefix(k_folder.size());
  return "/models/" + percent_encode(model) + (form.streams ? ":streamGenerateContent?alt=sse" : ":generateContent");
}

std::string gemini_body(const LLMRequest& request, const RequestForm& form, std::string_view so_far) {
  json::array contents;
  for (const auto& turn : turns_of(request, so_far))
    contents.push_back(json::object{{"role", turn.by == Turn::By::User ? "user" : "model"},
                                    {"parts", json::array{json::object{{"text", turn.text}}}}});
  std::string options = "{}";
  if (request.max_output_tokens)
    append_number(options, "maxOutputTokens", static_cast<double>(*request.max_output_tokens));
  if (form.choices > 1) append_number(options, "candidateCount", form.choices);
  if (form.sends_temperature) append_number(options, "temperature", request.temperature);
  json::object body{{"contents", std::move(contents)}};
  std::string text = json::serialize(body);
  if (!request.effort.empty()) {
    options.pop_back();
    options += std::string(options.size() > 1 ? "," : "") + R"("thinkingConfig":)" +
               json::serialize(json::object{{"thinkingLevel", to_utf8(request.effort)}}) + '}';
  }
  text.pop_back();
  return text + R"(,"generationConfig":)" + options + '}';
}

FinishReason read_gemini_finish(std::string_view name) {
  if (name == "STOP") return FinishReason::Stop;
  if (name == "MAX_TOKENS") return FinishReason::Length;
  for (const std::string_view filter : {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})
    if (name == filter) return FinishReason::Refused;
  return FinishReason::Other;
}

void read_gemini_usage(const json::value& document, TokenUsage& into) {
  read_count(into.input_tokens, document, {"usageMetadata", "promptTokenCount"});
  read_count(into.cached_tokens, document, {"usageMetadata", "cachedContentTokenCount"});
  read_count(into.reasoning_tokens, document, {"usageMetadata", "thoughtsTokenCount"});
  // Thoughts are paid for as output, and counted apart from it.
  if (const auto shown = find_count(document, {"usageMetadata", "candidatesTokenCount"}))
    into.output_tokens = *shown + into.reasoning_tokens.value_or(0);
}

/// Adds a candidate, or a piece of one.
void read_candidate(const json::value& candidate, Draft& draft) {
  for (const auto& part : find_list(candidate, {"content", "parts"})) {
    const auto* thought = find_member(part, {"thought"});
    const auto text = find_text(part, {"text"});
    if (thought != nullptr && thought->is_bool() && thought->get_bool())
      draft.reasoning_bytes += text.size();
    else
      draft.text += text;
  }
  if (const auto reason = find_text(candidate, {"finishReason"}); !reason.empty())
    draft.finish = read_gemini_finish(reason);
}

/// Reads a whole answer, or a piece of one: they have the same form. False when it is none.
bool read_gemini(const json::value& document, Draft& draft) {
  read_gemini_usage(document, draft.usage);
  if (auto model = find_text(document, {"modelVersion"}); !model.empty()) draft.model = std::move(model);
  if (const auto blocked = find_text(document, {"promptFeedback", "blockReason"}); !blocked.empty()) {
    draft.finish = FinishReason::Refused;
    draft.text = "the prompt was blocked: " + blocked;
    return true;
  }
  const auto& candidates = find_list(document, {"candidates"});
  for (const auto& candidate : candidates)
    if (auto* choice = draft.choice(find_count(candidate, {"index"}).value_or(0))) read_candidate(candidate, *choice);
  return !candidates.empty();
}

bool read_gemini_document(const json::value& document, Draft& draft) {
  if (!read_gemini(document, draft)) return false;
  if (!draft.finish) draft.finish = FinishReason::Other;
  for (auto& choice : draft.further)
    if (!choice.finish && !choice.text.empty()) choice.finish = FinishReason::Other;
  return true;
}

void read_gemini_event(const json::value& event, Draft& draft) {
  if (find_member(event, {"error"}) != nullptr) draft.error = find_reported_error(event, "");
  read_gemini(event, draft);
}

}  // namespace

const Protocol k_generate_content{.name = "generate-content",
                                  .answer_name = "answer of generateContent",
                                  .key_header = "x-goog-api-key: ",
                                  .own_header = "",
                                  .has_choices = true,
                                  .path = &gemini_path,
                                  .body = &gemini_body,
                                  .read_document = &read_gemini_document,
                                  .read_event = &read_gemini_event};

}  // namespace v0
}  // namespace kernelgen
