#include <filesystem>
#include <thread>

#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/scripted_client.hpp>

#include "support/catch.hpp"
#include "support/file_size_limit.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view k_two_lines =
    R"({"schema":1,"id":"seed1","fingerprint":"aa11","reply":{"text":"one","finish":"length","usage":{"input_tokens":7},"model":"m","latency_ns":5000000}}
{"schema":1,"id":"seed2","fingerprint":"bb22","reply":{"text":"two"}}
)";

struct Scratch {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  fs::path file = directory.path() / "replies.jsonl";
  void write(std::string_view text) const { REQUIRE(write_file_atomic(file, text)); }
  [[nodiscard]] std::string text() const { return read_file(file).value(); }
};

LLMRequest request_named(const std::string& id, const std::string& fingerprint = {}) {
  LLMRequest request;
  request.id = id;
  request.prompt = "write " + id;
  request.fingerprint = fingerprint;
  return request;
}

std::unique_ptr<LLMClient> replay(const Scratch& scratch, ReplayMode mode = ReplayMode::Strict) {
  return make_replay_client(scratch.file, mode).value();
}

std::unique_ptr<LLMClient> recorder(const Scratch& scratch, std::vector<Result<Reply>> replies) {
  return make_recording_client(std::make_unique<ScriptedLLMClient>(std::move(replies)), scratch.file).value();
}

Error unreadable(const Scratch& scratch, std::string_view text) {
  scratch.write(text);
  auto client = make_replay_client(scratch.file, ReplayMode::Lenient);
  REQUIRE_FALSE(client);
  return client.error();
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a recorded reply comes back whole", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  const auto client = replay(scratch);
  const auto reply = client->complete(request_named("seed1", "aa11"), {}).value();
  CHECK(reply.text == "one");
  CHECK(reply.finish == FinishReason::Length);
  CHECK(reply.usage.input_tokens == 7);
  CHECK_FALSE(reply.usage.output_tokens);
  CHECK(reply.model == "m");
  CHECK(reply.latency == 5ms);
  CHECK(client->complete(request_named("seed2", "bb22"), {}).value().text == "two");
  CHECK(client->identity() == "replay");
  CHECK(client->endpoint() == scratch.file.string());
}

TEST_CASE("a request that was not recorded is NotFound and says how to record it", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  for (const auto mode : {ReplayMode::Strict, ReplayMode::Lenient}) {
    const auto result = replay(scratch, mode)->complete(request_named("seed3"), {});
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::NotFound);
    const auto file = scratch.file.string();
    CHECK(result.error().message == "no reply to \"seed3\" in " + file + "; record the replies anew into " + file);
  }
}

TEST_CASE("a prompt that changed is InvalidArgument when strict, and says how to record it", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  const auto result = replay(scratch)->complete(request_named("seed1", "cc33"), {});
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::InvalidArgument);
  CHECK(holds(result.error().message, "fingerprint cc33, recorded aa11"));
  CHECK(holds(result.error().message, "record the replies anew into " + scratch.file.string()));
  CHECK(replay(scratch, ReplayMode::Lenient)->complete(request_named("seed1", "cc33"), {}).value().text == "one");
}

TEST_CASE("a request without a fingerprint is not compared", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  CHECK(replay(scratch)->complete(request_named("seed1"), {}).value().text == "one");
}

TEST_CASE("a later recording of the same request wins", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(std::string(k_two_lines) +
                R"({"schema":1,"id":"seed1","fingerprint":"aa11","reply":{"text":"newer"}})" + "\n" +
                R"({"schema":1,"id":"seed1","fingerprint":"dd44","reply":{"text":"of another prompt"}})" + "\n");
  const auto client = replay(scratch);
  CHECK(client->complete(request_named("seed1", "aa11"), {}).value().text == "newer");
  CHECK(client->complete(request_named("seed1", "dd44"), {}).value().text == "of another prompt");
  CHECK(client->complete(request_named("seed1"), {}).value().text == "of another prompt");
  const auto lenient = replay(scratch, ReplayMode::Lenient);
  CHECK(lenient->complete(request_named("seed1", "aa11"), {}).value().text == "newer");
  CHECK(lenient->complete(request_named("seed1", "ee55"), {}).value().text == "of another prompt");
}

TEST_CASE("a replay that is cancelled does not answer", "[llm][replay_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  std::stop_source source;
  source.request_stop();
  CHECK(replay(scratch)->complete(request_named("seed1"), source.get_token()).error().code == ErrorCode::Cancelled);
}

TEST_CASE("a torn last line is ignored, a whole one without its end is not", "[llm][replay_client]") {
  Scratch scratch;
  const std::string text(k_two_lines);
  // At any position of the crash.
  for (const std::size_t cut : {1, 2, 20, 60}) {
    scratch.write(text.substr(0, text.size() - 1 - cut));
    const auto client = replay(scratch);
    CHECK(client->complete(request_named("seed1"), {}));
    CHECK(client->complete(request_named("seed2"), {}).error().code == ErrorCode::NotFound);
  }
  scratch.write(text.substr(0, text.size() - 1));
  CHECK(replay(scratch)->complete(request_named("seed2"), {}).value().text == "two");
}

