#include <filesystem>
#include <fstream>

#include <kernelgen/report/report.hpp>

#include "results_directory.hpp"
#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

TEST_CASE("the runs below a directory, in natural order", "[report][results]") {
  Results results;
  results.add("10_Relu", slow_events());
  results.add("10_Relu/second", failed_events());
  results.add("9_GRU", successful_events());
  results.add("11_Sum/only", unfinished_events());
  results.write("9_GRU/figures/old.svg", "");
  results.write("notes/readme.txt", "no run");
  results.write("batch_run.log", "no directory");
  CHECK(results.found() == std::vector<std::string>{"9_GRU/: success", "10_Relu/: partial", "10_Relu/second: failed",
                                                    "11_Sum/only: unfinished"});
}

TEST_CASE("a damaged journal is listed with its problem", "[report][results]") {
  Results results;
  results.add("1_Good", successful_events());
  results.write("2_Bad/events.jsonl", "{\"schema\": 1}\n");
  results.write("3_Binary/events.jsonl", std::string("\0\xff\n", 3));
  REQUIRE(write_reports(results.path()));
  CHECK(results.found() == std::vector<std::string>{"1_Good/: success", "2_Bad/: damaged", "3_Binary/: damaged"});
  CHECK(results.read("summary.json").find("events.jsonl, line 1: not an event") != std::string::npos);
  CHECK(fs::exists(results.path("1_Good/figures/score.svg")));
  CHECK_FALSE(fs::exists(results.path("2_Bad/figures")));
}

TEST_CASE("a torn last line is no damage", "[report][results]") {
  Results results;
  results.add("1_Good", successful_events());
  std::ofstream(results.path("1_Good/events.jsonl"), std::ios::app) << R"({"schema": 1, "type": "run_)";
  CHECK(results.found() == std::vector<std::string>{"1_Good/: success"});
}

TEST_CASE("links below a results directory are not followed", "[report][results]") {
  Results results;
  results.add("1_Good", successful_events());
  fs::create_directory_symlink(results.path(), results.path("loop"));
  fs::create_directory_symlink(results.path("1_Good"), results.path("1_Good/again"));
  fs::create_directories(results.path("2_Linked"));
  fs::create_symlink(results.path("1_Good/events.jsonl"), results.path("2_Linked/events.jsonl"));
  CHECK(results.found() == std::vector<std::string>{"1_Good/: success"});
  // The directory itself may be a link.
  CHECK(read_results(results.path("loop")));
}

TEST_CASE("what is no results directory is left alone", "[report][results]") {
  Results results;
  const auto error_of = [](const fs::path& path) {
    const auto written = write_reports(path);
    REQUIRE_FALSE(written);
    CHECK(written.error().code == ErrorCode::InvalidArgument);
    return written.error().message;
  };
  CHECK(error_of(results.path("nothing")).find("does not exist") != std::string::npos);
  CHECK(error_of(results.path()).find("holds no run") != std::string::npos);
  CHECK(fs::is_empty(results.path()));
  results.add("1_Good", successful_events());
  CHECK(error_of(results.path("1_Good")).find("it is a run") != std::string::npos);
  CHECK(error_of(results.path("1_Good/events.jsonl")).find("no directory") != std::string::npos);
}

TEST_CASE("the files of a results directory", "[report][results]") {
  Results results;
  results.add("9_GRU", successful_events());
  REQUIRE(write_reports(results.path()));
  const auto runs = read_results(results.path());
  REQUIRE(runs);
  CHECK(results.read("summary.json") == summary_json(*runs));
  CHECK(results.read("summary.csv") == summary_csv(*runs));
  CHECK(results.read("usage.csv") == usage_csv(*runs));
  CHECK(results.read("detailed_report.txt") == detailed_text(*runs));
  CHECK(results.read("detailed_report.json") == detailed_json(*runs));
  CHECK(results.read("9_GRU/figures/score.svg") == score_figure(runs->front()));
  // Writing again leaves no other files and changes nothing.
  const auto before = results.read("summary.json");
  REQUIRE(write_reports(results.path()));
  CHECK(results.read("summary.json") == before);
  CHECK(std::distance(fs::directory_iterator(results.path()), fs::directory_iterator()) == 7);
}

TEST_CASE("a journal that has not changed is not read again", "[report][results]") {
  Results results;
  results.add("9_GRU", successful_events());
  results.add("10_Relu", slow_events());
  REQUIRE(write_reports(results.path()));
  const auto summary = results.read("summary.json");
  // Damage that changes neither the size nor the time of the journal.
  const auto journal = results.path("9_GRU/events.jsonl");
  const auto time = fs::last_write_time(journal);
  const auto size = fs::file_size(journal);
  std::ofstream(journal) << std::string(size - 1, 'x') + '\n';
  fs::last_write_time(journal, time);
  REQUIRE(write_reports(results.path()));
  CHECK(results.read("summary.json") == summary);
  CHECK(summary_json(*read_results(results.path())) == summary);
  SECTION("until it is written again") {
    std::ofstream(journal, std::ios::app) << "\n";
    CHECK(results.found() == std::vector<std::string>{"9_GRU/: damaged", "10_Relu/: partial"});
  }
  SECTION("unless what was kept is gone or damaged") {
    if (GENERATE(true, false))
      fs::remove(results.path("9_GRU/.report.json"));
    else
      results.write("9_GRU/.report.json", R"({"journal": "row 1"})");
    CHECK(results.found() == std::vector<std::string>{"9_GRU/: damaged", "10_Relu/: partial"});
  }
}

TEST_CASE("a run that goes on is reported anew", "[report][results]") {
  Results results;
  results.add("11_Sum", unfinished_events());
  REQUIRE(write_reports(results.path()));
  const auto figure = results.read("11_Sum/figures/score.svg");
  results.add("11_Sum", successful_events());
  REQUIRE(write_reports(results.path()));
  CHECK(results.found() == std::vector<std::string>{"11_Sum/: success"});
  CHECK(results.read("11_Sum/figures/score.svg") != figure);
  fs::remove(results.path("11_Sum/figures/score.svg"));
  REQUIRE(write_reports(results.path()));
  CHECK(fs::exists(results.path("11_Sum/figures/score.svg")));
}

TEST_CASE("a run that was moved has the name of its new place", "[report][results]") {
  Results results;
  results.add("9_GRU", successful_events());
  REQUIRE(write_reports(results.path()));
  fs::create_directories(results.path("11_Sum"));
  fs::rename(results.path("9_GRU"), results.path("11_Sum/moved"));
  CHECK(results.found() == std::vector<std::string>{"11_Sum/moved: success"});
}

TEST_CASE("a file that cannot be written is an error", "[report][results]") {
  Results results;
  results.add("9_GRU", successful_events());
  results.write("9_GRU/figures", "in the way");
  CHECK_FALSE(write_reports(results.path()));
  fs::remove(results.path("9_GRU/figures"));
  fs::create_directories(results.path("summary.csv/x"));
  CHECK_FALSE(write_reports(results.path()));
}
