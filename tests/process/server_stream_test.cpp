// Replies that stream in, from a server of this process that sends whatever bytes a test wants.

#include <atomic>
#include <future>
#include <latch>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <kernelgen/llm/clients.hpp>

#include "process/asking.hpp"
#include "process/http_server.hpp"
#include "support/catch.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
using kernelgen::testing::HttpServer;
using kernelgen::testing::k_server_key;
using kernelgen::testing::seed_request;
using kernelgen::testing::server_options;
using Connection = HttpServer::Connection;
using Request = HttpServer::Request;
using Clock = std::chrono::steady_clock;

namespace {

const std::string k_stream_head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
const std::string k_half = "data: {\"choices\":[{\"delta\":{\"content\":\"void \"}}]}\n\n";
const std::string k_rest =
    "data: {\"choices\":[{\"delta\":{\"content\":\"kernel();\"},\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\ndata: [DONE]\n\n";

Result<Reply> ask_streaming(const HttpServer& server) {
  return make_server_client(server_options(server.base_url())).value()->complete(seed_request(), {});
}

/// The error of a request, and how often the server was asked.
Error streaming_failure(const HttpServer& server, std::size_t requests, ServerClientOptions options) {
  const auto result = make_server_client(std::move(options)).value()->complete(seed_request(), {});
  REQUIRE_FALSE(result);
  CHECK(server.requests().size() == requests);
  CHECK_FALSE(contains(result.error().to_line(), k_server_key));
  CHECK(result.error().to_line().size() < 400);
  return result.error();
}

Error streaming_failure(const HttpServer& server, std::size_t requests) {
  return streaming_failure(server, requests, server_options(server.base_url()));
}

/// A chunk of "Transfer-Encoding: chunked".
std::string chunk(const std::string& bytes) {
  char size[20];
  std::snprintf(size, sizeof size, "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

/// {"choices":[{"message":{"content":"void kernel();"},"finish_reason":"stop"}]}
const std::string k_gzip_body(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x0d\xca\xc1\x09\x80\x30"
    "\x0c\x05\xd0\x55\xe4\x9f\x14\x9c\xa0\x8e\x22\x22\xa5\x46\x1b\xd4"
    "\x44\x9a\xe2\x25\x74\x77\x7d\xe7\xe7\x48\x59\x39\x91\x21\xcc\x8e"
    "\x9b\xcc\xe2\x41\x08\x8e\xa4\x52\x49\x2a\x02\x5e\xe5\xad\x3b\xa9"
    "\x08\x5d\xfd\x30\xa1\x8d\xd8\x59\xd8\xf2\x5a\x28\x9a\xca\x3f\xac"
    "\xea\x83\xb6\xb4\x0f\x21\x3a\xaf\xc1\x4d\x00\x00\x00",
    93);

}  // namespace

TEST_CASE("a reply that streams in arrives whole, with its usage and its first output", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + k_half.substr(0, 20));
    client.wait(20ms);
    client.send(k_half.substr(20));
    client.wait(20ms);
    client.send(k_rest);
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.text == "void kernel();");
  CHECK(reply.usage == TokenUsage{7, 3, {}, {}, {}});
  REQUIRE(reply.first_output);
  CHECK(*reply.first_output >= 20ms);
  CHECK(*reply.first_output <= reply.latency);
  CHECK(contains(server.requests().front().body, R"("stream":true)"));
}

TEST_CASE("progress is told while a reply streams in", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hmm\"}}]}\n\n");
    client.wait(150ms);
    client.send(k_half);
    client.wait(150ms);
    client.send(k_rest);
  });
  std::vector<LLMProgress> told;
  auto request = seed_request();
  request.on_progress = [&](const LLMProgress& progress) { told.push_back(progress); };
  REQUIRE(make_server_client(server_options(server.base_url())).value()->complete(request, {}));
  REQUIRE(told.size() >= 2);
  CHECK(told.front().reasoning_bytes == 3);
  CHECK(told.front().text_bytes == 0);
  CHECK(told[1].text_bytes == 5);
}

