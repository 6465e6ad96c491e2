#include <functional>
#include <limits>
#include <mutex>

#include <kernelgen/llm/clients.hpp>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

/// Runs nothing: answers from a function and keeps the last request.
class FakeRunner final : public ProcessRunner {
 public:
  explicit FakeRunner(std::function<Result<ProcessOutcome>()> answer) : answer_(std::move(answer)) {}
  explicit FakeRunner(ProcessOutcome outcome) : FakeRunner([outcome] { return Result<ProcessOutcome>(outcome); }) {}
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    ++runs;
    last = request;
    return answer_();
  }
  int runs = 0;
  ProcessRequest last;

 private:
  std::function<Result<ProcessOutcome>()> answer_;
};

ProcessOutcome outcome(int exit_code, std::string out, std::string err = {}) {
  ProcessOutcome outcome;
  outcome.exit_code = exit_code;
  outcome.standard_output = std::move(out);
  outcome.standard_error = std::move(err);
  outcome.duration = 3ms;
  return outcome;
}

std::unique_ptr<LLMClient> client_of(FakeRunner& runner) {
  CommandClientOptions options;
  options.command = {"/bin/sh", "--model", "m", "--key", "topsecret"};
  options.environment = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C"}};
  return make_command_client(options, runner).value();
}

LLMRequest request() {
  LLMRequest request;
  request.id = "seed1.repair2";
  request.prompt = "write\na kernel";
  request.temperature = 0.25;
  request.timeout = 7s;
  return request;
}

Error failure(FakeRunner& runner, const LLMRequest& asked = request()) {
  auto result = client_of(runner)->complete(asked, {});
  REQUIRE_FALSE(result);
  CHECK(result.error().to_line().find("topsecret") == std::string::npos);
  CHECK(result.error().to_line().find('\n') == std::string::npos);
  return result.error();
}

}  // namespace

TEST_CASE("a program gets the prompt on its input and the request in its environment", "[llm][command_client]") {
  FakeRunner runner(outcome(0, "```cpp\nint x;\n```\n"));
  const auto reply = client_of(runner)->complete(request(), {}).value();
  CHECK(reply.text == "```cpp\nint x;\n```\n");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{});
  CHECK(reply.model.empty());
  CHECK(reply.latency == 3ms);
  CHECK(runner.last.command.size() == 5);
  CHECK(runner.last.standard_input == "write\na kernel");
  CHECK(runner.last.timeout == 7s);
  CHECK(runner.last.environment == std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"},
                                                                      {"LANG", "C"},
                                                                      {"KGEN_REQUEST_ID", "seed1.repair2"},
                                                                      {"KGEN_TEMPERATURE", "0.25"}});
}

TEST_CASE("a program that fails is Unavailable with the last line of its errors", "[llm][command_client]") {
  FakeRunner runner(outcome(3, "I am no reply", "Traceback\n  \x1b[31mConnectionError: gone\x1b[0m\n\n"));
  const auto error = failure(runner);
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(error.message == "command /bin/sh: exit 3: ConnectionError: gone");
}

TEST_CASE("a program that fails in silence is Unavailable all the same", "[llm][command_client]") {
  FakeRunner runner(outcome(1, ""));
  CHECK(failure(runner).message == "command /bin/sh: exit 1");
  ProcessOutcome killed;
  killed.signal = 9;
  FakeRunner second(killed);
  CHECK(failure(second).code == ErrorCode::Unavailable);
}

TEST_CASE("a program that says nothing is Unavailable", "[llm][command_client]") {
  FakeRunner runner(outcome(0, " \n\n", "warning: no key\n"));
  const auto error = failure(runner);
  CHECK(error.code == ErrorCode::Unavailable);
  CHECK(error.message == "command /bin/sh: the reply is empty: warning: no key");
}

TEST_CASE("a program that is too slow is a Timeout", "[llm][command_client]") {
  auto late = outcome(0, "half a rep");
  late.timed_out = true;
  FakeRunner runner(late);
  const auto error = failure(runner);
  CHECK(error.code == ErrorCode::Timeout);
  CHECK(error.message == "command /bin/sh: no reply within 7 s");
}

TEST_CASE("a reply of a program that was cut at the cap is none", "[llm][command_client]") {
  auto flood = outcome(0, std::string(16u << 20, 'x'));
  flood.output_truncated = true;
  FakeRunner runner(flood);
  CHECK(failure(runner).code == ErrorCode::Unavailable);
  // A flood of warnings is no reason to lose the reply.
  auto noisy = outcome(0, "reply");
  noisy.output_truncated = true;
  FakeRunner second(noisy);
  CHECK(client_of(second)->complete(request(), {}).value().text == "reply");
}

TEST_CASE("a program that does not start keeps the runner's error", "[llm][command_client]") {
  FakeRunner runner([]() -> Result<ProcessOutcome> { return Error{ErrorCode::MissingTool, "no such program", {}}; });
  const auto error = failure(runner);
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.to_line() == "asking command /bin/sh: no such program");
}

TEST_CASE("a reply that is not UTF-8 is made so", "[llm][command_client]") {
  FakeRunner runner(outcome(0, "a\xFF\nb"));
  CHECK(client_of(runner)->complete(request(), {}).value().text == "a\xEF\xBF\xBD\nb");
}

TEST_CASE("a program is not started for nothing", "[llm][command_client]") {
  FakeRunner runner(outcome(0, "reply"));
  std::stop_source source;
  source.request_stop();
  CHECK(client_of(runner)->complete(request(), source.get_token()).error().code == ErrorCode::Cancelled);
  auto asked = request();
  asked.timeout = 0ms;
  CHECK(failure(runner, asked).code == ErrorCode::Timeout);
  asked = request();
  asked.temperature = std::numeric_limits<double>::quiet_NaN();
  CHECK(failure(runner, asked).code == ErrorCode::InvalidArgument);
  CHECK(runner.runs == 0);
}

TEST_CASE("a command client describes itself without its arguments", "[llm][command_client]") {
  FakeRunner runner(outcome(0, "reply"));
  CHECK(client_of(runner)->identity() == "command sh");
  CHECK(client_of(runner)->endpoint() == "/bin/sh");
}

TEST_CASE("a command that names no program is refused", "[llm][command_client]") {
  FakeRunner runner(outcome(0, "reply"));
  const std::map<std::string, std::string> path{{"PATH", "/usr/bin:/bin"}};
  CHECK(make_command_client({{}, path}, runner).error().code == ErrorCode::InvalidArgument);
  CHECK(make_command_client({{""}, path}, runner).error().code == ErrorCode::InvalidArgument);
  CHECK(make_command_client({{"kernelgen-no-such-program"}, path}, runner).error().code == ErrorCode::MissingTool);
}
