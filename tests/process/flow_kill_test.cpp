#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <kernelgen/store/journal.hpp>

#include "process/helpers/scripted_replies.hpp"
#include "process/http_server.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// Starts a search; with a URL its model is the server there.
pid_t start(const fs::path& directory, const std::string& url = {}) {
  std::string program = KERNELGEN_SCRIPTED_FLOW;
  std::string argument = directory.string(), task, model = url;
  char* const arguments[] = {program.data(), argument.data(), url.empty() ? nullptr : task.data(), model.data(),
                             nullptr};
  char* const environment[] = {nullptr};
  pid_t pid = -1;
  REQUIRE(::posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environment) == 0);
  return pid;
}

/// The files that must be equal however often a run was killed.
std::map<std::string, std::string> facts_of(const fs::path& directory) {
  std::map<std::string, std::string> facts;
  const auto events = read_run_events(directory / "run");
  REQUIRE(events);
  for (const auto& [id, result] : history_of(*events)) {
    facts[id] = std::string(to_string(result.status)) + '|' + result.action.base + '|' + result.action.variant + '|' +
                (result.candidate ? result.candidate->id : "") + '|' + (result.record ? to_json(*result.record) : "") +
                '|' + result.message;
  }
  return facts;
}

/// Number of times that each request reached the model.
std::map<std::string, int> asked(const fs::path& directory) {
  std::map<std::string, int> counts;
  const auto text = read_file(directory / "asked").value();
  for (const auto line : split_lines(text)) ++counts[std::string(line)];
  return counts;
}

struct Requests {
  int sent = 0;
  int unknown = 0;
  int arrived = 0;
};

/// Requests by the id that the model got.
std::map<std::string, Requests> requests_of(const fs::path& directory) {
  std::map<std::string, Requests> found;
  std::map<int, std::string> ids;
  const auto events = read_run_events(directory / "run").value();
  for (const auto& event : events) {
    if (const auto* issued = std::get_if<ActionIssued>(&event.body)) {
      std::string id = "task." + issued->action.id;
      for (char& byte : id) byte = byte == '/' ? '-' : byte;
      ids[issued->number] = id;
    }
    if (const auto* sent = std::get_if<RequestSent>(&event.body)) ++found[ids[sent->number]].sent;
    if (const auto* unknown = std::get_if<RequestUnknown>(&event.body)) ++found[ids[unknown->number]].unknown;
    if (const auto* arrived = std::get_if<ReplyArrived>(&event.body)) ++found[ids[arrived->number]].arrived;
  }
  return found;
}