TEST_CASE("an observer that blocks or throws holds up no other request", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + k_half);
    client.wait(300ms);
    client.send(k_rest);
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  std::promise<void> blocks, may_go_on;
  auto blocked = seed_request();
  blocked.on_progress = [&, first = true](const LLMProgress&) mutable {
    if (!std::exchange(first, false)) return;
    blocks.set_value();
    may_go_on.get_future().wait();
  };
  auto waiting = std::async(std::launch::async, [&] { return client->complete(blocked, {}); });
  blocks.get_future().wait();
  CHECK(client->complete(seed_request(), {}));
  auto throwing = seed_request();
  throwing.on_progress = [](const LLMProgress&) { throw std::runtime_error("no display"); };
  CHECK_THROWS_WITH(client->complete(throwing, {}), "no display");
  // The connection is given up, and the client goes on working.
  CHECK(client->complete(seed_request(), {}));
  may_go_on.set_value();
  CHECK(waiting.get());
}

TEST_CASE("a request and what it goes on with have one deadline", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    client.send(k_stream_head);
    if (seen.number > 1) client.wait(20s);
    client.wait(2s);
    client.send("data: {\"choices\":[{\"delta\":{\"content\":\"void \"},\"finish_reason\":\"length\"}]}\n\n");
  });
  auto request = seed_request();
  request.continuations = 3;
  request.timeout = 3s;
  const auto begun = Clock::now();
  const auto reply = make_server_client(server_options(server.base_url())).value()->complete(request, {}).value();
  CHECK(reply.text == "void ");
  CHECK(reply.finish == FinishReason::Length);
  CHECK(Clock::now() - begun < 4'500ms);
}

TEST_CASE("waiting for one's turn takes nothing off the time of a request", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1)
      return client.answer("200 OK", R"({"choices":[{"finish_reason":"stop","message":{"content":"x"}}]})",
                           "x-ratelimit-limit-requests: 1\r\nx-ratelimit-remaining-requests: 0\r\n"
                           "x-ratelimit-reset-requests: 2s\r\n");
    client.wait(500ms);
    client.send(k_stream_head + k_half + k_rest);
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  REQUIRE(client->complete(seed_request(), {}));
  auto request = seed_request();
  request.timeout = 1'500ms;
  CHECK(client->complete(request, {}).value().text == "void kernel();");
}

TEST_CASE("a chunked stream with CRLF and comments arrives whole", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.send(chunk(": keep-alive\r\n\r\nevent: message\r\n" + k_half.substr(0, 30)));
    client.send(chunk(k_half.substr(30) + k_rest));
    client.send(chunk(""));
  });
  CHECK(ask_streaming(server).value().text == "void kernel();");
}

TEST_CASE("a slow drip of single bytes is waited for", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head);
    for (const char byte : k_half.substr(0, 40)) {
      client.send(std::string(1, byte));
      client.wait(3ms);
    }
    client.send(k_half.substr(40) + k_rest);
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = 2s;
  CHECK(make_server_client(options).value()->complete(seed_request(), {}).value().text == "void kernel();");
}

TEST_CASE("a stream that is reset after some bytes is asked for again, three times in all", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) { client.send(k_stream_head + k_half); });
  const auto error = streaming_failure(server, 3);
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "the stream ended after 5 bytes of the reply: void (3 attempts)"));
}

TEST_CASE("half an event at the end of a stream is no reply", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    client.send(k_stream_head + k_half + (seen.number == 1 ? k_rest.substr(0, 70) : k_rest));
  });
  CHECK(ask_streaming(server).value().text == "void kernel();");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("an error in mid-stream is an outage, and what came before it no reply", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + k_half + "data: {\"error\":{\"message\":\"worker died, key " + k_server_key +
                "\"}}\n\n");
  });
  const auto error = streaming_failure(server, 3);
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "the provider reports: worker died, key [key] (3 attempts)"));
}

TEST_CASE("a prompt that is too long is told apart within a stream", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: {\"error\":{\"message\":\"Your input exceeds the context window\"}}\n\n");
  });
  CHECK(streaming_failure(server, 1).code == ErrorCode::PromptTooLong);
}

TEST_CASE("a server that answers a streamed request in one piece is understood", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("200 OK", R"({"choices":[{"message":{"content":"void kernel();"},"finish_reason":"stop"}]})");
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.text == "void kernel();");
  CHECK_FALSE(reply.first_output);
}

