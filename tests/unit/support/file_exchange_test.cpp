#include "support/file_exchange.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// An exchange in a directory of its own.
class Fixture {
 public:
  explicit Fixture(std::chrono::milliseconds lease = 60s) {
    exchange.emplace(FileExchange::open({.directory = directory(),
                                         .request_suffix = ".ask",
                                         .reply_suffix = ".answer",
                                         .max_bytes = 1000,
                                         .poll = 2ms,
                                         .lease = lease})
                         .value());
  }
  [[nodiscard]] fs::path directory() const { return scratch_.path() / "exchange"; }
  [[nodiscard]] fs::path path(const std::string& name) const { return directory() / name; }
  void write(const std::string& name, const std::string& content) const { std::ofstream(path(name)) << content; }
  [[nodiscard]] std::string read(const std::string& name) const { return read_file(path(name)).value(); }

  /// Changes a file's time, as if it had been written an hour ago.
  void age(const std::string& name) const { fs::last_write_time(path(name), fs::last_write_time(path(name)) - 1h); }

  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory())) names.insert(entry.path().filename().string());
    return names;
  }

  FileExchange* operator->() { return &*exchange; }

  [[nodiscard]] FileClaim claim(const std::string& holder) const {
    auto claimed = exchange->claim_next(holder).value();
    REQUIRE(claimed);
    return *std::move(claimed);
  }

  std::optional<FileExchange> exchange;

 private:
  TemporaryDirectory scratch_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
};

using Names = std::set<std::string>;

FileClaim claim_soon(const FileExchange& exchange, const std::string& holder) {
  while (true) {
    auto claimed = exchange.claim_next(holder);
    if (claimed && *claimed) return **std::move(claimed);
    std::this_thread::sleep_for(1ms);
  }
}

}  // namespace

TEST_CASE("a request is posted, claimed, answered and stays beside its reply", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("a.b-c_1", "question"));
  CHECK(exchange.names() == Names{"a.b-c_1.ask"});
  const auto claim = exchange.claim("me");
  CHECK(exchange.names() == Names{"a.b-c_1.claim.me"});
  CHECK(claim.id() == "a.b-c_1");
  CHECK(claim.read().value() == "question");
  CHECK(claim.refresh().value() == ClaimState::Held);
  CHECK_FALSE(exchange->claim_next("you").value());
  CHECK(claim.publish("answer").value() == ClaimState::Held);
  CHECK(exchange.names() == Names{"a.b-c_1.ask", "a.b-c_1.answer"});
  CHECK(exchange->ask("a.b-c_1", "question", {.waiting = Waiting::Return}, {}).value() == "answer");
  CHECK_FALSE(exchange->claim_next("you").value());
}

TEST_CASE("the oldest request is claimed first", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("a", "young"));
  REQUIRE(exchange->post("z", "old"));
  exchange.age("z.ask");
  CHECK(exchange.claim("me").id() == "z");
  CHECK(exchange.claim("me").id() == "a");
}

TEST_CASE("asking waits for the answer and names the holder", "[support][exchange]") {
  Fixture exchange;
  std::atomic<bool> noticed{false};
  std::jthread answerer([&] {
    const auto claim = claim_soon(*exchange.exchange, "node1-17");
    while (!noticed) std::this_thread::sleep_for(1ms);
    [[maybe_unused]] const auto state = claim.publish(claim.read().value() + "!");
  });
  std::vector<std::string> holders;
  const auto on_claimed = [&](const std::string& holder) {
    holders.push_back(holder);
    noticed = true;
  };
  CHECK(exchange->ask("id", "question", {.on_claimed = on_claimed}, {}).value() == "question!");
  CHECK(holders == std::vector<std::string>{"node1-17"});
}

