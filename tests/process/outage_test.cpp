// Searches with a model on a misbehaving server, or in a misbehaving program.
#include <atomic>
#include <filesystem>
#include <fstream>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/llm/clients.hpp>

#include "process/http_server.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace {

const std::string k_kernel = R"({"model": "served", "choices": [{"finish_reason": "stop", "message": {"content":
  "```cpp\n// score 2\nint kgen_run(void*, const kgen_run_args*) { return 0; }\n```"}}],
  "usage": {"prompt_tokens": 11, "completion_tokens": 5}})";

std::unique_ptr<LLMClient> client_of(const std::string& base_url) {
  ServerClientOptions options;
  options.base_url = base_url;
  options.model = "m";
  return make_server_client(options).value();
}

/// Four samples, one after the other, with kgen's own waits and attempts.
Result<FlowOutcome> search(LLMClient& model, Journal& journal, std::chrono::milliseconds timeout = 600s) {
  auto request = fake_request();
  request.parallel_requests = 1;
  request.request_timeout = timeout;
  FakeBenchmarker benchmarker([](const EvaluationRequest& asked) { return judge_source(asked.candidate.source); });
  const FakePromptBuilder prompts;
  const FakeDetector detector;
  return run_flow(request, *make_one_shot_policy({.samples = 4}), {model, prompts, benchmarker, detector}, journal, {},
                  {});
}

/// The message of a paused run; checks that the model is not blamed.
std::string paused(const Result<FlowOutcome>& outcome, const Journal& journal) {
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::Pending);
  for (const auto& [id, result] : history_of(journal.events())) CHECK(result.status != ActionStatus::ModelFailed);
  CHECK(events_of<RequestFailed>(journal).empty());
  return outcome.error().message;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a server without quota after two replies pauses a search, which ends at another server",
          "[process][outage]") {
  std::atomic<int> left = 2;
  HttpServer first([&](const HttpServer::Request&, const HttpServer::Connection& connection) {
    if (left-- > 0) return connection.answer("200 OK", k_kernel);
    connection.answer("429 Too Many Requests", R"({"error": {"message": "quota", "code": "insufficient_quota"}})");
  });
  const auto journal = make_memory_journal(real_time());
  const auto started = Clock::now();
  const auto message = paused(search(*client_of(first.base_url()), *journal), *journal);
  CHECK(Clock::now() - started < 5s);
  CHECK(message ==
        "the model does not answer: openai m at " + first.host() + ": HTTP 429: quota; requests that wait: 2");
  CHECK(first.requests().size() == 4);

  HttpServer second([](const HttpServer::Request&, const HttpServer::Connection& connection) {
    connection.answer("200 OK", k_kernel);
  });
  const auto outcome = search(*client_of(second.base_url()), *journal);
  REQUIRE(outcome);
  CHECK(outcome->history.size() == 4);
  CHECK(second.requests().size() == 2);
  const auto replies = events_of<ReplyArrived>(*journal);
  REQUIRE(replies.size() == 4);
  CHECK(replies.front().endpoint == first.host());
  CHECK(replies.back().endpoint == second.host());
}

TEST_CASE("a port where nothing listens pauses a search within seconds", "[process][outage]") {
  const auto host = "127.0.0.1:" + std::to_string(unused_port());
  const auto journal = make_memory_journal(real_time());
  const auto started = Clock::now();
  const auto message = paused(search(*client_of("http://" + host + "/v1"), *journal), *journal);
  CHECK(Clock::now() - started < 8s);
  CHECK(holds(message, "the model does not answer: openai m at " + host + ": "));
  CHECK(holds(message, "(3 attempts)"));
}

TEST_CASE("a server that hangs pauses a search after two request timeouts", "[process][outage]") {
  HttpServer server([](const HttpServer::Request&, const HttpServer::Connection& connection) { connection.wait(60s); });
  const auto journal = make_memory_journal(real_time());
  const auto started = Clock::now();
  const auto message = paused(search(*client_of(server.base_url()), *journal, 500ms), *journal);
  CHECK(Clock::now() - started < 5s);
  CHECK(holds(message, "openai m at " + server.host() + ": no reply within 0.5 s"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("whatever else a server does instead of answering pauses a search", "[process][outage]") {
  struct Case {
    const char* status;
    const char* body;
    const char* words;
  };
  const Case wrong =
      GENERATE(Case{"500 Internal Server Error", "", "HTTP 500"}, Case{"408 Request Timeout", "", "HTTP 408"},
               Case{"402 Payment Required", "", "HTTP 402"}, Case{"200 OK", "<html>Please log in</html>", "web page"},
               Case{"200 OK", "{\"choices\": [", "cut or not JSON"},
               Case{"200 OK", R"({"error": {"message": "upstream"}})", "the provider reports"});
  HttpServer server([&](const HttpServer::Request&, const HttpServer::Connection& connection) {
    connection.answer(wrong.status, wrong.body);
  });
  ServerClientOptions options;
  options.base_url = server.base_url();
  options.model = "m";
  options.retry.base = 1ms;
  const auto client = make_server_client(options).value();
  const auto journal = make_memory_journal(real_time());
  CHECK(holds(paused(search(*client, *journal), *journal), wrong.words));
}

TEST_CASE("a program that fails pauses a search, which goes on once it works", "[process][outage]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-outage-").value();
  const auto script = directory.path() / "model";
  std::ofstream(script) << "cat > /dev/null\nif [ -e \"$0.works\" ]; then echo '```cpp'; echo '// score 2'; echo 'int "
                           "kgen_run(void*, const kgen_run_args*) { return 0; }'; echo '```'; exit; fi\n"
                           "echo 'rate limited' >&2; exit 3\n";
  const auto runner = make_process_runner();
  const auto client =
      make_command_client({.command = {"/bin/sh", script.string()}, .environment = {{"PATH", "/usr/bin:/bin"}}},
                          *runner)
          .value();
  const auto journal = make_memory_journal(real_time());
  const auto message = paused(search(*client, *journal), *journal);
  CHECK(holds(message, "the model does not answer: command /bin/sh: exit"));
  CHECK(holds(message, "rate limited; requests that wait: 2"));
  std::ofstream(script.string() + ".works") << "";
  const auto outcome = search(*client, *journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "sample1");
}