TEST_CASE("a stream of the wrong content type is understood", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + k_half + k_rest);
  });
  CHECK(ask_streaming(server).value().text == "void kernel();");
}

TEST_CASE("a compressed answer is read", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("200 OK", k_gzip_body, "Content-Encoding: gzip\r\n");
  });
  CHECK(ask_streaming(server).value().text == "void kernel();");
  CHECK(contains(server.requests().front().head, "Accept-Encoding: "));
}

TEST_CASE("a stream of 100 MB is given up, without taking its memory", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head);
    const std::string piece =
        "data: {\"choices\":[{\"delta\":{\"content\":\"" + std::string(1 << 20, 'x') + "\"}}]}\n\n";
    for (int i = 0; i < 100; ++i)
      if (!client.send(piece)) return;
  });
  const auto error = streaming_failure(server, 1);
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(contains(error.message, "longer than 67108864 bytes"));
}

TEST_CASE("a line that never ends is given up", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: ");
    while (client.send(std::string(1 << 20, 'x'))) {
    }
  });
  CHECK(contains(streaming_failure(server, 1).message, "longer than 67108864 bytes"));
}

TEST_CASE("a stream with NUL and bytes that are no UTF-8 is read", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: {\"choices\":[{\"delta\":{\"content\":\"a\xFFz\\u0000\"}}]}\n\n" + k_rest);
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.text.starts_with("a\xEF\xBF\xBDz"));
  CHECK(reply.text.ends_with("kernel();"));
}

TEST_CASE("a NUL byte within a stream costs the attempt", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    client.send(k_stream_head + (seen.number == 1 ? "data: {" + std::string(3, '\0') + "}\n\n" : k_half) + k_rest);
  });
  CHECK(ask_streaming(server).value().text == "void kernel();");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a stream whose choices are empty is no reply", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: {\"choices\":[]}\n\ndata: [DONE]\n\n");
  });
  CHECK(contains(streaming_failure(server, 3).message, "the stream ended after 0 bytes of the reply"));
}

TEST_CASE("a reply that only calls tools is a reply without text", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head +
                "data: {\"choices\":[{\"delta\":{\"content\":null,\"tool_calls\":[{\"index\":0}]},\"finish_reason\":"
                "\"tool_calls\"}]}\n\n");
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.text.empty());
  CHECK(reply.finish == FinishReason::Other);
}

TEST_CASE("what a filter of the provider refuses is a reply that says so", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.answer("400 Bad Request", R"({"error":{"code":"content_filter","message":"The response was filtered"}})");
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.finish == FinishReason::Refused);
  CHECK(reply.text == "The response was filtered");
}

TEST_CASE("a temperature that the model refuses is left out, at once and from then on", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (contains(seen.body, "\"temperature\""))
      client.answer("400 Bad Request",
                    R"({"error":{"message":"Unsupported value: 'temperature' does not support 0.7"}})");
    else
      client.send(k_stream_head + k_half + k_rest);
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  CHECK(client->complete(seed_request(), {}).value().left_out == "temperature");
  CHECK(client->complete(seed_request(), {}).value().left_out == "temperature");
  CHECK(server.requests().size() == 3);
}

TEST_CASE("a reply that was cut by its limit is gone on with, as often as wanted", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    const bool goes_on = contains(seen.body, "Go on exactly where it ended");
    CHECK(goes_on == (seen.number == 2 || seen.number == 4));
    client.send(k_stream_head + (goes_on
                                     ? k_rest
                                     : "data: {\"choices\":[{\"delta\":{\"content\":\"void \"},\"finish_reason\":"
                                       "\"length\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n"));
  });
  auto request = seed_request();
  request.continuations = 1;
  const auto reply = make_server_client(server_options(server.base_url())).value()->complete(request, {}).value();
  CHECK(reply.text == "void kernel();");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{12, 4, {}, {}, {}});
  CHECK(server.requests().size() == 2);
  CHECK(ask_streaming(server).value().finish == FinishReason::Length);
  CHECK(server.requests().size() == 3);
}