TEST_CASE("asking without waiting is pending, also while the request is claimed", "[support][exchange]") {
  Fixture exchange;
  const auto ask = [&] { return exchange->ask("id", "question", {.waiting = Waiting::Return}, {}).error().code; };
  CHECK(ask() == ErrorCode::Pending);
  const auto claim = exchange.claim("me");
  CHECK(ask() == ErrorCode::Pending);
  CHECK(exchange.names() == Names{"id.claim.me"});
}

TEST_CASE("another request of the same name replaces the first with its reply and its claim", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "old"));
  const auto claim = exchange.claim("me");
  exchange.write("id.answer", "to the old");
  REQUIRE(exchange->post("id", "new"));
  CHECK(claim.refresh().value() == ClaimState::Lost);
  CHECK(claim.publish("late").value() == ClaimState::Lost);
  CHECK(exchange.read("id.ask") == "new");
  CHECK_FALSE(fs::exists(exchange.path("id.answer")));
  const auto names = exchange.names();
  REQUIRE(names.size() == 2);
  CHECK(names.begin()->starts_with("id.answer.old-"));
  CHECK(exchange.claim("me").read().value() == "new");
}

TEST_CASE("a reply that no request stands beside is not taken for an answer", "[support][exchange]") {
  Fixture exchange;
  exchange.write("id.answer", "to whatever");
  CHECK(exchange->find_reply("id").value() == "to whatever");
  CHECK(exchange->ask("id", "question", {.waiting = Waiting::Return}, {}).error().code == ErrorCode::Pending);
}

TEST_CASE("a claim that is not renewed goes to the next claimant, and the first one is told", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto dead = exchange.claim("dead");
  exchange.age("id.claim.dead");
  const auto next = exchange.claim("next");
  CHECK(exchange.names() == Names{"id.claim.next", "id.expired.dead"});
  CHECK(next.expired_holders() == std::vector<std::string>{"dead"});
  CHECK(dead.refresh().value() == ClaimState::Lost);
  CHECK(dead.publish("late").value() == ClaimState::Lost);
  CHECK_FALSE(fs::exists(exchange.path("id.answer")));
  CHECK(next.publish("answer").value() == ClaimState::Held);
}

TEST_CASE("a claimant that does not see that its claim was taken away drops its answer", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto slow = exchange.claim("slow");
  exchange.age("id.claim.slow");
  const auto next = exchange.claim("next");
  CHECK(next.publish("answer").value() == ClaimState::Held);
  // A file system that caches attributes still shows it its claim.
  exchange.write("id.claim.slow", "question");
  CHECK(slow.publish("second answer").value() == ClaimState::Answered);
  CHECK(exchange.read("id.answer") == "answer");
  CHECK(exchange.names() == Names{"id.answer", "id.ask", "id.expired.slow"});
}

TEST_CASE("asking anew forgets claimants that were lost", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  static_cast<void>(exchange.claim("dead"));
  exchange.age("id.claim.dead");
  CHECK(exchange.claim("next").give_back());
  CHECK(exchange->withdraw("id"));
  CHECK(exchange.names().empty());
}

TEST_CASE("a renewed claim stays with its holder", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto claim = exchange.claim("slow");
  exchange.age("id.claim.slow");
  CHECK(claim.refresh().value() == ClaimState::Held);
  CHECK_FALSE(exchange->claim_next("hasty").value());
}

TEST_CASE("the claim of an old request is not born expired", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  exchange.age("id.ask");
  const auto claim = exchange.claim("me");
  CHECK_FALSE(exchange->claim_next("you").value());
  CHECK(claim.refresh().value() == ClaimState::Held);
}

TEST_CASE("an answer is found and kept when its writer died before it put the request back", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto claim = exchange.claim("dead");
  exchange.write("id.answer", "answer");
  CHECK(exchange->ask("id", "question", {.waiting = Waiting::Return}, {}).value() == "answer");
  exchange.age("id.claim.dead");
  CHECK_FALSE(exchange->claim_next("next").value());
  CHECK(exchange.names() == Names{"id.ask", "id.answer"});
}

