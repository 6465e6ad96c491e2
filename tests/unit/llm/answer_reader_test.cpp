#include <random>
#include <string>
#include <vector>

#include "fuzz/answer_fuzz.hpp"
#include "support/effort.hpp"
#include "support/text.hpp"
#include "unit/llm/answers.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

Answer answer(const HttpResponse& response, std::string_view body, const std::string& secret = {}) {
  return read_pieces(k_chat_completions, response, {body}, secret);
}

HttpFailure failure(long status, std::string_view body, const std::string& secret = {}) {
  return failure_in(answer(response_of(status), body, secret));
}

Answer stream(std::string_view body) { return answer(response_of(200, "text/event-stream"), body); }

const std::string k_delta = "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n";
const std::string k_stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

}  // namespace

TEST_CASE("an error within a success is no reply", "[llm][answer_reader]") {
  const auto failed = failure(200, R"({"error": {"message": "upstream is gone", "code": 502}, "choices": []})");
  CHECK(failed.error.code == ErrorCode::Unavailable);
  CHECK(failed.error.message == "the provider reports: upstream is gone");
  CHECK(failed.kind == AttemptFailure::ServerError);
  CHECK(reply_in(k_chat_completions, R"({"error": null, "choices": [{"message": {"content": "x"}}]})").text == "x");
}

