#include <chrono>
#include <string>
#include <thread>

#include <kernelgen/llm/clients.hpp>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

Result<Reply> ask_shell(const std::string& script, std::stop_token stop = {}, std::chrono::milliseconds timeout = 20s) {
  const auto runner = make_process_runner();
  CommandClientOptions options;
  options.command = {"sh", "-c", script};
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  const auto client = make_command_client(options, *runner).value();
  LLMRequest request;
  request.id = "seed1.repair2";
  request.prompt = "write a kernel\n";
  request.temperature = 0.7;
  request.timeout = timeout;
  return client->complete(request, std::move(stop));
}

}  // namespace

TEST_CASE("a real program reads the prompt and the request's environment", "[llm][command_client]") {
  const auto reply = ask_shell("tr a-z A-Z; echo $KGEN_REQUEST_ID $KGEN_TEMPERATURE; env | grep -c KGEN_").value();
  CHECK(reply.text == "WRITE A KERNEL\nseed1.repair2 0.7\n2\n");
  CHECK(reply.latency > 0ns);
}

TEST_CASE("a real program that reads nothing still answers", "[llm][command_client]") {
  CHECK(ask_shell("echo reply").value().text == "reply\n");
}

TEST_CASE("a real program that fails is Unavailable with its last words", "[llm][command_client]") {
  const auto result = ask_shell("echo half; echo first >&2; echo 'rate limited' >&2; exit 3");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Unavailable);
  CHECK(result.error().message == "command sh: exit 3: rate limited");
}

TEST_CASE("a real program that kills itself is Unavailable", "[llm][command_client]") {
  const auto result = ask_shell("echo half; kill -9 $$");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Unavailable);
  CHECK(result.error().message == "command sh: signal 9 (SIGKILL)");
}

TEST_CASE("a real program that hangs is a Timeout", "[llm][command_client]") {
  const auto started = Clock::now();
  const auto result = ask_shell("echo half; sleep 20", {}, 300ms);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Timeout);
  CHECK(Clock::now() - started < 5s);
}

TEST_CASE("a real program that prints without end is Unavailable", "[llm][command_client]") {
  const auto result = ask_shell("head -c 20000000 /dev/zero | tr '\\0' x");
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Unavailable);
  CHECK(result.error().message == "command sh: the reply is longer than 16777216 bytes");
}

TEST_CASE("cancellation ends a real program", "[llm][command_client]") {
  std::stop_source source;
  const std::jthread canceller([&source] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  const auto started = Clock::now();
  const auto result = ask_shell("sleep 20", source.get_token());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Cancelled);
  CHECK(Clock::now() - started < 5s);
}