TEST_CASE("a request that was posted again beside its claim is not claimed twice", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto claim = exchange.claim("me");
  exchange.write("id.ask", "question");
  CHECK_FALSE(exchange->claim_next("you").value());
}

TEST_CASE("a withdrawn request is gone for asker and claimants", "[support][exchange]") {
  Fixture exchange;
  CHECK(exchange->withdraw("never"));
  REQUIRE(exchange->post("open", "question"));
  CHECK(exchange->withdraw("open"));
  CHECK_FALSE(exchange->claim_next("me").value());
  REQUIRE(exchange->post("claimed", "question"));
  const auto claim = exchange.claim("me");
  CHECK(exchange->withdraw("claimed"));
  CHECK(claim.refresh().value() == ClaimState::Lost);
  CHECK(claim.read().error().code == ErrorCode::NotFound);
  CHECK(claim.publish("late").value() == ClaimState::Lost);
  CHECK(claim.give_back());
  CHECK(exchange.names().empty());
}

TEST_CASE("what is given back is claimed again", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  CHECK(exchange.claim("me").give_back());
  CHECK(exchange.claim("you").read().value() == "question");
}

TEST_CASE("each of many requests is answered once, however many claim", "[support][exchange]") {
  Fixture exchange;
  constexpr int k_requests = 40;
  std::atomic<int> answered{0};
  std::mutex mutex;
  std::multiset<std::string> ids;
  {
    std::vector<std::jthread> claimants;
    for (int i = 0; i < 4; ++i)
      claimants.emplace_back([&, holder = "holder" + std::to_string(i)] {
        while (answered < k_requests) {
          const auto claim = exchange->claim_next(holder);
          if (!claim || !*claim) continue;
          const auto state = (*claim)->publish("answer of " + holder);
          ++answered;
          const std::scoped_lock lock(mutex);
          if (state && *state == ClaimState::Held) ids.insert((*claim)->id());
        }
      });
    for (int i = 0; i < k_requests; ++i) CHECK(exchange->post("id" + std::to_string(i), "question"));
  }
  CHECK(ids.size() == k_requests);
  CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == k_requests);
  CHECK(exchange.names().size() == 2 * k_requests);
}

TEST_CASE("exactly one of many takes over an expired claim", "[support][exchange]") {
  for (int round = 0; round < 20; ++round) {
    Fixture exchange;
    REQUIRE(exchange->post("id", "question"));
    const auto dead = exchange.claim("dead");
    exchange.age("id.claim.dead");
    std::atomic<int> taken{0};
    {
      std::vector<std::jthread> claimants;
      for (int i = 0; i < 4; ++i)
        claimants.emplace_back([&, holder = "holder" + std::to_string(i)] {
          for (int attempt = 0; attempt < 5; ++attempt) {
            const auto claim = exchange->claim_next(holder);
            if (claim && *claim) ++taken;
          }
        });
    }
    CHECK(taken == 1);
  }
}

TEST_CASE("what is not a request is left alone", "[support][exchange]") {
  Fixture exchange;
  exchange.write(".half.ask.tmp", "half");
  exchange.write(".hidden.ask", "hidden");
  exchange.write("-rf.ask", "no id");
  exchange.write("with blank.ask", "no id");
  exchange.write("id.claim.", "no holder");
  exchange.write("notes.txt", "notes");
  exchange.write("id.answer.old-1", "old");
  fs::create_directory(exchange.path("directory.ask"));
  fs::create_symlink("/etc/hostname", exchange.path("link.ask"));
  REQUIRE(::mkfifo(exchange.path("pipe.ask").c_str(), 0600) == 0);
  const auto before = exchange.names();
  CHECK_FALSE(exchange->claim_next("me").value());
  CHECK(exchange.names() == before);
}