TEST_CASE("the beginning of a reply stays when the rest cannot be had", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number > 1) return client.answer("500 Internal Server Error", "gone");
    client.send(k_stream_head +
                "data: {\"choices\":[{\"delta\":{\"content\":\"void \"},\"finish_reason\":\"length\"}]}\n\n");
  });
  auto request = seed_request();
  request.continuations = 3;
  const auto reply = make_server_client(server_options(server.base_url())).value()->complete(request, {}).value();
  CHECK(reply.text == "void ");
  CHECK(reply.finish == FinishReason::Length);
}

TEST_CASE("a server that refuses everything in turn is asked without it, and no further", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    for (const char* name : {"temperature", "stream_options", "stream"})
      if (contains(seen.body, '"' + std::string(name) + '"'))
        return client.answer("400 Bad Request", "{\"error\":\"unknown field: " + std::string(name) + "\"}");
    client.answer("400 Bad Request", R"({"error":"unknown field: model"})");
  });
  const auto error = streaming_failure(server, 4);
  CHECK(error.code == ErrorCode::InvalidArgument);
  CHECK(contains(error.message, "HTTP 400: unknown field: model"));
}

TEST_CASE("a key that a server repeats is nowhere in a reply", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nx-request-id: " + k_server_key +
                "\r\nConnection: close\r\n\r\n" + "data: {\"model\":\"m " + k_server_key +
                "\",\"choices\":[{\"delta\":{\"content\":\"// " + k_server_key.substr(0, 9) + "\"}}]}\n\n" +
                "data: {\"choices\":[{\"delta\":{\"content\":\"" + k_server_key.substr(9) + "\"}}]}\n\n" + k_rest);
  });
  const auto reply = ask_streaming(server).value();
  CHECK(reply.text == "// [key]kernel();");
  CHECK(reply.model == "m [key]");
  CHECK(reply.request_id == "[key]");
}

TEST_CASE("an address that the server does not know is shown", "[llm][server_stream]") {
  HttpServer server(
      [](const Request&, const Connection& client) { client.answer("404 Not Found", R"({"detail":"Not Found"})"); });
  const auto error = streaming_failure(server, 1);
  CHECK(contains(error.message,
                 "HTTP 404: Not Found; asked for " + server.base_url() + "/chat/completions; is the base URL right?"));
}

TEST_CASE("a header for keys that is none is refused", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) { client.send(k_stream_head + k_half + k_rest); });
  auto options = server_options(server.base_url());
  for (const char* header : {"X-Key", ": ", "X-Key: a\r\nX-More: "}) {
    options.key_header = header;
    CHECK(make_server_client(options).error().code == ErrorCode::InvalidArgument);
  }
  options.key_header = "X-Key: ";
  REQUIRE(make_server_client(options).value()->complete(seed_request(), {}));
  CHECK(contains(server.requests().front().head, "\r\nX-Key: " + k_server_key + "\r\n"));
}

TEST_CASE("a server that does not begin to answer is given up after its own limit", "[llm][server_stream]") {
  HttpServer server([](const Request& seen, const Connection& client) {
    if (seen.number == 1) client.wait(20s);
    client.send(k_stream_head + k_half + k_rest);
  });
  auto options = server_options(server.base_url());
  options.first_byte_timeout = 100ms;
  CHECK(make_server_client(options).value()->complete(seed_request(), {}).value().text == "void kernel();");
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a stream is cancelled within a tenth of a second", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + k_half);
    client.wait(20s);
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  std::stop_source stop;
  std::promise<void> begun;
  auto request = seed_request();
  std::atomic<bool> told = false;
  request.on_progress = [&](const LLMProgress&) {
    if (!told.exchange(true)) begun.set_value();
  };
  auto reply = std::async(std::launch::async, [&] { return client->complete(request, stop.get_token()); });
  begun.get_future().wait();
  const auto stopped = Clock::now();
  stop.request_stop();
  CHECK(reply.get().error().code == ErrorCode::Cancelled);
  CHECK(Clock::now() - stopped < 5s);
}