TEST_CASE("an error within an answer means what its status would", "[llm][answer_reader]") {
  struct Case {
    const char* error;
    ErrorCode code;
    AttemptFailure kind = AttemptFailure::Final;
  };
  for (const Case expected :
       {Case{R"({"message": "no", "code": 401})", ErrorCode::PermissionDenied},
        Case{R"({"message": "no", "code": "invalid_api_key"})", ErrorCode::PermissionDenied},
        Case{R"({"message": "no", "type": "permission_error"})", ErrorCode::PermissionDenied},
        Case{R"({"message": "no", "status": "UNAUTHENTICATED"})", ErrorCode::PermissionDenied},
        Case{R"({"message": "no", "type": "billing_error"})", ErrorCode::Unavailable},
        Case{R"({"message": "no", "code": 402})", ErrorCode::Unavailable},
        Case{R"({"message": "no", "type": "invalid_request_error", "code": null})", ErrorCode::InvalidArgument},
        Case{R"({"message": "no", "code": 413})", ErrorCode::PromptTooLong},
        Case{R"({"message": "no", "code": 429})", ErrorCode::Unavailable, AttemptFailure::Overloaded},
        Case{R"({"message": "no", "type": "rate_limit_error"})", ErrorCode::Unavailable, AttemptFailure::Overloaded},
        Case{R"({"message": "no", "type": "overloaded_error"})", ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{R"({"message": "no", "code": 7})", ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{R"({"message": "no", "code": "insufficient_quota", "type": "insufficient_quota"})",
             ErrorCode::Unavailable},
        Case{R"({"message": "insufficient_quota", "code": 500})", ErrorCode::Unavailable}}) {
    INFO(expected.error);
    const auto body = std::string(R"({"error": )") + expected.error + "}";
    for (const auto& failed : {failure(200, body), failure_in(stream(k_delta + "data: " + body + "\n\n"))}) {
      CHECK(failed.error.code == expected.code);
      CHECK(failed.kind == expected.kind);
      CHECK(failed.error.message.starts_with("the provider reports: "));
    }
  }
}

TEST_CASE("a word that stands for a key stays in a kernel", "[llm][answer_reader]") {
  const std::string body = R"({"choices": [{"message": {"content": "none = x; topsecret-0123456789"}}]})";
  CHECK(answer(response_of(200), body, "none").reply->text == "none = x; topsecret-0123456789");
  CHECK(answer(response_of(200), body, "topsecret-0123456789").reply->text == "none = x; [key]");
}

TEST_CASE("an event without data says nothing", "[llm][answer_reader]") {
  CHECK(stream("data:\n\n" + k_delta + "data\n\n" + k_stop).reply->text == "half");
}

TEST_CASE("a success without a choice is no reply", "[llm][answer_reader]") {
  for (const char* body : {R"({"choices": []})", "{}", "[]", "3", R"({"choices": {}})", R"({"choices": [7]})",
                           R"({"choices": [{"message": "text"}]})", R"({"choices": [{"message": {"content": 3}}]})"}) {
    INFO(body);
    const auto failed = failure(200, body);
    CHECK(failed.error.code == ErrorCode::Unavailable);
    CHECK(contains(failed.error.message, "the answer is no chat completion"));
    CHECK(contains(failed.error.message, body));
    CHECK(failed.kind == AttemptFailure::CutOff);
  }
}

TEST_CASE("a cut answer is tried again, a web page is not", "[llm][answer_reader]") {
  const auto cut = failure(200, R"({"choices": [{"message": {"content": "half)");
  CHECK(cut.error.code == ErrorCode::Unavailable);
  CHECK(contains(cut.error.message, "cut or not JSON"));
  CHECK(cut.kind == AttemptFailure::CutOff);
  CHECK(failure(200, "").kind == AttemptFailure::CutOff);
  const auto page = failure(200, "\n<!DOCTYPE html>\n<html>\x1b[31m<title>Log in</title>" + std::string(5000, 'x'));
  CHECK(page.error.code == ErrorCode::Unavailable);
  CHECK(contains(page.error.message, "web page"));
  CHECK(contains(page.error.message, "<title>Log in</title>"));
  CHECK(page.error.message.find('\x1b') == std::string::npos);
  CHECK(page.error.message.size() < 300);
  CHECK(page.kind == AttemptFailure::Final);
}

TEST_CASE("the status decides what a refusal means", "[llm][answer_reader]") {
  const std::string body = R"({"error": {"message": "no such\nmodel", "type": "x"}})";
  struct Case {
    long status;
    ErrorCode code;
    AttemptFailure kind = AttemptFailure::Final;
  };
  for (const Case expected :
       {Case{400, ErrorCode::InvalidArgument}, Case{401, ErrorCode::PermissionDenied},
        Case{402, ErrorCode::Unavailable}, Case{403, ErrorCode::PermissionDenied},
        Case{404, ErrorCode::InvalidArgument}, Case{413, ErrorCode::PromptTooLong},
        Case{409, ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{408, ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{429, ErrorCode::Unavailable, AttemptFailure::Overloaded},
        Case{500, ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{503, ErrorCode::Unavailable, AttemptFailure::ServerError},
        Case{529, ErrorCode::Unavailable, AttemptFailure::ServerError}, Case{204, ErrorCode::Unavailable}}) {
    INFO(expected.status);
    const auto failed = failure(expected.status, body);
    CHECK(failed.error.code == expected.code);
    CHECK(failed.kind == expected.kind);
    CHECK(contains(failed.error.message, "HTTP " + std::to_string(expected.status) + ": no such model"));
  }
}

TEST_CASE("an empty account is not asked again", "[llm][answer_reader]") {
  const auto failed = failure(429, R"({"error": {"message": "quota", "code": "insufficient_quota"}})");
  CHECK(failed.error.code == ErrorCode::Unavailable);
  CHECK(failed.kind == AttemptFailure::Final);
}

TEST_CASE("the provider's words are found in every form of an error", "[llm][answer_reader]") {
  CHECK(failure(400, R"({"error": "plain"})").error.message == "HTTP 400: plain");
  CHECK(failure(400, R"({"object": "error", "message": "vllm"})").error.message == "HTTP 400: vllm");
  CHECK(failure(422, R"({"detail": "fastapi"})").error.message == "HTTP 422: fastapi");
  CHECK(failure(400, R"({"error": {"code": 7}})").error.message == R"(HTTP 400: {"code":7})");
  CHECK(failure(502, "<html>Bad Gateway</html>").error.message == "HTTP 502: <html>Bad Gateway</html>");
  CHECK(failure(500, "").error.message == "HTTP 500");
}

TEST_CASE("a redirection is refused and says where it leads", "[llm][answer_reader]") {
  HttpResponse response;
  response.status = 307;
  response.redirect = "https://elsewhere.example/v1?key=topsecret";
  AnswerReader reader(k_chat_completions, "topsecret");
  const auto read = reader.finish(response);
  REQUIRE_FALSE(read.reply);
  CHECK(read.failure.error.code == ErrorCode::InvalidArgument);
  CHECK(contains(read.failure.error.message, "https://elsewhere.example/v1?key=[key]"));
  CHECK(contains(read.failure.error.message, "base URL"));
  CHECK(read.failure.kind == AttemptFailure::Final);
}

TEST_CASE("a server that repeats the key does not get it into a message", "[llm][answer_reader]") {
  const std::string key = "topsecret-0123456789";
  for (const long status : {200L, 400L, 401L, 429L, 500L})
    for (const auto& body : {R"({"error": {"message": "bad key )" + key + R"("}})", "<p>" + key + "</p>", key,
                             R"({"choices": [], "key": ")" + key + R"("})",
                             std::string("tops\x01"
                                         "ecret-0123456789"),
                             std::string(190, 'x') + key}) {
      INFO(status << " " << body);
      const auto message = failure(status, body, key).error.message;
      CHECK(message.find("topsecret") == std::string::npos);
      CHECK(message.find("ecret-0123") == std::string::npos);
    }
}

TEST_CASE("a secret is taken out wherever it stands", "[llm][answer_reader]") {
  CHECK(without_secret("a K1 b K1", "K1", 100) == "a [key] b [key]");
  CHECK(without_secret("a key", "key", 100) == "a [key]");
  CHECK(without_secret("a\nb", "", 100) == "a b");
  CHECK(without_secret("0123456789 long", "", 10) == "0123456...");
}

TEST_CASE("a prompt that is too long is told apart, in the words of each server", "[llm][answer_reader]") {
  for (
      const char* words :
      {R"({"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000"}})",
       R"({"error":{"message":"x","code":"context_length_exceeded"}})",
       R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}})",
       R"({"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}})",
       R"({"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size","type":"exceed_context_size_error"}})"}) {
    INFO(words);
    CHECK(failure(400, words).error.code == ErrorCode::PromptTooLong);
  }
  CHECK(failure(413, "<html>Request Entity Too Large</html>").error.code == ErrorCode::PromptTooLong);
}