TEST_CASE("a reply that is a link or a pipe is not read", "[support][exchange]") {
  Fixture exchange;
  fs::create_symlink("/etc/hostname", exchange.path("link.answer"));
  REQUIRE(::mkfifo(exchange.path("pipe.answer").c_str(), 0600) == 0);
  CHECK_FALSE(exchange->find_reply("link").value());
  CHECK_FALSE(exchange->find_reply("pipe").value());
}

TEST_CASE("files that are too large are refused either way", "[support][exchange]") {
  Fixture exchange;
  const std::string large(1001, 'x');
  CHECK(exchange->post("id", large).error().code == ErrorCode::InvalidArgument);
  CHECK(exchange.names().empty());
  exchange.write("id.ask", large);
  exchange.write("other.answer", large);
  CHECK(exchange->find_reply("other").error().code == ErrorCode::InvalidArgument);
  const auto claim = exchange.claim("me");
  CHECK(claim.read().error().code == ErrorCode::InvalidArgument);
  CHECK(claim.publish(large).error().code == ErrorCode::InvalidArgument);
  CHECK(exchange.names() == Names{"id.claim.me", "other.answer"});
  // A file that is no request: posting replaces it.
  REQUIRE(exchange->post("id", "question"));
  CHECK(exchange.read("id.ask") == "question");
}

TEST_CASE("a request that vanishes during a wait is posted again", "[support][exchange]") {
  Fixture exchange;
  std::jthread other([&] {
    while (!fs::exists(exchange.path("id.ask"))) std::this_thread::sleep_for(1ms);
    fs::remove(exchange.path("id.ask"));
    [[maybe_unused]] const auto state = claim_soon(*exchange.exchange, "me").publish("answer");
  });
  CHECK(exchange->ask("id", "question", {}, {}).value() == "answer");
}

TEST_CASE("waiting ends with the deadline or when cancelled, and the request stays", "[support][exchange]") {
  Fixture exchange;
  const auto deadline = std::chrono::steady_clock::now() + 10ms;
  CHECK(exchange->ask("id", "question", {.deadline = deadline}, {}).error().code == ErrorCode::Timeout);
  std::stop_source stop;
  stop.request_stop();
  CHECK(exchange->ask("other", "question", {}, stop.get_token()).error().code == ErrorCode::Cancelled);
  CHECK(exchange.names() == Names{"id.ask"});
}

TEST_CASE("a directory that vanishes is NotFound for asker and claimants", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto claim = exchange.claim("me");
  fs::remove_all(exchange.directory());
  CHECK(exchange->post("id", "question").error().code == ErrorCode::NotFound);
  CHECK(exchange->ask("id", "question", {}, {}).error().code == ErrorCode::NotFound);
  CHECK(exchange->find_reply("id").error().code == ErrorCode::NotFound);
  CHECK(exchange->withdraw("id").error().code == ErrorCode::NotFound);
  CHECK(exchange->claim_next("me").error().code == ErrorCode::NotFound);
  CHECK(claim.refresh().error().code == ErrorCode::NotFound);
  CHECK(claim.publish("answer").error().code == ErrorCode::NotFound);
}

