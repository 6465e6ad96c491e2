// Several processes with runs in one results directory.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/unique_fd.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// A search in a process of its own.
class Search {
 public:
  Search(const fs::path& results, const std::string& task) {
    std::array<int, 2> in{}, out{};
    REQUIRE(::pipe2(in.data(), O_CLOEXEC) == 0);
    REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
    input_.reset(in[1]);
    output_.reset(out[0]);
    const UniqueFd child_in(in[0]), child_out(out[1]);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, child_in.get(), 0);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, child_out.get(), 2);
    std::vector<std::string> words{KERNELGEN_SCRIPTED_FLOW, results.string(), task};
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    char* const environment[] = {nullptr};
    REQUIRE(::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environment) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;
  ~Search() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Waits until it holds its run, or reports why not.
  std::string first_words() {
    std::array<char, 2000> buffer{};
    const auto count = ::read(output_.get(), buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
  }

  void begin() { input_.reset(); }

  /// Its exit status, once it has ended.
  int wait() {
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    CHECK(wait() == -1);
  }

 private:
  pid_t pid_ = -1;
  UniqueFd input_;
  UniqueFd output_;
};

TemporaryDirectory make_results() {
  return TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-share-").value();
}

}  // namespace

TEST_CASE("two runs of different tasks share a results directory at once", "[process][results]") {
  const auto results = make_results();
  Search relu(results.path(), "relu");
  Search gru(results.path(), "gru");
  // Both hold their runs before either begins.
  REQUIRE(relu.first_words() == "ready\n");
  REQUIRE(gru.first_words() == "ready\n");
  relu.begin();
  gru.begin();
  CHECK(relu.wait() == 0);
  CHECK(gru.wait() == 0);
  const auto runs = read_results(results.path());
  REQUIRE(runs);
  REQUIRE(runs->size() == 2);
  for (const auto& run : *runs) CHECK(run.status == RunStatus::Success);
  // The one that ended last reported both.
  const auto table = read_file(results.path() / "summary.csv").value();
  const auto rows = split_lines(table);
  CHECK(rows.size() == 3);
}

TEST_CASE("the same run twice is refused, with the process that has it", "[process][results]") {
  const auto results = make_results();
  Search first(results.path(), "relu");
  REQUIRE(first.first_words() == "ready\n");
  Search second(results.path(), "relu");
  const auto said = second.first_words();
  CHECK(second.wait() == 73);
  INFO(said);
  CHECK(said.find("the run in " + (results.path() / "relu").string() + " is in use by another kgen (process " +
                  std::to_string(first.pid()) + " on ") == 0);
  CHECK(said.find(", since 20") != said.npos);
  CHECK(said.find("; wait until that one ends, or give the new run a journal of its own") != said.npos);
  SECTION("until it ends") {
    first.begin();
    CHECK(first.wait() == 0);
  }
  SECTION("until it dies") { first.kill(); }
  Search third(results.path(), "relu");
  CHECK(third.first_words() == "ready\n");
  third.begin();
  CHECK(third.wait() == 0);
}

TEST_CASE("many runs that end at the same time are all in the reports", "[process][results]") {
  constexpr int k_runs = 8;
  const auto results = make_results();
  std::vector<std::unique_ptr<Search>> searches;
  for (int i = 0; i < k_runs; ++i)
    searches.push_back(std::make_unique<Search>(results.path(), "task" + std::to_string(i)));
  for (auto& search : searches) REQUIRE(search->first_words() == "ready\n");
  for (auto& search : searches) search->begin();
  for (auto& search : searches) CHECK(search->wait() == 0);
  const auto table = read_file(results.path() / "summary.csv").value();
  const auto rows = split_lines(table);
  CHECK(rows.size() == k_runs + 1);
  for (const auto row : rows) CHECK(row.find("damaged") == row.npos);
}
