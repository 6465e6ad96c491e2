#include <kernelgen/store/journal.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/sample_record.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

TemporaryDirectory make_directory() {
  return TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-journal-").value();
}

TimeSource fixed_time() {
  return [] { return std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123)); };
}

std::string text_of(const fs::path& path) { return read_file(path).value(); }

void add_text(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::app) << text; }

ActionIssued issued(int number, const std::string& id) {
  ActionIssued event;
  event.number = number;
  event.action.id = id;
  event.prompt.text = "write " + id;
  return event;
}

ActionFinished finished(int number, const std::string& id, const std::string& source) {
  ActionFinished event;
  event.result.action.id = id;
  event.result.number = number;
  event.result.status = ActionStatus::Evaluated;
  event.result.candidate = make_candidate(Target::Cpp, source);
  event.result.record = testing::full_record();
  return event;
}

/// A run with one finished action that is the best.
void write_run(const fs::path& directory) {
  const auto journal = open_run_journal(directory, fixed_time()).value();
  REQUIRE(journal->append(RunStarted{}));
  REQUIRE(journal->append(issued(1, "seed1")));
  REQUIRE(journal->append(RequestSent{1}));
  REQUIRE(journal->append(ReplyArrived{1, {.text = "here it is"}}));
  REQUIRE(journal->append(finished(1, "seed1", "int a;\n")));
  REQUIRE(journal->append(BestChanged{"seed1"}));
}

}  // namespace

TEST_CASE("a journal remembers what was appended", "[store][journal]") {
  const auto directory = make_directory();
  write_run(directory.path() / "run");
  const auto again = open_run_journal(directory.path() / "run", fixed_time());
  REQUIRE(again);
  REQUIRE((*again)->events().size() == 6);
  CHECK((*again)->events()[0].time == "2023-11-14T22:13:20.123Z");
  CHECK(history_of((*again)->events()).at("seed1").candidate->source == "int a;\n");
}

TEST_CASE("the files of a run appear beside the journal", "[store][journal]") {
  const auto directory = make_directory();
  write_run(directory.path());
  CHECK(text_of(directory.path() / "prompt_1.txt") == "write seed1");
  CHECK(text_of(directory.path() / "response_1.txt") == "here it is");
  CHECK(text_of(directory.path() / "code_1.cpp") == "int a;\n");
  CHECK(parse_record(text_of(directory.path() / "result_1.json")));
  CHECK(text_of(directory.path() / "best_code.cpp") == "int a;\n");
  CHECK(text_of(directory.path() / "best_prompt.txt") == "write seed1");
  CHECK(parse_record(text_of(directory.path() / "best_result.json")));
}

TEST_CASE("an action without a record leaves its reason", "[store][journal]") {
  const auto directory = make_directory();
  const auto journal = open_run_journal(directory.path(), fixed_time()).value();
  ActionFinished event;
  event.result.number = 3;
  event.result.message = "the reply holds no code";
  REQUIRE(journal->append(event));
  CHECK(text_of(directory.path() / "result_3.json").find("the reply holds no code") != std::string::npos);
  CHECK_FALSE(parse_record(text_of(directory.path() / "result_3.json")));
  CHECK_FALSE(fs::exists(directory.path() / "code_3.cpp"));
}

TEST_CASE("files that a crash left out are written when the journal is opened", "[store][journal]") {
  const auto directory = make_directory();
  write_run(directory.path());
  fs::remove(directory.path() / "response_1.txt");
  fs::remove(directory.path() / "best_code.cpp");
  REQUIRE(open_run_journal(directory.path(), fixed_time()));
  CHECK(text_of(directory.path() / "response_1.txt") == "here it is");
  CHECK(text_of(directory.path() / "best_code.cpp") == "int a;\n");
}

