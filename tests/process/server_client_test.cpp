#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <latch>
#include <map>
#include <stdexcept>
#include <thread>

#include <kernelgen/llm/clients.hpp>

#include "process/asking.hpp"
#include "process/http_server.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
using kernelgen::testing::HttpServer;
using kernelgen::testing::k_server_key;
using kernelgen::testing::seed_request;
using kernelgen::testing::server_options;
using kernelgen::testing::unused_port;
using Connection = HttpServer::Connection;
using Request = HttpServer::Request;
using Clock = std::chrono::steady_clock;

namespace {

const std::string k_done = R"({"model": "served-model", "choices": [{"finish_reason": "stop", "message":
  {"content": "void kernel();"}}], "usage": {"prompt_tokens": 11, "completion_tokens": 5}})";

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Result<Reply> ask(const HttpServer& server, const LLMRequest& asked = seed_request()) {
  return make_server_client(server_options(server.base_url())).value()->complete(asked, {});
}

/// An error with a message of one line that names the server and not the key.
Error failure(Result<Reply> result) {
  REQUIRE_FALSE(result);
  const auto line = result.error().to_line();
  CHECK_FALSE(contains(line, k_server_key));
  CHECK_FALSE(contains(line, "\n"));
  CHECK(contains(line, "openai asked-model at 127.0.0.1:"));
  CHECK(line.size() < 400);
  return result.error();
}

Clock::duration time_of(const std::function<void()>& action) {
  const auto started = Clock::now();
  action();
  return Clock::now() - started;
}

}  // namespace

TEST_CASE("a reply arrives with its usage, and the request says what was asked", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  const auto reply = ask(server).value();
  CHECK(reply.text == "void kernel();");
  CHECK(reply.model == "served-model");
  CHECK(reply.usage.input_tokens == 11);
  CHECK(reply.latency > 0ns);
  REQUIRE(server.requests().size() == 1);
  const auto seen = server.requests().front();
  CHECK(seen.head.rfind("POST /v1/chat/completions HTTP/1.1\r\n", 0) == 0);
  CHECK(contains(seen.head, "\r\nAuthorization: Bearer " + k_server_key + "\r\n"));
  CHECK(contains(seen.head, "\r\nContent-Type: application/json\r\n"));
  CHECK(contains(seen.body, R"("model":"asked-model")"));
  CHECK(contains(seen.body, R"("temperature":0.7)"));
}

TEST_CASE("without a key no authorization is sent", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  auto options = server_options(server.base_url());
  options.api_key.clear();
  REQUIRE(make_server_client(options).value()->complete(seed_request(), {}));
  CHECK_FALSE(contains(server.requests().front().head, "Authorization"));
}

TEST_CASE("a long prompt is sent at once and whole", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  auto asked = seed_request();
  asked.prompt = std::string(3u << 20, 'p');
  REQUIRE(ask(server, asked));
  CHECK(contains(server.requests().front().body, asked.prompt));
  CHECK_FALSE(contains(server.requests().front().head, "Expect:"));
}

TEST_CASE("a reply that was cut by its limit says so", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("200 OK", R"({"choices": [{"finish_reason": "length", "message": {"content": "half"}}]})");
  });
  const auto reply = ask(server).value();
  CHECK(reply.finish == FinishReason::Length);
  CHECK(reply.text == "half");
}

TEST_CASE("a server that refuses connections is tried again, then Unavailable", "[llm][server_client]") {
  auto client = make_server_client(server_options("http://127.0.0.1:" + std::to_string(unused_port()))).value();
  const auto error = failure(client->complete(seed_request(), {}));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "(3 attempts)"));
}

TEST_CASE("a server that hangs is a Timeout at the deadline, and was asked once", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.wait(20s); });
  auto options = server_options(server.base_url());
  // A thinking model sends nothing: the idle clock starts with the first byte.
  options.idle_timeout = 20ms;
  auto asked = seed_request();
  asked.timeout = 300ms;
  auto client = make_server_client(options).value();
  const auto took = time_of([&] {
    const auto error = failure(client->complete(asked, {}));
    CHECK(error.code == ErrorCode::Timeout);
    CHECK(contains(error.message, "no reply within 0.3 s"));
  });
  CHECK(took >= 300ms);
  CHECK(took < 3s);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a deadline that passes in a later attempt says why there was one", "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1) return client.answer("502 Bad Gateway", "upstream is gone");
    client.wait(20s);
  });
  auto asked = seed_request();
  asked.timeout = 300ms;
  const auto error = failure(ask(server, asked));
  CHECK(error.code == ErrorCode::Timeout);
  CHECK(contains(error.message, "no reply within 0.3 s, after HTTP 502: upstream is gone"));
}

