#include "llm/chat_completions.hpp"

#include <boost/json.hpp>

#include "support/catch.hpp"
#include "support/json_text.hpp"

using namespace kernelgen;
namespace json = boost::json;

namespace {

ChatAnswer answer(long status, std::string body, std::string_view secret = {}) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return read_chat_answer(response, secret);
}

Reply reply(std::string body) {
  auto read = answer(200, std::move(body));
  INFO(read.failure.error.message);
  REQUIRE(read.reply);
  return *read.reply;
}

/// The failure in an answer; checks that there is no reply.
HttpFailure failure(long status, std::string body, std::string_view secret = {}) {
  auto read = answer(status, std::move(body), secret);
  REQUIRE_FALSE(read.reply);
  CHECK(read.failure.error.message.find('\n') == std::string::npos);
  return read.failure;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string completion(const std::string& finish, const std::string& message) {
  return R"({"model": "m-2", "choices": [{"index": 0, "finish_reason": )" + finish + R"(, "message": )" + message +
         "}]}";
}

json::object body_of(const LLMRequest& request, std::string_view host = "localhost:8000") {
  return parse_json(chat_request_body(request, "gpt \"x\"", host)).value().as_object();
}

}  // namespace

TEST_CASE("a request holds the model, the prompt and the temperature, and no limit unless there is one",
          "[llm][chat_completions]") {
  LLMRequest request;
  request.prompt = "line one\n\"two\" \xFF";
  request.temperature = 0.7;
  const auto body = body_of(request);
  CHECK(body.at("model") == "gpt \"x\"");
  REQUIRE(body.at("messages").as_array().size() == 1);
  CHECK(body.at("messages").at(0).at("role") == "user");
  CHECK(body.at("messages").at(0).at("content") == "line one\n\"two\" \xEF\xBF\xBD");
  CHECK(body.at("temperature").as_double() == 0.7);
  CHECK(body.size() == 3);
  CHECK(contains(chat_request_body(request, "m", "h"), "\"temperature\":0.7}"));
}

TEST_CASE("the limit of a reply has the name that the server knows", "[llm][chat_completions]") {
  LLMRequest request;
  request.max_output_tokens = 4096;
  request.temperature = 0;
  CHECK(body_of(request).at("max_tokens") == 4096);
  CHECK_FALSE(body_of(request).contains("max_completion_tokens"));
  CHECK(body_of(request, "api.openai.com").at("max_completion_tokens") == 4096);
  CHECK_FALSE(body_of(request, "api.openai.com").contains("max_tokens"));
}

TEST_CASE("a completion becomes a reply with its usage", "[llm][chat_completions]") {
  const auto read = reply(R"({"id": "x", "model": "gpt-5-2025", "choices": [{"index": 0, "finish_reason": "stop",
    "message": {"role": "assistant", "content": "```cpp\nint x;\n```", "refusal": null}}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
    "prompt_tokens_details": {"cached_tokens": 64}, "completion_tokens_details": {"reasoning_tokens": 30}}})");
  CHECK(read.text == "```cpp\nint x;\n```");
  CHECK(read.finish == FinishReason::Stop);
  CHECK(read.model == "gpt-5-2025");
  CHECK(read.usage == TokenUsage{100, 50, 64, 30});
}

TEST_CASE("usage that is missing or absurd is absent, and costs no reply", "[llm][chat_completions]") {
  const std::string message = R"({"content": "x"})";
  CHECK(reply(completion("\"stop\"", message)).usage == TokenUsage{});
  const auto read = reply(R"({"choices": [{"message": {"content": "x"}}],
    "usage": {"prompt_tokens": -1, "completion_tokens": "many", "prompt_tokens_details": null}})");
  CHECK(read.usage == TokenUsage{});
  CHECK(reply(R"({"choices": [{"message": {"content": "x"}}], "usage": {"prompt_cache_hit_tokens": 7}})")
            .usage.cached_tokens == 7);
}

TEST_CASE("reasons to finish are mapped", "[llm][chat_completions]") {
  const std::string message = R"({"content": "x"})";
  CHECK(reply(completion("\"stop\"", message)).finish == FinishReason::Stop);
  CHECK(reply(completion("\"length\"", message)).finish == FinishReason::Length);
  CHECK(reply(completion("\"content_filter\"", message)).finish == FinishReason::Refused);
  CHECK(reply(completion("\"tool_calls\"", message)).finish == FinishReason::Other);
  CHECK(reply(completion("null", message)).finish == FinishReason::Other);
}

TEST_CASE("a refusal is a reply that says so", "[llm][chat_completions]") {
  const auto read = reply(completion("\"stop\"", R"({"content": null, "refusal": "I cannot help with that."})"));
  CHECK(read.finish == FinishReason::Refused);
  CHECK(read.text == "I cannot help with that.");
}

TEST_CASE("a limit that was used up by thinking is a reply without text", "[llm][chat_completions]") {
  const auto read = reply(completion("\"length\"", R"({"content": null, "reasoning_content": "hm"})"));
  CHECK(read.finish == FinishReason::Length);
  CHECK(read.text.empty());
}

TEST_CASE("content in parts is put together", "[llm][chat_completions]") {
  const auto read = reply(
      completion("\"stop\"", R"({"content": [{"type": "text", "text": "a"}, {"type": "image"}, {"text": "b"}]})"));
  CHECK(read.text == "ab");
}

