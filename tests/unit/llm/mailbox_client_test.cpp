#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <kernelgen/llm/clients.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

class Mailbox {
 public:
  [[nodiscard]] Result<Reply> ask(const std::string& prompt, Waiting waiting, std::stop_token stop = {},
                                  std::optional<std::chrono::milliseconds> timeout = {}) const {
    auto client = make_mailbox_client({.directory = directory(),
                                       .waiting = waiting,
                                       .poll = 5ms,
                                       .quiet_period = quiet_period,
                                       .timeout = timeout})
                      .value();
    LLMRequest request;
    request.id = "seed1.repair2";
    request.prompt = prompt;
    // The limit of machines; people may take longer.
    request.timeout = 1ms;
    return client->complete(request, std::move(stop));
  }
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "mail"; }
  [[nodiscard]] fs::path prompt() const { return directory() / "seed1.repair2.prompt.md"; }
  [[nodiscard]] fs::path reply() const { return directory() / "seed1.repair2.reply.md"; }

  std::chrono::milliseconds quiet_period{40};

  void answer(const std::string& text) const { std::ofstream(reply()) << text; }

 private:
  TemporaryDirectory scratch_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-mail-").value();
};

}  // namespace

TEST_CASE("a mailbox leaves the prompt and says that the reply is pending", "[llm][mailbox]") {
  Mailbox mailbox;
  const auto reply = mailbox.ask("Write a kernel.\n", Waiting::Return);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == ErrorCode::Pending);
  CHECK_THAT(reply.error().message, Catch::Contains("seed1.repair2.reply.md"));
  CHECK(read_file(mailbox.prompt()).value() == "Write a kernel.\n");
}

TEST_CASE("a resumed run finds the reply to the same prompt", "[llm][mailbox]") {
  Mailbox mailbox;
  CHECK_FALSE(mailbox.ask("prompt", Waiting::Return));
  mailbox.answer("the reply");
  for (int run = 0; run < 2; ++run) {
    const auto reply = mailbox.ask("prompt", Waiting::Return);
    REQUIRE(reply);
    CHECK(reply->text == "the reply");
    CHECK(reply->finish == FinishReason::Stop);
    CHECK(reply->usage == TokenUsage{});
    CHECK(reply->model.empty());
  }
  CHECK(read_file(mailbox.prompt()).value() == "prompt");
}

TEST_CASE("another prompt of the same name does not get the old reply", "[llm][mailbox]") {
  Mailbox mailbox;
  CHECK_FALSE(mailbox.ask("old", Waiting::Return));
  mailbox.answer("to the old one");
  const auto reply = mailbox.ask("new", Waiting::Return);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().code == ErrorCode::Pending);
  CHECK(read_file(mailbox.prompt()).value() == "new");
  CHECK_FALSE(fs::exists(mailbox.reply()));
  mailbox.answer("to the new one");
  CHECK(mailbox.ask("new", Waiting::Return).value().text == "to the new one");
}

TEST_CASE("a mailbox waits, longer than a machine may take, until there is an answer", "[llm][mailbox]") {
  Mailbox mailbox;
  std::jthread person([&] {
    while (!fs::exists(mailbox.prompt())) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
    mailbox.answer("at last");
  });
  CHECK(mailbox.ask("prompt", Waiting::Wait).value().text == "at last");
}

TEST_CASE("a reply that is being written is not taken", "[llm][mailbox]") {
  Mailbox mailbox;
  // Far longer than the pauses of the writer, even on a busy machine.
  mailbox.quiet_period = 1s;
  std::jthread person([&] {
    while (!fs::exists(mailbox.prompt())) std::this_thread::sleep_for(1ms);
    std::ofstream file(mailbox.reply());
    for (const char* part : {"", "one ", "two ", "three"}) {
      file << part << std::flush;
      std::this_thread::sleep_for(5ms);
    }
  });
  CHECK(mailbox.ask("prompt", Waiting::Wait).value().text == "one two three");
}

TEST_CASE("an empty or blank reply is none", "[llm][mailbox]") {
  for (const char* text : {"", " \n\n"}) {
    Mailbox mailbox;
    CHECK_FALSE(mailbox.ask("prompt", Waiting::Return));
    mailbox.answer(text);
    std::this_thread::sleep_for(80ms);
    const auto reply = mailbox.ask("prompt", Waiting::Return);
    REQUIRE_FALSE(reply);
    CHECK(reply.error().code == ErrorCode::Pending);
  }
}

TEST_CASE("a reply in another encoding arrives without its bad bytes", "[llm][mailbox]") {
  Mailbox mailbox;
  CHECK_FALSE(mailbox.ask("prompt", Waiting::Return));
  mailbox.answer("gr\xfc\xdf");
  CHECK(mailbox.ask("prompt", Waiting::Return).value().text == "gr\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("waiting at a mailbox ends with its limit or when cancelled, and the prompt stays", "[llm][mailbox]") {
  Mailbox mailbox;
  CHECK(mailbox.ask("prompt", Waiting::Wait, {}, 20ms).error().code == ErrorCode::Timeout);
  std::stop_source stop;
  std::jthread canceller([&] {
    std::this_thread::sleep_for(20ms);
    stop.request_stop();
  });
  CHECK(mailbox.ask("prompt", Waiting::Wait, stop.get_token()).error().code == ErrorCode::Cancelled);
  CHECK(fs::exists(mailbox.prompt()));
}

TEST_CASE("a mailbox that vanishes is an error, not an endless wait", "[llm][mailbox]") {
  Mailbox mailbox;
  std::jthread vandal([&] {
    while (!fs::exists(mailbox.prompt())) std::this_thread::sleep_for(1ms);
    fs::rename(mailbox.directory(), mailbox.directory().string() + ".gone");
  });
  CHECK(mailbox.ask("prompt", Waiting::Wait).error().code == ErrorCode::NotFound);
}

TEST_CASE("ids and directories that cannot work are refused", "[llm][mailbox]") {
  CHECK(make_mailbox_client({}).error().code == ErrorCode::InvalidArgument);
  Mailbox mailbox;
  auto client = make_mailbox_client({.directory = mailbox.directory(), .waiting = Waiting::Return}).value();
  CHECK(client->identity() == "mailbox");
  CHECK(client->endpoint() == mailbox.directory().string());
  for (const char* id : {"", "../escape", ".hidden", "a b", "seed1/repair2"}) {
    LLMRequest request;
    request.id = id;
    request.prompt = "prompt";
    CHECK(client->complete(request, {}).error().code == ErrorCode::InvalidArgument);
  }
  const auto file = mailbox.directory() / "file";
  REQUIRE(write_file_atomic(file, ""));
  CHECK_FALSE(make_mailbox_client({.directory = file}));
}
