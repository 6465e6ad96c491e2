// The forms besides chat completions: requests as text, answers in one piece and as streams.

#include <boost/json.hpp>

#include "support/json_text.hpp"
#include "unit/llm/answers.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace json = boost::json;

namespace {

LLMRequest two_part_request() {
  LLMRequest request;
  request.prompt = "shared part, own part";
  request.temperature = 0.25;
  return request;
}

RequestForm form_of(bool streams = false) { return {.model = "model/x y", .streams = streams}; }

json::object body_of(const Protocol& protocol, const LLMRequest& request, const RequestForm& form = form_of(),
                     std::string_view so_far = "") {
  return parse_json(protocol.body(request, form, so_far)).value().as_object();
}

Answer read_stream(const Protocol& protocol, std::initializer_list<std::string_view> pieces) {
  return read_pieces(protocol, response_of(200, "text/event-stream"), pieces);
}

}  // namespace

TEST_CASE("protocols are found by their names", "[llm][protocols]") {
  for (const auto protocol :
       {LLMProtocol::ChatCompletions, LLMProtocol::Responses, LLMProtocol::Messages, LLMProtocol::GenerateContent})
    CHECK(parse_llm_protocol(to_string(protocol)) == protocol);
  CHECK_FALSE(parse_llm_protocol("telepathy"));
}

TEST_CASE("a request for a response holds everything, and asks the provider to keep nothing", "[llm][responses]") {
  auto request = two_part_request();
  auto body = body_of(k_responses, request);
  CHECK(k_responses.path(form_of()) == "/responses");
  CHECK(body.at("input").at(0).at("content") == "shared part, own part");
  CHECK(body.at("store") == false);
  CHECK(body.at("temperature") == 0.25);
  CHECK_FALSE(body.contains("max_output_tokens"));
  request.max_output_tokens = 100;
  request.effort = "low";
  auto form = form_of(true);
  form.sends_temperature = false;
  body = body_of(k_responses, request, form);
  CHECK(body.at("max_output_tokens") == 100);
  CHECK(body.at("reasoning").at("effort") == "low");
  CHECK(body.at("stream") == true);
  CHECK_FALSE(body.contains("temperature"));
}

TEST_CASE("a response becomes a reply", "[llm][responses]") {
  const auto reply = reply_in(k_responses, R"({"id":"r1","status":"completed","model":"m-1","error":null,
    "output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"int "},
    {"type":"output_text","text":"x;"}]}],"usage":{"input_tokens":20,"input_tokens_details":{"cached_tokens":16},
    "output_tokens":8,"output_tokens_details":{"reasoning_tokens":5}}})");
  CHECK(reply.text == "int x;");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{20, 8, 16, 5, {}});
  CHECK(reply.model == "m-1");
  const auto status = [](const char* rest) {
    return reply_in(k_responses, std::string(R"({"output":[],"status":"incomplete",)") + rest + "}").finish;
  };
  CHECK(status(R"("incomplete_details":{"reason":"max_output_tokens"})") == FinishReason::Length);
  CHECK(status(R"("incomplete_details":{"reason":"content_filter"})") == FinishReason::Refused);
  CHECK(status(R"("incomplete_details":null)") == FinishReason::Other);
  CHECK(reply_in(k_responses, R"({"status":"completed","output":[{"type":"message","content":[{"type":"refusal",
    "refusal":"no"}]}]})")
            .finish == FinishReason::Refused);
  CHECK(read_pieces(k_responses, response_of(200), {R"({"choices":[]})"}).failure.kind == AttemptFailure::CutOff);
}