/// Whether the process ended by itself within this time.
bool ended(pid_t pid, std::chrono::microseconds time) {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  REQUIRE(handle >= 0);
  pollfd exit{.fd = handle, .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  const timespec timeout{seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
  const int ready = ::ppoll(&exit, 1, &timeout, nullptr);
  ::close(handle);
  return ready == 1;
}

/// Draws the lifetime of a search. Machines, disks and sanitizers differ by orders of magnitude, and one machine from
/// minute to minute, so the longest lifetime follows the progress in earlier ones.
class Lifetime {
 public:
  explicit Lifetime(unsigned seed) : random_(seed) {}

  std::chrono::microseconds draw() {
    return std::chrono::microseconds(std::uniform_int_distribution<std::int64_t>(500, longest_)(random_));
  }

  void ended_by_itself() { longest_ = std::max<std::int64_t>(1000, longest_ * 7 / 10); }
  void killed_without_progress() { longest_ = longest_ * 12 / 10 + 1; }

 private:
  std::mt19937 random_;
  std::int64_t longest_ = 20'000;
};

std::uintmax_t journal_size(const fs::path& directory) {
  std::error_code missing;
  const auto size = fs::file_size(directory / "run" / "events.jsonl", missing);
  return missing ? 0 : size;
}

/// Kills and restarts the search until it ends by itself; returns the number of kills.
int run_with_kills(const fs::path& directory, Lifetime& lifetime, const std::string& url = {}) {
  for (int kills = 0;; ++kills) {
    const auto before = journal_size(directory);
    const pid_t pid = start(directory, url);
    ended(pid, lifetime.draw());
    ::kill(pid, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(pid, &status, 0) == pid);
    if (WIFEXITED(status)) {
      CHECK(WEXITSTATUS(status) == 0);
      lifetime.ended_by_itself();
      return kills;
    }
    if (journal_size(directory) == before) lifetime.killed_without_progress();
  }
}

void check_requests(const fs::path& directory, const std::map<std::string, int>& seen) {
  const auto journaled = requests_of(directory);
  for (const auto& [id, requests] : journaled) {
    INFO(id);
    // Answered once; a request that was sent without an answer is recorded as unknown.
    CHECK(requests.arrived == 1);
    CHECK(requests.sent == requests.arrived + requests.unknown);
    // A journaled request may have died before it was sent; no request was sent that was not journaled.
    const auto found = seen.find(id);
    REQUIRE(found != seen.end());
    CHECK(found->second <= requests.sent);
  }
  for (const auto& [id, count] : seen) CHECK(journaled.contains(id));
}

/// A server that streams the scripted replies, and counts the requests.
class CountingServer {
 public:
  /// The address for one search. A request that a killed search has sent may be read when the next one runs.
  [[nodiscard]] std::string url(int search) const { return server_.base_url() + '/' + std::to_string(search); }
  /// The requests of a search, by id.
  [[nodiscard]] std::map<std::string, int> counts_of(int search) {
    const std::scoped_lock lock(mutex_);
    return counts_["/v1/" + std::to_string(search) + "/chat/completions"];
  }

 private:
  void answer(const testing::HttpServer::Request& request, const testing::HttpServer::Connection& client) {
    const auto& body = request.body;
    constexpr std::string_view k_before_id = R"("content":")";
    const auto at = body.find(k_before_id);
    if (at == body.npos) return;
    const auto begin = at + k_before_id.size();
    const auto id = body.substr(begin, body.find(' ', begin) - begin);
    {
      const std::scoped_lock lock(mutex_);
      const auto path = request.head.find('/');
      ++counts_[request.head.substr(path, request.head.find(' ', path) - path)][id];
    }
    client.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    const auto reply = testing::scripted_reply(id);
    // In two pieces, so that some are killed within a reply.
    const auto half = reply.size() / 2;
    for (const auto& piece : {reply.substr(0, half), reply.substr(half)}) {
      const boost::json::object delta{{"content", piece}};
      const boost::json::object choice{{"index", 0}, {"delta", delta}};
      client.send("data: " + boost::json::serialize(boost::json::object{{"choices", boost::json::array{choice}}}) +
                  "\n\n");
      if (!client.wait(std::chrono::milliseconds(1))) return;
    }
    client.send(R"(data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]})"
                "\n\ndata: [DONE]\n\n");
  }

  std::mutex mutex_;
  /// By the path of the search.
  std::map<std::string, std::map<std::string, int>> counts_;
  testing::HttpServer server_{[this](const testing::HttpServer::Request& request,
                                     const testing::HttpServer::Connection& client) { answer(request, client); }};
};

/// Kills until there were so many; KERNELGEN_KILLS sets another number.
int wanted_kills(int otherwise) {
  const char* const number = std::getenv("KERNELGEN_KILLS");
  return number == nullptr ? otherwise : std::atoi(number);
}

}  // namespace

TEST_CASE("a search with a server that is killed at random moments pays for nothing twice", "[process][flow]") {
  const auto root = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-kill-").value();
  CountingServer server;
  const auto whole = root.path() / "whole";
  fs::create_directory(whole);
  int status = 0;
  REQUIRE(::waitpid(start(whole, server.url(0)), &status, 0) > 0);
  REQUIRE(status == 0);
  const auto expected = facts_of(whole);
  REQUIRE(expected.size() > 12);
  check_requests(whole, server.counts_of(0));

  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  Lifetime lifetime(seed);
  const int wanted = wanted_kills(100);
  int kills = 0;
  for (int round = 1; kills < wanted; ++round) {
    const auto directory = root.path() / std::to_string(round);
    fs::create_directory(directory);
    kills += run_with_kills(directory, lifetime, server.url(round));
    CHECK(facts_of(directory) == expected);
    check_requests(directory, server.counts_of(round));
  }
}

TEST_CASE("a search that is killed at 200 random moments ends as one that was not", "[process][flow]") {
  const auto root = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-kill-").value();
  const auto whole = root.path() / "whole";
  fs::create_directory(whole);
  int status = 0;
  REQUIRE(::waitpid(start(whole), &status, 0) > 0);
  REQUIRE(status == 0);
  const auto expected = facts_of(whole);
  REQUIRE(expected.size() > 12);

  constexpr int k_kills = 200;
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  Lifetime lifetime(seed);
  int kills = 0;
  for (int round = 0; kills < k_kills; ++round) {
    const auto directory = root.path() / std::to_string(round);
    fs::create_directory(directory);
    kills += run_with_kills(directory, lifetime);
    CHECK(facts_of(directory) == expected);
    check_requests(directory, asked(directory));
  }
}