TEST_CASE("clients of a model with one key share what a server tells them to wait", "[llm][server_stream]") {
  std::atomic<int> refused = 0;
  const auto begun = Clock::now();
  HttpServer server([&](const Request& seen, const Connection& client) {
    if (seen.number == 1) {
      ++refused;
      return client.answer("429 Too Many Requests", R"({"error":{"message":"slow down"}})", "retry-after-ms: 600\r\n");
    }
    client.send(k_stream_head + k_half + k_rest);
  });
  auto options = server_options(server.base_url());
  options.traffic = make_server_traffic().value();
  const auto first = make_server_client(options).value();
  const auto second = make_server_client(options).value();
  options.model = "another";
  const auto other = make_server_client(options).value();
  std::promise<void> was_refused;
  auto request = seed_request();
  request.on_retry = [&](const std::string&, std::chrono::milliseconds) { was_refused.set_value(); };
  auto waiting = std::async(std::launch::async, [&] { return first->complete(request, {}); });
  was_refused.get_future().wait();
  // Servers count for each model.
  auto held = seed_request();
  held.on_retry = [](const std::string&, std::chrono::milliseconds) { FAIL("another model was held back"); };
  REQUIRE(other->complete(held, {}));
  REQUIRE(second->complete(seed_request(), {}));
  CHECK(Clock::now() - begun >= 600ms);
  REQUIRE(waiting.get());
  CHECK(server.requests().size() == 4);
}

TEST_CASE("a limit that is reset in a moment is waited for, and one of tomorrow is an outage", "[llm][server_stream]") {
  std::string reset = "300ms";
  HttpServer server([&](const Request&, const Connection& client) {
    client.send(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\nx-ratelimit-limit-requests: 1\r\n"
        "x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: " +
        reset + "\r\n\r\n" + k_half + k_rest);
  });
  const auto client = make_server_client(server_options(server.base_url())).value();
  std::vector<std::string> told;
  auto request = seed_request();
  request.on_retry = [&](const std::string& reason, std::chrono::milliseconds) { told.push_back(reason); };
  REQUIRE(client->complete(request, {}));
  reset = "20h0m0s";
  const auto begun = Clock::now();
  REQUIRE(client->complete(request, {}));
  CHECK(Clock::now() - begun >= 200ms);
  CHECK(told == std::vector<std::string>{"the limits of the server"});
  const auto refused = client->complete(request, {}).error();
  CHECK(refused.code == ErrorCode::Unavailable);
  CHECK(contains(refused.message, "the server's limit is used up for 7"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("no more requests are in flight than the options allow", "[llm][server_stream]") {
  std::atomic<int> now = 0, most = 0;
  HttpServer server([&](const Request&, const Connection& client) {
    const int mine = ++now;
    for (int seen = most; mine > seen && !most.compare_exchange_weak(seen, mine);) {
    }
    client.wait(20ms);
    --now;
    client.send(k_stream_head + k_half + k_rest);
  });
  auto options = server_options(server.base_url());
  options.max_concurrent = 3;
  const auto client = make_server_client(options).value();
  std::vector<std::future<Result<Reply>>> replies;
  for (int i = 0; i < 20; ++i)
    replies.push_back(std::async(std::launch::async, [&] { return client->complete(seed_request(), {}); }));
  for (auto& reply : replies) CHECK(reply.get());
  CHECK(most <= 3);
  CHECK(most > 1);
}

TEST_CASE("a model that thinks after its server has begun the stream is waited for", "[llm][server_stream]") {
  HttpServer server([](const Request&, const Connection& client) {
    client.send(k_stream_head + "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    client.send("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = std::chrono::milliseconds(200);
  CHECK(make_server_client(options).value()->complete(seed_request(), {}).value().text == "x");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a whole reply counts even if its connection does not end", "[llm][server_stream]") {
  std::latch over(1);
  HttpServer server([&](const Request&, const Connection& client) {
    client.send(k_stream_head +
                "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    over.wait();
  });
  auto options = server_options(server.base_url());
  options.idle_timeout = std::chrono::milliseconds(200);
  const auto reply = make_server_client(options).value()->complete(seed_request(), {});
  over.count_down();
  REQUIRE(reply);
  CHECK(reply->text == "x");
  CHECK(server.requests().size() == 1);
}