TEST_CASE("a torn last line is cut off", "[store][journal]") {
  const auto directory = make_directory();
  write_run(directory.path());
  const auto whole = text_of(directory.path() / "events.jsonl");
  add_text(directory.path() / "events.jsonl", R"({"schema":1,"type":"request_sent","num)");
  SECTION("by a reader, which leaves the file alone") {
    CHECK(read_run_events(directory.path())->size() == 6);
    CHECK(text_of(directory.path() / "events.jsonl") != whole);
  }
  SECTION("by a writer, from the file") {
    const auto journal = open_run_journal(directory.path(), fixed_time()).value();
    CHECK(journal->events().size() == 6);
    CHECK(text_of(directory.path() / "events.jsonl") == whole);
    REQUIRE(journal->append(RequestSent{2}));
    CHECK(read_run_events(directory.path())->size() == 7);
  }
}

TEST_CASE("a damaged line inside a journal is an error with its number", "[store][journal]") {
  const auto directory = make_directory();
  write_run(directory.path());
  add_text(directory.path() / "events.jsonl", "garbage\n{\"schema\":1,\"type\":\"request_sent\",\"number\":1}\n");
  const auto journal = open_run_journal(directory.path(), fixed_time());
  REQUIRE_FALSE(journal);
  CHECK(journal.error().code == ErrorCode::InvalidArgument);
  CHECK(journal.error().to_line().find("line 7") != std::string::npos);
}

TEST_CASE("a second owner of a journal is told so", "[store][journal]") {
  const auto directory = make_directory();
  const auto first = open_run_journal(directory.path(), fixed_time());
  REQUIRE(first);
  const auto second = open_run_journal(directory.path(), fixed_time());
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::Busy);
  CHECK(second.error().message.find("the run in " + directory.path().string() + " is in use by another kgen (process " +
                                    std::to_string(::getpid()) + " on ") == 0);
  CHECK(second.error().message.find("; wait until that one ends, or give the new run a journal of its own") !=
        std::string::npos);
}

TEST_CASE("runs of one results directory have an owner each", "[store][journal]") {
  const auto directory = make_directory();
  const auto one = open_run_journal(directory.path() / "relu", fixed_time());
  const auto named = open_run_journal(directory.path() / "relu" / "again", fixed_time());
  const auto other = open_run_journal(directory.path() / "gru", fixed_time());
  CHECK(one);
  CHECK(named);
  CHECK(other);
}

TEST_CASE("a killed owner lets go of the journal", "[store][journal]") {
  const auto directory = make_directory();
  std::array<int, 2> ready{};
  REQUIRE(::pipe(ready.data()) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto journal = open_run_journal(directory.path(), fixed_time());
    const char byte = journal ? 'y' : 'n';
    [[maybe_unused]] const auto written = ::write(ready[1], &byte, 1);
    ::pause();
    ::_exit(1);
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(byte == 'y');
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(open_run_journal(directory.path(), fixed_time()));
}

TEST_CASE("a full disk leaves the journal as it was", "[store][journal]") {
  const auto directory = make_directory();
  {
    // Longer than every other file of the run, so that only the journal reaches the limit.
    const auto journal = open_run_journal(directory.path(), fixed_time()).value();
    for (int number = 1; number <= 6; ++number) REQUIRE(journal->append(finished(number, "seed", "int a;\n")));
  }
  const auto size = fs::file_size(directory.path() / "events.jsonl");
  // In a child, because raising a file size limit again needs privileges.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size + 20, size + 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto journal = open_run_journal(directory.path(), fixed_time());
    const bool refused = journal && !(*journal)->append(finished(2, "seed2", "int b;\n"));
    const bool remembered = journal && (*journal)->events().size() != 6;
    ::_exit(refused && !remembered ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(fs::file_size(directory.path() / "events.jsonl") == size);
}

TEST_CASE("times are read as they are written", "[store][journal]") {
  using namespace std::chrono;
  CHECK(parse_utc("2023-11-14T22:13:20.123Z") == system_clock::time_point(milliseconds(1'700'000'000'123)));
  CHECK_FALSE(parse_utc(""));
  CHECK_FALSE(parse_utc("2023-13-14T22:13:20.123Z"));
  CHECK_FALSE(parse_utc("yesterday"));
}

TEST_CASE("a journal in memory forgets nothing while it lives", "[store][journal]") {
  const auto journal = make_memory_journal(fixed_time());
  REQUIRE(journal->append(RequestSent{4}));
  REQUIRE(journal->events().size() == 1);
  CHECK(journal->events()[0].time == "2023-11-14T22:13:20.123Z");
}