TEST_CASE("a stream of a response ends with the whole response, which counts", "[llm][responses]") {
  const auto reply = streamed_reply(
      k_responses,
      {"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"output\":[]}}\n\n",
       "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"hm\"}\n\n",
       "data: {\"type\":\"response.output_text.delta\",\"delta\":\"int \"}\n\n",
       "data: {\"type\":\"response.output_text.delta\",\"delta\":\"y;\"}\n\n",
       "data: "
       "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"model\":\"m\",\"output\":[{\"type\":"
       "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"int y;\"}]}],\"usage\":{\"input_tokens\":3,"
       "\"output_tokens\":2}}}\n\n"});
  CHECK(reply.text == "int y;");
  CHECK(reply.usage.input_tokens == 3);
  // Some servers leave the output out at the end.
  CHECK(streamed_reply(k_responses,
                       {"data: {\"type\":\"response.output_text.delta\",\"delta\":\"z\"}\n\n",
                        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n"})
            .text == "z");
}

TEST_CASE("a response that fails in its stream is no reply", "[llm][responses]") {
  const auto failed = read_stream(
      k_responses, {"data: {\"type\":\"response.output_text.delta\",\"delta\":\"int \"}\n\n",
                    "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\","
                    "\"message\":\"the model died\"}}}\n\n"});
  REQUIRE_FALSE(failed.reply);
  CHECK(failed.failure.error.message == "the provider reports: the model died");
  CHECK(read_stream(k_responses, {"data: {\"type\":\"error\",\"message\":\"overloaded\"}\n\n"}).failure.error.message ==
        "the provider reports: overloaded");
}

TEST_CASE("a request for a message names a limit, and tells the provider what to keep", "[llm][messages]") {
  auto request = two_part_request();
  auto body = body_of(k_messages, request);
  CHECK(k_messages.path(form_of()) == "/messages");
  CHECK(body.at("max_tokens") == 32'000);
  CHECK(body.at("messages").at(0).at("content") == "shared part, own part");
  request.shared_bytes = 13;
  request.max_output_tokens = 77;
  request.effort = "medium";
  body = body_of(k_messages, request, form_of(true));
  CHECK(body.at("max_tokens") == 77);
  CHECK(body.at("output_config").at("effort") == "medium");
  const auto& content = body.at("messages").at(0).at("content").as_array();
  REQUIRE(content.size() == 2);
  CHECK(content[0].at("text") == "shared part, ");
  CHECK(content[0].at("cache_control").at("type") == "ephemeral");
  CHECK(content[1].at("text") == "own part");
  CHECK_FALSE(content[1].as_object().contains("cache_control"));
  // A whole prompt may be shared; an empty block would be refused.
  request.shared_bytes = 1'000;
  CHECK(body_of(k_messages, request).at("messages").at(0).at("content").as_array().size() == 1);
}

TEST_CASE("a message becomes a reply, and all its input tokens count", "[llm][messages]") {
  const auto reply =
      reply_in(k_messages, R"({"type":"message","model":"c-1","content":[{"type":"thinking","thinking":"hm"},
    {"type":"text","text":"int x;"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"cache_read_input_tokens":200,
    "cache_creation_input_tokens":30,"output_tokens":7}})");
  CHECK(reply.text == "int x;");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{240, 7, 200, {}, 30});
  const auto finish = [](const std::string& reason) {
    return reply_in(k_messages, R"({"content":[],"stop_reason":")" + reason + "\"}").finish;
  };
  CHECK(finish("max_tokens") == FinishReason::Length);
  CHECK(finish("model_context_window_exceeded") == FinishReason::Length);
  CHECK(finish("refusal") == FinishReason::Refused);
  CHECK(finish("tool_use") == FinishReason::Other);
}

TEST_CASE("a stream of a message becomes the same reply", "[llm][messages]") {
  const auto reply = streamed_reply(
      k_messages,
      {"event: message_start\ndata: "
       "{\"type\":\"message_start\",\"message\":{\"model\":\"c-1\",\"usage\":{\"input_tokens\":10,"
       "\"cache_read_input_tokens\":200,\"output_tokens\":1}}}\n\n",
       "event: ping\ndata: {\"type\":\"ping\"}\n\n",
       "data: "
       "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n",
       "data: "
       "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n",
       "data: "
       "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"x\"}}"
       "\n\n",
       "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"int \"}}\n\n",
       "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"x;\"}}\n\n",
       "data: "
       "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\"},\"usage\":{\"output_tokens\":9}}\n\n",
       "data: {\"type\":\"message_stop\"}\n\n"});
  CHECK(reply.text == "int x;");
  CHECK(reply.finish == FinishReason::Length);
  CHECK(reply.usage == TokenUsage{210, 9, 200, {}, {}});
  CHECK(reply.model == "c-1");
}

TEST_CASE("a message whose stream reports an error, or stops, is no reply", "[llm][messages]") {
  const std::string_view start = "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"int\"}}\n\n";
  const auto failed = read_stream(
      k_messages, {start,
                   "event: error\ndata: "
                   "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"});
  CHECK(failed.failure.error.message == "the provider reports: Overloaded");
  CHECK(failed.failure.kind == AttemptFailure::ServerError);
  CHECK(read_stream(k_messages, {start}).failure.kind == AttemptFailure::CutOff);
}

