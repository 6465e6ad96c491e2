#include <boost/json.hpp>

#include "support/json_text.hpp"
#include "support/text.hpp"
#include "unit/llm/answers.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace json = boost::json;

namespace {

Reply chat_reply(std::string_view body) { return reply_in(k_chat_completions, body); }

std::string completion(const std::string& finish, const std::string& message) {
  return R"({"model": "m-2", "choices": [{"index": 0, "finish_reason": )" + finish + R"(, "message": )" + message +
         "}]}";
}

/// Without streaming.
RequestForm unstreamed_form(std::string model) { return {.model = std::move(model), .streams = false}; }

json::object chat_body_of(const LLMRequest& request, const RequestForm& form = unstreamed_form("gpt \"x\"")) {
  return parse_json(k_chat_completions.body(request, form, "")).value().as_object();
}

}  // namespace

TEST_CASE("a request holds the model, the prompt and the temperature, and no limit unless there is one",
          "[llm][chat_completions]") {
  LLMRequest request;
  request.prompt = "line one\n\"two\" \xFF";
  request.temperature = 0.7;
  const auto body = chat_body_of(request);
  CHECK(body.at("model") == "gpt \"x\"");
  REQUIRE(body.at("messages").as_array().size() == 1);
  CHECK(body.at("messages").at(0).at("role") == "user");
  CHECK(body.at("messages").at(0).at("content") == "line one\n\"two\" \xEF\xBF\xBD");
  CHECK(body.at("temperature").as_double() == 0.7);
  CHECK(body.size() == 3);
  CHECK(contains(k_chat_completions.body(request, unstreamed_form("m"), ""), "\"temperature\":0.7}"));
}

TEST_CASE("a request holds what its form says", "[llm][chat_completions]") {
  LLMRequest request;
  request.max_output_tokens = 4096;
  request.temperature = 0;
  request.effort = "high";
  auto form = unstreamed_form("m");
  CHECK(chat_body_of(request, form).at("max_tokens") == 4096);
  CHECK_FALSE(chat_body_of(request, form).contains("max_completion_tokens"));
  CHECK(chat_body_of(request, form).at("reasoning_effort") == "high");
  CHECK_FALSE(chat_body_of(request, form).contains("stream"));
  form.has_new_limit_name = true;
  CHECK(chat_body_of(request, form).at("max_completion_tokens") == 4096);
  CHECK_FALSE(chat_body_of(request, form).contains("max_tokens"));
  form.sends_temperature = false;
  CHECK_FALSE(chat_body_of(request, form).contains("temperature"));
  form.streams = true;
  CHECK(chat_body_of(request, form).at("stream") == true);
  CHECK(chat_body_of(request, form).at("stream_options").at("include_usage") == true);
  form.asks_for_usage = false;
  CHECK_FALSE(chat_body_of(request, form).contains("stream_options"));
}

TEST_CASE("a completion becomes a reply with its usage", "[llm][chat_completions]") {
  const auto read = chat_reply(R"({"id": "x", "model": "gpt-5-2025", "choices": [{"index": 0, "finish_reason": "stop",
    "message": {"role": "assistant", "content": "```cpp\nint x;\n```", "refusal": null}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 30}}})");
  CHECK(read.text == "```cpp\nint x;\n```");
  CHECK(read.finish == FinishReason::Stop);
  CHECK(read.model == "gpt-5-2025");
  CHECK(read.usage == TokenUsage{100, 50, 64, 30, {}});
}

TEST_CASE("reasoning that a server counts apart from the reply is output, too", "[llm][chat_completions]") {
  const auto usage_with = [](const char* total) {
    return chat_reply(R"({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}],
      "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": )" +
                      std::string(total) + R"(, "completion_tokens_details": {"reasoning_tokens": 30}}})")
        .usage;
  };
  CHECK(usage_with("180") == TokenUsage{100, 80, {}, 30, {}});
  CHECK(usage_with("150") == TokenUsage{100, 50, {}, 30, {}});
  CHECK(usage_with("null") == TokenUsage{100, 50, {}, 30, {}});
}

TEST_CASE("usage that is missing or absurd is absent, and costs no reply", "[llm][chat_completions]") {
  const std::string message = R"({"content": "x"})";
  CHECK(chat_reply(completion("\"stop\"", message)).usage == TokenUsage{});
  const auto read = chat_reply(R"({"choices": [{"message": {"content": "x"}}],
    "usage": {"prompt_tokens": -1, "completion_tokens": "many", "prompt_tokens_details": null}})");
  CHECK(read.usage == TokenUsage{});
  CHECK(chat_reply(R"({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_cache_hit_tokens": 7}})")
            .usage.cached_tokens == 7);
}

TEST_CASE("reasons to finish are mapped", "[llm][chat_completions]") {
  const std::string message = R"({"content": "x"})";
  CHECK(chat_reply(completion("\"stop\"", message)).finish == FinishReason::Stop);
  CHECK(chat_reply(completion("\"length\"", message)).finish == FinishReason::Length);
  CHECK(chat_reply(completion("\"content_filter\"", message)).finish == FinishReason::Refused);
  CHECK(chat_reply(completion("\"tool_calls\"", message)).finish == FinishReason::Other);
  CHECK(chat_reply(completion("null", message)).finish == FinishReason::Other);
}

TEST_CASE("a refusal is a reply that says so", "[llm][chat_completions]") {
  const auto read = chat_reply(completion("\"stop\"", R"({"content": null, "refusal": "I cannot help with that."})"));
  CHECK(read.finish == FinishReason::Refused);
  CHECK(read.text == "I cannot help with that.");
}

TEST_CASE("a limit that was used up by thinking is a reply without text", "[llm][chat_completions]") {
  const auto read = chat_reply(completion("\"length\"", R"({"content": null, "reasoning_content": "hm"})"));
  CHECK(read.finish == FinishReason::Length);
  CHECK(read.text.empty());
}

TEST_CASE("content in parts is put together", "[llm][chat_completions]") {
  const auto read = chat_reply(
      completion("\"stop\"", R"({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]})"));
  CHECK(read.text == "ab");
}

TEST_CASE("a stream of chat completions becomes a reply with its usage", "[llm][chat_completions]") {
  auto response = response_of(200, "text/event-stream; charset=utf-8");
  response.headers["x-request-id"] = "req-7";
  const auto answer =
      read_pieces(k_chat_completions, response,
                  {R"(data: {"model":"m-2","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]})"
                   "\n\n",
                   R"(data: {"choices":[{"index":0,"delta":{"reasoning_content":"hmm"}}]})"
                   "\n\n",
                   R"(data: {"choices":[{"index":0,"delta":{"content":"in"}}]})"
                   "\n\nda",
                   R"(ta: {"choices":[{"index":1,"delta":{"content":"another choice"}}]})"
                   "\n\n",
                   R"(data: {"choices":[{"index":0,"delta":{"content":"t x;"},"finish_reason":"stop"}]})"
                   "\n\n",
                   R"(data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}})"
                   "\n\ndata: [DONE]\n\n"});
  INFO(answer.failure.error.message);
  REQUIRE(answer.reply);
  CHECK(answer.reply->text == "int x;");
  CHECK(answer.reply->finish == FinishReason::Stop);
  CHECK(answer.reply->usage == TokenUsage{9, 4, {}, {}, {}});
  CHECK(answer.reply->model == "m-2");
  CHECK(answer.reply->request_id == "req-7");
}