TEST_CASE("an error within a success is no reply", "[llm][chat_completions]") {
  const auto failed = failure(200, R"({"error": {"message": "upstream is gone", "code": 502}, "choices": []})");
  CHECK(failed.error.code == ErrorCode::Unavailable);
  CHECK(failed.error.message == "the provider reports: upstream is gone");
  CHECK(failed.kind == AttemptFailure::ServerError);
  CHECK(reply(R"({"error": null, "choices": [{"message": {"content": "x"}}]})").text == "x");
}

TEST_CASE("a success without a choice is no reply", "[llm][chat_completions]") {
  for (const char* body : {R"({"choices": []})", "{}", "[]", "3", R"({"choices": {}})", R"({"choices": [7]})",
                           R"({"choices": [{"message": "text"}]})", R"({"choices": [{"message": {"content": 3}}]})"}) {
    INFO(body);
    const auto failed = failure(200, body);
    CHECK(failed.error.code == ErrorCode::Unavailable);
    CHECK(contains(failed.error.message, "holds no choice"));
    CHECK(contains(failed.error.message, body));
    CHECK(failed.kind == AttemptFailure::CutOff);
  }
}

TEST_CASE("a cut answer is tried again, a web page is not", "[llm][chat_completions]") {
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

TEST_CASE("the status decides what a refusal means", "[llm][chat_completions]") {
  const std::string body = R"({"error": {"message": "no such\nmodel", "type": "x"}})";
  struct Case {
    long status;
    ErrorCode code;
    AttemptFailure kind = AttemptFailure::Final;
  };
  for (const Case expected :
       {Case{400, ErrorCode::InvalidArgument}, Case{401, ErrorCode::PermissionDenied},
        Case{402, ErrorCode::Unavailable}, Case{403, ErrorCode::PermissionDenied},
        Case{404, ErrorCode::InvalidArgument}, Case{413, ErrorCode::InvalidArgument},
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

TEST_CASE("an empty account is not asked again", "[llm][chat_completions]") {
  const auto failed = failure(429, R"({"error": {"message": "quota", "code": "insufficient_quota"}})");
  CHECK(failed.error.code == ErrorCode::Unavailable);
  CHECK(failed.kind == AttemptFailure::Final);
}

TEST_CASE("the provider's words are found in every form of an error", "[llm][chat_completions]") {
  CHECK(failure(400, R"({"error": "plain"})").error.message == "HTTP 400: plain");
  CHECK(failure(400, R"({"object": "error", "message": "vllm"})").error.message == "HTTP 400: vllm");
  CHECK(failure(422, R"({"detail": "fastapi"})").error.message == "HTTP 422: fastapi");
  CHECK(failure(400, R"({"error": {"code": 7}})").error.message == R"(HTTP 400: {"code":7})");
  CHECK(failure(502, "<html>Bad Gateway</html>").error.message == "HTTP 502: <html>Bad Gateway</html>");
  CHECK(failure(500, "").error.message == "HTTP 500");
}

TEST_CASE("a redirection is refused and says where it leads", "[llm][chat_completions]") {
  HttpResponse response;
  response.status = 307;
  response.redirect = "https://elsewhere.example/v1?key=topsecret";
  const auto read = read_chat_answer(response, "topsecret");
  REQUIRE_FALSE(read.reply);
  CHECK(read.failure.error.code == ErrorCode::InvalidArgument);
  CHECK(contains(read.failure.error.message, "https://elsewhere.example/v1?key=[key]"));
  CHECK(contains(read.failure.error.message, "base URL"));
  CHECK(read.failure.kind == AttemptFailure::Final);
}

TEST_CASE("a server that repeats the key does not get it into a message", "[llm][chat_completions]") {
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

TEST_CASE("a secret is taken out wherever it stands", "[llm][chat_completions]") {
  CHECK(without_secret("a K1 b K1", "K1", 100) == "a [key] b [key]");
  CHECK(without_secret("a key", "key", 100) == "a [key]");
  CHECK(without_secret("a\nb", "", 100) == "a b");
  CHECK(without_secret("0123456789 long", "", 10) == "0123456...");
}

TEST_CASE("a base URL is taken apart", "[llm][chat_completions]") {
  CHECK(parse_base_url("https://api.openai.com/v1").value().host == "api.openai.com");
  CHECK(parse_base_url("http://localhost:8000/v1//").value().url == "http://localhost:8000/v1");
  CHECK(parse_base_url("http://[::1]:8000").value().host == "[::1]:8000");
}

TEST_CASE("a base URL that is none, or that may hold a secret, is refused and not repeated",
          "[llm][chat_completions]") {
  for (const char* text :
       {"", "localhost:8000", "ftp://host/v1", "file:///etc/passwd", "https://", "https:///v1", "http://:80",
        "https://user:hidden@host/v1", "https://host/v1?api_key=hidden", "https://host/#hidden", "https://ho st",
        "https://host/\nX: hidden", "://host", "HTTPS//host"}) {
    INFO(text);
    const auto parsed = parse_base_url(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::InvalidArgument);
    CHECK(parsed.error().message.find("hidden") == std::string::npos);
  }
}