TEST_CASE("other damage is an error with its line number", "[llm][replay_client]") {
  Scratch scratch;
  const std::string text(k_two_lines);
  const auto where = scratch.file.string();
  const auto in_the_middle = unreadable(scratch, "{\"schema\":1,\"id\":\"se\n" + text);
  CHECK(in_the_middle.code == ErrorCode::InvalidArgument);
  CHECK(in_the_middle.message.rfind(where + ":1: not a recorded reply: not JSON", 0) == 0);
  // A line with an end was not torn.
  CHECK(holds(unreadable(scratch, text + "{\n").message, where + ":3: "));
  CHECK(holds(unreadable(scratch, text + "\n[]\n").message, ":4: not a recorded reply: it has no schema number"));
  CHECK(holds(unreadable(scratch, "{\"schema\":0}\n").message, "it has no schema number"));
  CHECK(holds(unreadable(scratch, "{\"schema\":1,\"reply\":{\"text\":\"\"}}\n").message, "it has no id"));
  CHECK(holds(unreadable(scratch, "{\"schema\":1,\"id\":\"a\"}\n").message, "it has no text"));
  CHECK(holds(unreadable(scratch, "{\"schema\":1,\"id\":\"a\",\"reply\":{\"model\":\"m\"}}\n").message, "no text"));
  CHECK(holds(unreadable(scratch, "{\"schema\":1,\"id\":\"a\",\"reply\":{\"text\":7}}\n").message, "reply.text: "));
}

TEST_CASE("a recording of a newer kernelgen is Unsupported", "[llm][replay_client]") {
  Scratch scratch;
  const auto error = unreadable(scratch, "{\"schema\":2,\"id\":\"a\"}\n");
  CHECK(error.code == ErrorCode::Unsupported);
  CHECK(holds(error.message, ":1: recording schema 2 is not known"));
}

TEST_CASE("a recording that is not there is NotFound, an empty one knows nothing", "[llm][replay_client]") {
  Scratch scratch;
  CHECK(make_replay_client(scratch.file, ReplayMode::Strict).error().code == ErrorCode::NotFound);
  scratch.write("");
  CHECK(replay(scratch)->complete(request_named("seed1"), {}).error().code == ErrorCode::NotFound);
}

TEST_CASE("what was recorded is what is replayed", "[llm][recording_client]") {
  Scratch scratch;
  Reply reply;
  reply.text = "```cpp\n\"quoted\"\t\xC3\xA9\n```";
  reply.finish = FinishReason::Refused;
  reply.usage = {1, 2, std::nullopt, 4};
  reply.model = "gpt";
  reply.latency = 1234567ns;
  const auto client = recorder(scratch, {reply});
  CHECK(client->complete(request_named("seed1", "f00"), {}).value().text == reply.text);
  const auto replayed = replay(scratch)->complete(request_named("seed1", "f00"), {}).value();
  CHECK(replayed.text == reply.text);
  CHECK(replayed.finish == reply.finish);
  CHECK(replayed.usage == reply.usage);
  CHECK(replayed.model == reply.model);
  CHECK(replayed.latency == reply.latency);
  const auto recorded = scratch.text();
  CHECK(split_lines(recorded).size() == 1);
  CHECK(scratch.text().rfind(R"({"schema":1,"id":"seed1","fingerprint":"f00","reply":{"text":)", 0) == 0);
}

TEST_CASE("a recorder appends, and does not record errors", "[llm][recording_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  const auto client =
      recorder(scratch, {Error{ErrorCode::Unavailable, "gone", {}}, ScriptedLLMClient::reply("replaced")});
  CHECK(client->complete(request_named("seed9"), {}).error().code == ErrorCode::Unavailable);
  CHECK(scratch.text() == k_two_lines);
  REQUIRE(client->complete(request_named("seed1", "aa11"), {}));
  const auto again = replay(scratch);
  CHECK(again->complete(request_named("seed1", "aa11"), {}).value().text == "replaced");
  CHECK(again->complete(request_named("seed2", "bb22"), {}).value().text == "two");
}

TEST_CASE("a recorder repairs a torn last line before it appends", "[llm][recording_client]") {
  Scratch scratch;
  const std::string text(k_two_lines);
  scratch.write(text + R"({"schema":1,"id":"seed3","fingerpr)" + std::string(200'000, 'x'));
  REQUIRE(recorder(scratch, {ScriptedLLMClient::reply("three")})->complete(request_named("seed3"), {}));
  CHECK(scratch.text().rfind(text + R"({"schema":1,"id":"seed3","fingerprint":"")", 0) == 0);
  CHECK(replay(scratch)->complete(request_named("seed3"), {}).value().text == "three");
}