TEST_CASE("only the provider's words decide what is left out of a request", "[llm][answer_reader]") {
  const auto refusal_of = [](const char* body) { return answer(response_of(400), body).refusal; };
  CHECK_FALSE(contains(refusal_of(R"({"error": {"message": "no"}, "request": {"stream": true}})"), "stream"));
  CHECK(contains(refusal_of(R"({"error": {"message": "no", "param": "temperature"}})"), "temperature"));
  CHECK(contains(refusal_of(R"({"error": {"message": "Provider returned error",
                                "metadata": {"raw": "'temperature' is not supported"}}})"),
                 "temperature"));
  RequestForm form;
  CHECK_FALSE(form_without_refused(form, "the upstream said no"));
  CHECK_FALSE(form_without_refused(form, "to stream this model, verify your organization")->streams);
  CHECK_FALSE(form_without_refused(form, "streaming is not possible")->streams);
}

TEST_CASE("the words of a refused request are kept, so that it can be asked in another form", "[llm][answer_reader]") {
  const auto read = answer(response_of(400), R"({"error":{"message":"Unsupported value: 'Temperature'"}})");
  CHECK(contains(read.refusal, "'temperature'"));
  CHECK(answer(response_of(401), R"({"error":"temperature"})").refusal.empty());
}

TEST_CASE("a stream counts when the model has stopped, whatever else is missing", "[llm][answer_reader]") {
  CHECK(stream(k_delta + k_stop).reply->text == "half");
  CHECK(stream(k_delta + k_stop + "data: [DONE]\n\n").reply->finish == FinishReason::Stop);
  // A server that gives no reason.
  CHECK(stream(k_delta + "data: [DONE]\n\n").reply->finish == FinishReason::Other);
  CHECK(stream(": hello\r\n\r\nevent: x\r\n" + k_delta + k_stop).reply->text == "half");
}

TEST_CASE("a stream that ends before its reply does is cut off", "[llm][answer_reader]") {
  for (const std::string& body : {k_delta, k_delta + k_stop.substr(0, k_stop.size() - 1),
                                  std::string("data: [DONE]\n\n"), std::string(": hi\n\n")}) {
    INFO(body);
    const auto failed = failure_in(stream(body));
    CHECK(failed.error.code == ErrorCode::Unavailable);
    CHECK(failed.kind == AttemptFailure::CutOff);
    CHECK(contains(failed.error.message, "the stream ended after "));
  }
}

TEST_CASE("an empty stream is one that ended too early", "[llm][answer_reader]") {
  CHECK(contains(failure_in(stream("")).error.message, "the stream ended after 0 bytes"));
}

TEST_CASE("an error within a stream is no reply, even behind text", "[llm][answer_reader]") {
  const auto failed = failure_in(stream(k_delta + "data: {\"error\":{\"message\":\"worker died\"}}\n\n" + k_stop));
  CHECK(failed.error.message == "the provider reports: worker died");
  CHECK(failed.kind == AttemptFailure::ServerError);
}

TEST_CASE("an event that is no JSON makes the stream no reply", "[llm][answer_reader]") {
  const auto failed = failure_in(stream(k_delta + "data: {\"cho\n\n" + k_stop));
  CHECK(contains(failed.error.message, "an event that is no JSON"));
  CHECK(failed.kind == AttemptFailure::CutOff);
}

TEST_CASE("the form of an answer is told by its first character, not only by its type", "[llm][answer_reader]") {
  const std::string document = R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]})";
  CHECK(answer(response_of(200, "text/event-stream"), document).reply->text == "x");
  CHECK(answer(response_of(200, "text/plain"), k_delta + k_stop).reply->text == "half");
  CHECK(answer(response_of(200, ""), " \n" + document).reply->text == "x");
  CHECK(answer(response_of(200), "\xEF\xBB\xBF" + document).reply->text == "x");
  CHECK(contains(failure_in(answer(response_of(200, "text/event-stream"), "<html>login</html>")).error.message,
                 "web page"));
}