TEST_CASE("half an answer is tried again", "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1) client.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [");
    if (seen.number == 2) client.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + k_done.substr(0, 60));
    if (seen.number == 3) client.answer("200 OK", k_done);
  });
  CHECK(ask(server).value().text == "void kernel();");
  CHECK(server.requests().size() == 3);
}

TEST_CASE("half an answer again and again is Unavailable", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{\"choices\": [");
  });
  CHECK(failure(ask(server)).code == ErrorCode::Unavailable);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a connection that closes without a word is tried again", "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number > 1) client.answer("200 OK", k_done);
  });
  CHECK(ask(server));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a peer that speaks no HTTP is Unavailable", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.send("220 mail.example ESMTP\r\n"); });
  CHECK(failure(ask(server)).code == ErrorCode::Unavailable);
}

TEST_CASE("a web page is Unavailable with one line, and is not asked for again", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("200 OK", "<!DOCTYPE html>\n<html>\n<title>Please log in</title>\n" + std::string(100'000, 'x'));
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "web page"));
  CHECK(contains(error.message, "Please log in"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("the caller is told before a failed attempt is made again, why and after which wait",
          "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1)
      client.answer("429 Too Many Requests", R"({"error": {"message": "slow down"}})", "Retry-After: 1\r\n");
    else
      client.answer("200 OK", k_done);
  });
  std::vector<std::pair<std::string, std::chrono::milliseconds>> told;
  auto asked = seed_request();
  asked.on_retry = [&](const std::string& reason, std::chrono::milliseconds wait) { told.emplace_back(reason, wait); };
  REQUIRE(ask(server, asked));
  REQUIRE(told.size() == 1);
  CHECK(contains(told.front().first, "HTTP 429: slow down"));
  CHECK(told.front().second == 1s);
}

TEST_CASE("429 is tried again, not before the server wants it", "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1)
      client.answer("429 Too Many Requests", R"({"error": {"message": "slow down"}})", "Retry-After: 1\r\n");
    else
      client.answer("200 OK", k_done);
  });
  const auto took = time_of([&] { CHECK(ask(server).value().text == "void kernel();"); });
  CHECK(took >= 1s);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a server that wants us back after longer than a minute is not waited for", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("503 Service Unavailable", "", "Retry-After: 3600\r\n");
  });
  const auto took = time_of([&] {
    const auto error = failure(ask(server));
    CHECK(error.code == ErrorCode::Unavailable);
    CHECK(contains(error.message, "HTTP 503 (1 attempt, the server asks to wait 3600 s)"));
  });
  CHECK(took < 5s);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a server that only fails is Unavailable after the last attempt", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("500 Internal Server Error", R"({"error": {"message": "CUDA out of memory"}})");
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "HTTP 500: CUDA out of memory (3 attempts)"));
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a key that is not accepted is PermissionDenied at once", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("401 Unauthorized", R"({"error": {"message": "Incorrect API key provided: )" + k_server_key + "\"}}");
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::PermissionDenied);
  CHECK(contains(error.message, "Incorrect API key provided: [key]"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a key that is not accepted is told by where it came from", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("403 Forbidden", "no"); });
  auto options = server_options(server.base_url());
  options.key_source = "SOME_KEY";
  const auto message = [&] {
    return failure(make_server_client(options).value()->complete(seed_request(), {})).message;
  };
  CHECK(message().ends_with("HTTP 403: no; the key is that of SOME_KEY"));
  options.api_key.clear();
  CHECK(message().ends_with("HTTP 403: no; no key was sent, set SOME_KEY"));
}

TEST_CASE("a prompt that is too long is PromptTooLong with the provider's words", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("400 Bad Request", R"({"error": {"message": "maximum context length is 8192 tokens"}})");
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::PromptTooLong);
  CHECK(contains(error.message, "HTTP 400: maximum context length is 8192 tokens"));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("an answer without choices is Unavailable, never a reply", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", R"({"choices": []})"); });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "the answer is no chat completion"));
}

TEST_CASE("an answer that does not end is given up at the cap", "[llm][server_client]") {
  std::atomic<std::size_t> sent = 0;
  HttpServer server([&sent](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n\"");
    const std::string block(1u << 20, 'x');
    for (int i = 0; i < 128 && client.send(block); ++i) sent += block.size();
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "longer than 67108864 bytes"));
  CHECK(server.requests().size() == 1);
  CHECK(sent < 96u << 20);
}

TEST_CASE("an answer that stops is given up after the idle timeout and tried again", "[llm][server_client]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number > 1) return client.answer("200 OK", k_done);
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{");
    client.wait(20s);
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = 200ms;
  auto client = make_server_client(options).value();
  const auto took = time_of([&] { CHECK(client->complete(seed_request(), {})); });
  CHECK(took >= 200ms);
  CHECK(took < 5s);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("an answer that always stops is Unavailable and says so", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{");
    client.wait(20s);
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = 50ms;
  const auto error = failure(make_server_client(options).value()->complete(seed_request(), {}));
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "the answer stopped for 0.05 s (2 attempts)"));
}

TEST_CASE("a steady drip is not idle, and ends at the deadline", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{");
    while (client.wait(20ms) && client.send(" ")) {
    }
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = 400ms;
  auto asked = seed_request();
  asked.timeout = 1s;
  const auto took = time_of(
      [&] { CHECK(failure(make_server_client(options).value()->complete(asked, {})).code == ErrorCode::Timeout); });
  CHECK(took >= 1s);
  CHECK(took < 4s);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a drip that ends well is a reply", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 10; ++i) client.wait(30ms), client.send("\n");
    client.send(k_done);
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = 250ms;
  CHECK(make_server_client(options).value()->complete(seed_request(), {}).value().text == "void kernel();");
}

TEST_CASE("a redirection is not followed: the key stays with its host", "[llm][server_client]") {
  HttpServer elsewhere([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  HttpServer server([&](const Request&, const Connection& client) {
    client.answer("307 Temporary Redirect", "", "Location: " + elsewhere.base_url() + "/chat/completions\r\n");
  });
  const auto error = failure(ask(server));
  CHECK(error.code == ErrorCode::InvalidArgument);
  CHECK(contains(error.message, elsewhere.host()));
  CHECK(elsewhere.requests().empty());
}

TEST_CASE("cancellation ends a request within a moment", "[llm][server_client]") {
  std::latch arrived(1);
  HttpServer server([&](const Request&, const Connection& client) {
    arrived.count_down();
    client.wait(20s);
  });
  auto client = make_server_client(server_options(server.base_url())).value();
  std::stop_source source;
  Clock::time_point stopped;
  std::jthread canceller([&] {
    arrived.wait();
    stopped = Clock::now();
    source.request_stop();
  });
  const auto result = client->complete(seed_request(), source.get_token());
  const auto took = Clock::now() - stopped;
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Cancelled);
  // Milliseconds on an idle machine; without a wake-up it would be a second.
  CHECK(took < 500ms);
}

TEST_CASE("cancellation ends the wait between attempts", "[llm][server_client]") {
  std::latch answered(1);
  HttpServer server([&](const Request&, const Connection& client) {
    client.answer("429 Too Many Requests", "", "Retry-After: 15\r\n");
    answered.count_down();
  });
  auto client = make_server_client(server_options(server.base_url())).value();
  std::stop_source source;
  std::jthread canceller([&] {
    answered.wait();
    std::this_thread::sleep_for(50ms);
    source.request_stop();
  });
  const auto took = time_of(
      [&] { CHECK(client->complete(seed_request(), source.get_token()).error().code == ErrorCode::Cancelled); });
  CHECK(took < 5s);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a token that was triggered before sends nothing", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  std::stop_source source;
  source.request_stop();
  auto client = make_server_client(server_options(server.base_url())).value();
  CHECK(client->complete(seed_request(), source.get_token()).error().code == ErrorCode::Cancelled);
  CHECK(server.requests().empty());
}

TEST_CASE("a request without time left sends nothing", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  auto asked = seed_request();
  asked.timeout = 0ms;
  CHECK(failure(ask(server, asked)).code == ErrorCode::Timeout);
  CHECK(server.requests().empty());
}

TEST_CASE("requests of several threads run side by side", "[llm][server_client]") {
  constexpr int k_threads = 8;
  std::latch all(k_threads);
  HttpServer server([&](const Request&, const Connection& client) {
    // All requests arrive before the first one is answered.
    all.arrive_and_wait();
    client.answer("200 OK", k_done);
  });
  auto client = make_server_client(server_options(server.base_url())).value();
  std::atomic<int> replies = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < k_threads; ++i)
      threads.emplace_back([&] { replies += client->complete(seed_request(), {}).has_value() ? 1 : 0; });
  }
  CHECK(replies == k_threads);
}

TEST_CASE("requests leave the signals of the program alone", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection&) {});
  struct sigaction before {};
  struct sigaction after {};
  sigset_t blocked;
  sigaction(SIGPIPE, nullptr, &before);
  failure(ask(server));
  sigaction(SIGPIPE, nullptr, &after);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  CHECK(before.sa_handler == after.sa_handler);
  CHECK(sigismember(&blocked, SIGPIPE) == 0);
}