TEST_CASE("a recorder keeps a whole last line that lacks its end", "[llm][recording_client]") {
  Scratch scratch;
  scratch.write(k_two_lines.substr(0, k_two_lines.size() - 1));
  REQUIRE(recorder(scratch, {ScriptedLLMClient::reply("three")})->complete(request_named("seed3"), {}));
  const auto client = replay(scratch);
  CHECK(client->complete(request_named("seed2"), {}).value().text == "two");
  CHECK(client->complete(request_named("seed3"), {}).value().text == "three");
}

TEST_CASE("threads and clients record into one file without mixing lines", "[llm][recording_client]") {
  Scratch scratch;
  constexpr int k_each = 25;
  const auto echo = [](const LLMRequest& asked) -> Result<Reply> {
    return ScriptedLLMClient::reply(asked.id + std::string(5000, 'x'));
  };
  // Two clients, as in two processes, with two threads each.
  const auto one = make_recording_client(std::make_unique<ScriptedLLMClient>(echo), scratch.file).value();
  const auto two = make_recording_client(std::make_unique<ScriptedLLMClient>(echo), scratch.file).value();
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        auto& client = thread % 2 == 0 ? *one : *two;
        for (int i = 0; i < k_each; ++i) {
          const auto id = std::to_string(thread) + "." + std::to_string(i);
          static_cast<void>(client.complete(request_named(id), {}).has_value());
        }
      });
  }
  const auto client = replay(scratch);
  int whole = 0;
  for (int thread = 0; thread < 4; ++thread)
    for (int i = 0; i < k_each; ++i) {
      const auto id = std::to_string(thread) + "." + std::to_string(i);
      whole += client->complete(request_named(id), {}).value().text == id + std::string(5000, 'x') ? 1 : 0;
    }
  CHECK(whole == 4 * k_each);
}

TEST_CASE("a reply that a full disk cannot take is handed on, and recorded once there is space",
          "[llm][recording_client]") {
  Scratch scratch;
  scratch.write(k_two_lines);
  const auto client =
      recorder(scratch, {ScriptedLLMClient::reply(std::string(10'000, 'x')), ScriptedLLMClient::reply("small")});
  {
    const FileSizeLimit full(k_two_lines.size() + 100);
    const auto paid = client->complete(request_named("seed3"), {});
    REQUIRE(paid);
    CHECK(paid->text == std::string(10'000, 'x'));
    CHECK(scratch.text() == k_two_lines);
    // No further reply is paid for before this one can be recorded.
    const auto refused = client->complete(request_named("seed4"), {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::NoSpace);
    CHECK(holds(refused.error().to_line(), "recording the reply to seed3: cannot write "));
  }
  REQUIRE(client->complete(request_named("seed4"), {}));
  CHECK(replay(scratch)->complete(request_named("seed3"), {}).value().text == std::string(10'000, 'x'));
  CHECK(replay(scratch)->complete(request_named("seed4"), {}).value().text == "small");
}

TEST_CASE("a recorder says in the end what it could not record", "[llm][recording_client]") {
  Scratch scratch;
  std::vector<Error> heard;
  const auto make = [&] {
    return make_recording_client(
               std::make_unique<ScriptedLLMClient>(std::vector<Result<Reply>>{ScriptedLLMClient::reply("a reply")}),
               scratch.file, [&](const Error& error) { heard.push_back(error); })
        .value();
  };
  {
    const auto client = make();
    const FileSizeLimit full(10);
    REQUIRE(client->complete(request_named("seed1"), {}));
  }
  // The limit was lifted before the client's end, so that the reply could still be recorded.
  CHECK(heard.empty());
  CHECK(replay(scratch)->complete(request_named("seed1"), {}).value().text == "a reply");
  {
    const FileSizeLimit full(10);
    const auto client = make();
    REQUIRE(client->complete(request_named("seed2"), {}));
  }
  REQUIRE(heard.size() == 1);
  CHECK(heard.front().code == ErrorCode::NoSpace);
}

TEST_CASE("a file that cannot be recorded to is refused before anything is asked", "[llm][recording_client]") {
  const auto inner = [] { return std::make_unique<ScriptedLLMClient>(std::vector<Result<Reply>>{}); };
  CHECK(make_recording_client(inner(), "/dev/null").error().code == ErrorCode::InvalidArgument);
  CHECK(make_recording_client(inner(), "/nonexistent/replies.jsonl").error().code == ErrorCode::NotFound);
  CHECK(make_recording_client(nullptr, "replies.jsonl").error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a recorder has the identity of its inner client", "[llm][recording_client]") {
  Scratch scratch;
  CHECK(recorder(scratch, {})->identity() == "scripted");
}