TEST_CASE("a full disk leaves neither half a request nor half a reply", "[support][exchange]") {
  Fixture exchange;
  REQUIRE(exchange->post("id", "question"));
  const auto claim = exchange.claim("me");
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{100, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  auto posted = exchange->post("other", std::string(500, 'x'));
  auto published = claim.publish(std::string(500, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(posted.error().code == ErrorCode::NoSpace);
  CHECK(published.error().code == ErrorCode::NoSpace);
  CHECK(exchange.names() == Names{"id.claim.me"});
  CHECK(claim.publish("answer").value() == ClaimState::Held);
}

TEST_CASE("options and names that cannot work are refused", "[support][exchange]") {
  const auto open = [](FileExchangeOptions options) {
    options.directory = fs::temp_directory_path();
    return FileExchange::open(std::move(options)).has_value();
  };
  CHECK(open({.request_suffix = ".a", .reply_suffix = ".b"}));
  CHECK_FALSE(open({.request_suffix = "", .reply_suffix = ".b"}));
  CHECK_FALSE(open({.request_suffix = ".a", .reply_suffix = "/b"}));
  CHECK_FALSE(open({.request_suffix = ".a", .reply_suffix = ".b.a"}));
  CHECK_FALSE(open({.request_suffix = ".a", .reply_suffix = ".b", .poll = 0ms}));
  CHECK_FALSE(open({.request_suffix = ".a", .reply_suffix = ".b", .lease = 0ms}));
  for (const auto* good : {"a", "A.b-c_9", "x..y"}) CHECK(is_exchange_id(good));
  for (const auto* bad : {"", ".a", "-a", "a/b", "a b", "\xc3\xa4", ".."}) CHECK_FALSE(is_exchange_id(bad));
  CHECK(is_exchange_id(std::string(160, 'a')));
  CHECK_FALSE(is_exchange_id(std::string(161, 'a')));
  Fixture exchange;
  CHECK(exchange->claim_next("with.dot").error().code == ErrorCode::InvalidArgument);
  CHECK(exchange->claim_next(make_holder_name()));
  CHECK(make_holder_name() != make_holder_name());
}

TEST_CASE("a look at an exchange tells what waits, what is claimed and what is answered", "[support][exchange]") {
  Fixture exchange;
  for (const char* id : {"a", "b", "c", "d"}) REQUIRE(exchange->post(id, "question"));
  exchange.age("a.ask");
  exchange.write("d.answer", "yes");
  REQUIRE(exchange.claim("first").id() == "a");
  fs::rename(exchange.path("c.ask"), exchange.path("c.claim.second"));
  exchange.age("c.claim.second");
  const auto before = exchange.names();
  const auto content = exchange->inspect().value();
  REQUIRE(content.waiting.size() == 1);
  CHECK(content.waiting.front().id == "b");
  REQUIRE(content.claimed.size() == 1);
  CHECK(content.claimed.front().holder == "first");
  CHECK(content.claimed.front().age < 30s);
  REQUIRE(content.expired.size() == 1);
  CHECK(content.expired.front().id == "c");
  CHECK(content.expired.front().age > 59min);
  CHECK(content.answered == 1);
  CHECK(content.leftovers.empty());
  CHECK(exchange.names() == before);
}

TEST_CASE("what writers left behind is removed, and nothing that belongs to others", "[support][exchange]") {
  Fixture exchange;
  const std::vector<std::string> kept{
      ".nfs000000000001",        ".gitignore",         ".draft.tmp", ".a.ask.0123456789ab.tmpx", "a.ask", "b.answer",
      ".fresh.0123456789ab.tmp", "c.answer.old-recent"};
  const std::vector<std::string> removed{".a.ask.0123456789ab.tmp", ".now-0123456789abcdef", "d.answer.old-12345678"};
  for (const auto& name : kept) exchange.write(name, "x");
  for (const auto& name : removed) exchange.write(name, "x");
  for (const auto& name : kept)
    if (name.find("fresh") == name.npos && name.find("recent") == name.npos)
      fs::last_write_time(exchange.path(name), fs::last_write_time(exchange.path(name)) - 24h * 30);
  exchange.age("c.answer.old-recent");
  for (const auto& name : removed)
    fs::last_write_time(exchange.path(name), fs::last_write_time(exchange.path(name)) - 24h * 8);
  CHECK(exchange->inspect().value().leftovers ==
        std::vector<std::string>{".a.ask.0123456789ab.tmp", ".now-0123456789abcdef", "d.answer.old-12345678"});
  CHECK(exchange->remove_leftovers().value() == 3);
  CHECK(exchange.names() == std::set<std::string>(kept.begin(), kept.end()));
}