TEST_CASE("a proxy is used, except for the hosts that are reached without it", "[llm][server_client]") {
  HttpServer proxy([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  auto options = server_options(server.base_url());
  options.proxy = "http://" + proxy.host();
  REQUIRE(make_server_client(options).value()->complete(seed_request(), {}));
  REQUIRE(proxy.requests().size() == 1);
  CHECK(proxy.requests().front().head.rfind("POST " + server.base_url() + "/chat/completions", 0) == 0);
  CHECK(server.requests().empty());
  options.no_proxy = "localhost,127.0.0.1";
  REQUIRE(make_server_client(options).value()->complete(seed_request(), {}));
  CHECK(server.requests().size() == 1);
}

TEST_CASE("key, address and proxy come from the environment that is passed in", "[llm][llm_spec]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  HttpServer proxy([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  const auto runner = make_process_runner();
  LLMSpecContext context{.environment = {{"OPENAI_API_KEY", k_server_key}, {"OPENAI_BASE_URL", server.base_url()}},
                         .runner = *runner};
  REQUIRE(make_llm_client("openai:asked-model", context).value()->complete(seed_request(), {}));
  REQUIRE(server.requests().size() == 1);
  CHECK(contains(server.requests().front().head, "Authorization: Bearer " + k_server_key));
  context.environment["http_proxy"] = "http://" + proxy.host();
  REQUIRE(make_llm_client("openai:asked-model", context).value()->complete(seed_request(), {}));
  CHECK(proxy.requests().size() == 1);
  context.environment["NO_PROXY"] = "127.0.0.1";
  REQUIRE(make_llm_client("openai:asked-model", context).value()->complete(seed_request(), {}));
  CHECK(proxy.requests().size() == 1);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("the environment of the process is not looked at", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  const std::string unused = "http://127.0.0.1:" + std::to_string(unused_port());
  for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::setenv(name, unused.c_str(), 1);
  const auto reply = ask(server);
  for (const char* name : {"http_proxy", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  CHECK(reply);
}

namespace {

/// Replies by their numbers; those without one have the error's message.
std::map<int, std::string> several(const HttpServer& server, int count) {
  std::map<int, std::string> found;
  make_server_client(server_options(server.base_url()))
      .value()
      ->complete_several(seed_request(), count, {}, [&](int number, const Result<Reply>& reply) {
        CHECK(found.emplace(number, reply ? reply->text : reply.error().message).second);
      });
  return found;
}

std::string choices_of(std::initializer_list<const char*> texts) {
  std::string choices;
  for (const auto* text : texts)
    choices += (choices.empty() ? "" : ",") + std::string(R"({"finish_reason": "stop", "message": {"content": ")") +
               text + "\"}}";
  return R"({"choices": [)" + choices + "]}";
}

}  // namespace

TEST_CASE("several replies are asked for at once", "[llm][server_client][choices]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("200 OK", choices_of({"a", "b", "c"}));
  });
  CHECK(several(server, 3) == std::map<int, std::string>{{1, "a"}, {2, "b"}, {3, "c"}});
  CHECK(server.requests().size() == 1);
  CHECK(contains(server.requests().front().body, R"("n":3)"));
}

TEST_CASE("a server that gives fewer replies is asked for the rest", "[llm][server_client][choices]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", choices_of({"a"})); });
  CHECK(several(server, 3) == std::map<int, std::string>{{1, "a"}, {2, "a"}, {3, "a"}});
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a model that gives one reply only is asked for each", "[llm][server_client][choices]") {
  HttpServer server([](const Request& request, const Connection& client) {
    if (contains(request.body, R"("n":)"))
      client.answer("400 Bad Request",
                    R"({"error": {"message": "Unsupported value: 'n' does not support 3", "param": "n"}})");
    else
      client.answer("200 OK", choices_of({"a"}));
  });
  CHECK(several(server, 3) == std::map<int, std::string>{{1, "a"}, {2, "a"}, {3, "a"}});
  CHECK(server.requests().size() == 4);
}