TEST_CASE("a request to Gemini has its model in the path and its options in one place", "[llm][generate_content]") {
  auto request = two_part_request();
  CHECK(k_generate_content.path(form_of()) == "/models/model%2Fx%20y:generateContent");
  CHECK(k_generate_content.path(form_of(true)) == "/models/model%2Fx%20y:streamGenerateContent?alt=sse");
  auto body = body_of(k_generate_content, request);
  CHECK(body.at("contents").at(0).at("parts").at(0).at("text") == "shared part, own part");
  CHECK(body.at("generationConfig").at("temperature") == 0.25);
  request.max_output_tokens = 65'536;
  request.effort = "high";
  body = body_of(k_generate_content, request);
  CHECK(body.at("generationConfig").at("maxOutputTokens") == 65'536);
  CHECK(body.at("generationConfig").at("thinkingConfig").at("thinkingLevel") == "high");
  auto form = form_of();
  form.sends_temperature = false;
  CHECK_FALSE(body_of(k_generate_content, request, form).at("generationConfig").as_object().contains("temperature"));
}

TEST_CASE("an answer of Gemini becomes a reply without its thoughts, which are paid for", "[llm][generate_content]") {
  const auto reply = reply_in(k_generate_content, R"({"candidates":[{"content":{"parts":[{"text":"hm","thought":true},
    {"text":"int "},{"text":"x;"}]},"finishReason":"STOP"}],"modelVersion":"g-2","usageMetadata":{"promptTokenCount":50,
    "cachedContentTokenCount":40,"candidatesTokenCount":6,"thoughtsTokenCount":11}})");
  CHECK(reply.text == "int x;");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{50, 17, 40, 11, {}});
  CHECK(reply.model == "g-2");
  const auto finish = [](const std::string& reason) {
    return reply_in(k_generate_content, R"({"candidates":[{"finishReason":")" + reason + "\"}]}").finish;
  };
  CHECK(finish("MAX_TOKENS") == FinishReason::Length);
  CHECK(finish("SAFETY") == FinishReason::Refused);
  CHECK(finish("RECITATION") == FinishReason::Refused);
  CHECK(finish("MALFORMED_FUNCTION_CALL") == FinishReason::Other);
  const auto blocked = reply_in(k_generate_content, R"({"promptFeedback":{"blockReason":"OTHER"}})");
  CHECK(blocked.finish == FinishReason::Refused);
  CHECK(blocked.text == "the prompt was blocked: OTHER");
}

TEST_CASE("a stream of Gemini adds up, with or without a reason to finish in between", "[llm][generate_content]") {
  const auto reply =
      streamed_reply(k_generate_content,
                     {"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"int \"}]}}]}\r\n\r\n",
                      "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x;\"}]},\"finishReason\":"
                      "\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":2}}\r\n\r\n"});
  CHECK(reply.text == "int x;");
  CHECK(reply.usage.output_tokens == 2);
  const auto error = read_pieces(k_generate_content, response_of(200),
                                 {R"([{"error":{"code":503,"message":"The model is overloaded."}}])"});
  CHECK(error.failure.error.message == "the provider reports: The model is overloaded.");
}

TEST_CASE("a reply that was cut is gone on with as a conversation, in every protocol", "[llm][protocols]") {
  auto request = two_part_request();
  request.shared_bytes = 13;
  for (const auto* protocol : {&k_chat_completions, &k_responses, &k_messages, &k_generate_content}) {
    INFO(protocol->name);
    const auto body = body_of(*protocol, request, form_of(), "int half");
    const auto* list = "messages";
    if (protocol == &k_responses) list = "input";
    if (protocol == &k_generate_content) list = "contents";
    const auto& turns = body.at(list).as_array();
    REQUIRE(turns.size() == 3);
    CHECK(turns[1].at("role") == (protocol == &k_generate_content ? "model" : "assistant"));
    CHECK(json::serialize(turns[1]).find("int half") != std::string::npos);
    CHECK(turns[2].at("role") == "user");
    CHECK(json::serialize(turns[2]).find("Go on exactly where it ended") != std::string::npos);
  }
}