TEST_CASE("bytes that are no UTF-8 cost a character, not the reply", "[llm][answer_reader]") {
  const auto read = stream("data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFz\"}}]}\n\n" + k_stop);
  REQUIRE(read.reply);
  CHECK(read.reply->text == "a\xEF\xBF\xBDz");
}

TEST_CASE("a reader tells how far the reply is", "[llm][answer_reader]") {
  AnswerReader reader(k_chat_completions, "");
  const auto response = response_of(200, "text/event-stream");
  CHECK_FALSE(reader.first_output());
  CHECK(reader.progress().text_bytes == 0);
  reader.take(response, "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hmm\"}}]}\n\n");
  CHECK(reader.progress().reasoning_bytes == 3);
  CHECK(reader.first_output());
  for (int i = 0; i < 100; ++i) reader.take(response, k_delta);
  CHECK(reader.progress().text_bytes == 400);
}

TEST_CASE("half a key at the cut of a quotation is not shown", "[llm][answer_reader]") {
  const std::string key = "topsecret-0123456789";
  const auto text = key + std::string(50, 'x');
  const auto failed = failure_in(answer(response_of(200, "text/event-stream"),
                                        R"(data: {"choices":[{"delta":{"content":")" + text + "\"}}]}\n\n", key));
  CHECK(contains(failed.error.message, "after 70 bytes"));
  CHECK_FALSE(contains(failed.error.message, "6789"));
}

TEST_CASE("a reply's limit that is too high is no long prompt", "[llm][answer_reader]") {
  struct Case {
    const char* words;
    ErrorCode code;
  };
  for (const Case expected :
       {Case{"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (1000 in the "
             "messages, 8000 in the completion).",
             ErrorCode::InvalidArgument},
        Case{"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the "
             "messages, 1000 in the completion).",
             ErrorCode::PromptTooLong},
        Case{
            "This model's maximum context length is 4097 tokens, however you requested 4130 tokens (34 in your prompt; "
            "4096 for the completion).",
            ErrorCode::InvalidArgument},
        Case{"'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 4096 "
             "tokens and your request has 904 input tokens (4096 > 4096 - 904).",
             ErrorCode::InvalidArgument},
        Case{"'max_tokens' or 'max_completion_tokens' is too large: 100. This model's maximum context length is 4096 "
             "tokens and your request has 4000 input tokens (100 > 4096 - 4000).",
             ErrorCode::PromptTooLong},
        Case{"input length and `max_tokens` exceed context limit: 10240 + 200000 > 200000, decrease input length or "
             "`max_tokens` and try again",
             ErrorCode::InvalidArgument},
        Case{"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
             "`max_tokens` and try again",
             ErrorCode::PromptTooLong}}) {
    INFO(expected.words);
    const auto failed = failure(400, R"({"error": {"message": ")" + std::string(expected.words) + "\"}}");
    CHECK(failed.error.code == expected.code);
    CHECK(contains(failed.error.message, "limit of the reply is too high") ==
          (expected.code == ErrorCode::InvalidArgument));
  }
}

TEST_CASE("a key that Google does not know is a wrong key", "[llm][answer_reader]") {
  const auto failed =
      failure(400, R"({"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
               "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}})");
  CHECK(failed.error.code == ErrorCode::PermissionDenied);
}

TEST_CASE("answers of any form keep the promises of the reader", "[llm][answer_reader][fuzz]") {
  std::mt19937 random(20'261'128);
  const std::vector<std::string> pieces{
      k_delta,
      k_stop,
      "data: [DONE]\n\n",
      "data: ",
      "event: error\n",
      "\r\n\r\n",
      ": comment\n",
      R"({"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]})",
      R"({"error":{"message":"sk-0123456789","type":"overloaded_error"}})",
      R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-3}})",
      R"({"type":"content_block_delta","delta":{"text":"y"}})",
      R"({"candidates":[{"content":{"parts":[{"text":"z","thought":1}]},"finishReason":"STOP"}]})",
      R"({"type":"response.completed","response":{"output":[{"type":"message","content":[{}]}]}})",
      R"([{"error":{"details":[{"retryDelay":"1e99s"}]}}])",
      "{",
      "[",
      "}",
      "<html>",
      "sk-0123456789",
      "\xEF\xBB\xBF",
      std::string(1, '\0')};
  for (int round = 0; round < 1'500 / testing::k_less; ++round) {
    std::string text;
    for (auto count = random() % 8; count > 0; --count) text += pieces[random() % pieces.size()];
    for (auto edits = random() % 4; edits > 0 && !text.empty(); --edits)
      text[random() % text.size()] = static_cast<char>(random());
    fuzz_answer(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
}