TEST_CASE("a server that fails when it is asked for several replies is asked for each, from then on at once",
          "[llm][server_client][choices]") {
  HttpServer server([](const Request& request, const Connection& client) {
    if (contains(request.body, R"("n":)"))
      client.answer("501 Not Implemented", "n is not implemented");
    else
      client.answer("200 OK", choices_of({"a"}));
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  for (const std::size_t requests : {4, 7}) {
    int given = 0;
    client->complete_several(seed_request(), 3, {}, [&](int, const Result<Reply>& reply) { given += reply ? 1 : 0; });
    CHECK(given == 3);
    CHECK(server.requests().size() == requests);
  }
}

TEST_CASE("what is wrong with every request is asked twice, not as often as replies are wanted",
          "[llm][server_client][choices]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("404 Not Found", R"({"error": {"message": "no such model", "code": "model_not_found"}})");
  });
  const auto found = several(server, 20);
  CHECK(found.size() == 20);
  CHECK(contains(found.at(20), "no such model"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("choices that were cut by their limit are gone on with", "[llm][server_client][choices]") {
  HttpServer server([](const Request& request, const Connection& client) {
    const bool goes_on = contains(request.body, "Go on exactly where it ended");
    client.answer("200 OK", goes_on ? choices_of({" end"})
                                    : R"({"choices": [{"finish_reason": "length", "message": {"content": "a"}},
                                         {"finish_reason": "stop", "message": {"content": "b"}}]})");
  });
  std::map<int, std::string> found;
  auto request = seed_request();
  request.continuations = 1;
  make_server_client(server_options(server.base_url()))
      .value()
      ->complete_several(request, 2, {}, [&](int number, const Result<Reply>& reply) { found[number] = reply->text; });
  CHECK(found == std::map<int, std::string>{{1, "a end"}, {2, "b"}});
  CHECK(server.requests().size() == 2);
}

TEST_CASE("an exception of one who takes replies passes through", "[llm][server_client][choices]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", choices_of({"a"})); });
  const auto client = make_server_client(server_options(server.base_url())).value();
  CHECK_THROWS_WITH(client->complete_several(seed_request(), 3, {},
                                             [](int number, const Result<Reply>&) {
                                               if (number == 2) throw std::runtime_error("full");
                                             }),
                    "full");
}

TEST_CASE("an outage is told for each of several replies", "[llm][server_client][choices]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("402 Payment Required", "empty"); });
  const auto found = several(server, 2);
  REQUIRE(found.size() == 2);
  CHECK(contains(found.at(1), "HTTP 402"));
  CHECK(contains(found.at(2), "HTTP 402"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a reply's limit is never above the model's own", "[llm][server_client]") {
  HttpServer server([](const Request&, const Connection& client) { client.answer("200 OK", k_done); });
  auto options = server_options(server.base_url());
  options.terms.max_output_tokens = 100;
  auto request = seed_request();
  request.max_output_tokens = 32'000;
  REQUIRE(make_server_client(options).value()->complete(request, {}));
  CHECK(contains(server.requests().back().body, R"("max_tokens":100)"));
}