TEST_CASE("what a server refuses is left out of the next request", "[llm][protocols]") {
  const auto form = form_of(true);
  CHECK_FALSE(form_without_refused(form, "unsupported value: 'temperature' does not support 0.7")->sends_temperature);
  CHECK(form_without_refused(form, "unsupported parameter: 'max_tokens'; use 'max_completion_tokens' instead")
            ->has_new_limit_name);
  CHECK_FALSE(form_without_refused(form, "unknown field stream_options")->asks_for_usage);
  CHECK_FALSE(form_without_refused(form, "your organization must be verified to stream this model")->streams);
  CHECK_FALSE(form_without_refused(form, "no such model"));
  auto without = form;
  without.sends_temperature = false;
  CHECK_FALSE(form_without_refused(without, "temperature again"));
  CHECK(left_out_of(without) == "temperature");
  CHECK(left_out_of(form).empty());
}

TEST_CASE("several replies are asked for in one request where the protocol has choices", "[llm][choices]") {
  const LLMRequest request{.prompt = "write"};
  RequestForm form{.model = "m", .streams = false};
  for (const auto* protocol : {&k_chat_completions, &k_responses, &k_messages, &k_generate_content}) {
    INFO(protocol->name);
    form.choices = 1;
    const auto one = protocol->body(request, form, "");
    form.choices = 3;
    CHECK((protocol->body(request, form, "") != one) == protocol->has_choices);
  }
  CHECK(parse_json(k_chat_completions.body(request, form, ""))->at("n") == 3);
  CHECK(parse_json(k_generate_content.body(request, form, ""))->at("generationConfig").at("candidateCount") == 3);
}

TEST_CASE("the choices of an answer are replies, with the usage at the first", "[llm][choices]") {
  struct Case {
    const Protocol& protocol;
    const char* body;
  };
  for (const auto& [protocol, body] :
       {Case{k_chat_completions, R"({"model": "m", "usage": {"completion_tokens": 9}, "choices": [
               {"index": 0, "finish_reason": "stop", "message": {"content": "a"}},
               {"index": 1, "finish_reason": "length", "message": {"content": "b topsecret-0123456789"}},
               {"index": 2, "message": "no message"}, {"index": 3, "message": {"content": "not asked for"}}]})"},
        Case{k_generate_content, R"({"modelVersion": "m", "usageMetadata": {"candidatesTokenCount": 9}, "candidates": [
               {"finishReason": "STOP", "content": {"parts": [{"text": "a"}]}},
               {"index": 1, "finishReason": "MAX_TOKENS", "content": {"parts": [{"text": "b topsecret-0123456789"}]}},
               {"index": 3, "content": {"parts": [{"text": "not asked for"}]}}]})"}}) {
    INFO(protocol.name);
    const auto answer = read_pieces(protocol, response_of(200), {body}, "topsecret-0123456789", 3);
    REQUIRE(answer.reply);
    CHECK(answer.reply->text == "a");
    CHECK(answer.reply->usage.output_tokens == 9);
    REQUIRE(answer.further.size() == 1);
    CHECK(answer.further.front().text == "b [key]");
    CHECK(answer.further.front().finish == FinishReason::Length);
    CHECK(answer.further.front().model == "m");
    CHECK_FALSE(answer.further.front().usage.output_tokens);
    CHECK(read_pieces(protocol, response_of(200), {body}).further.empty());
  }
}

TEST_CASE("streams of choices are told apart by their numbers", "[llm][choices]") {
  const auto delta = [](int index, const std::string& text) {
    return "data: {\"choices\":[{\"index\":" + std::to_string(index) + ",\"delta\":{\"content\":\"" + text +
           "\"}}]}\n\n";
  };
  const auto end = [](int index) {
    return "data: {\"choices\":[{\"index\":" + std::to_string(index) +
           ",\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
  };
  const auto body =
      delta(1, "b1 ") + delta(0, "a1 ") + delta(2, "c") + delta(1, "b2") + end(1) + delta(0, "a2") + end(0);
  const auto answer = read_pieces(k_chat_completions, response_of(200, "text/event-stream"), {body}, "", 3);
  REQUIRE(answer.reply);
  CHECK(answer.reply->text == "a1 a2");
  // The third has no end.
  REQUIRE(answer.further.size() == 1);
  CHECK(answer.further.front().text == "b1 b2");
}
