#include "report/page.hpp"

#include <zlib.h>

#include <filesystem>
#include <fstream>

#include <kernelgen/core/version.hpp>
#include <kernelgen/report/compare.hpp>

#include "report/run_details.hpp"
#include "results_directory.hpp"
#include "sample_runs.hpp"
#include "support/base64.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/json_text.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace json = boost::json;

namespace {

const fs::path k_parts = KERNELGEN_SOURCE_DIR "/lib/report/html";

std::size_t occurrences(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

/// The text between two marks, the first of which occurs once.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  REQUIRE(occurrences(text, from) == 1);
  const auto begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

json::object data_of(const std::string& page) {
  return parse_json(between(page, R"(<script type="application/json" id="data">)", "</script>")).value().as_object();
}

/// What a browser makes of the details of a run.
std::string inflate_details(const std::string& base64) {
  const auto bytes = from_base64(base64).value();
  std::string text(4'000'000, '\0');
  uLongf size = text.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(text.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                     bytes.size()) == Z_OK);
  text.resize(size);
  return text;
}

/// Writes the reports, and reads the page.
std::string page_of(const Results& results) {
  REQUIRE(write_reports(results.path(), k_parts));
  return results.read("detailed_report.html");
}

json::object details_of(const Results& results, int number) {
  const auto base64 = between(page_of(results), "id=\"details-" + std::to_string(number) + "\">", "</script>");
  return parse_json(inflate_details(base64)).value().as_object();
}

const std::string k_hostile =
    "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u2028\u202Eevil @script@ @data@";

/// A run in which every text is hostile.
std::vector<Event> hostile_events() {
  RunScript run(k_hostile, k_hostile);
  auto& started = std::get<RunStarted>(run.events.front().body);
  started.policy = started.task.path = started.task.text = k_hostile;
  started.options = {{k_hostile, k_hostile}};
  run.ask(1, k_hostile, PromptKind::Seed);
  run.answer(1, {}, k_hostile);
  auto result = run.result(1, ActionStatus::Evaluated);
  result.candidate = make_candidate(Target::Cpp, k_hostile);
  result.record.emplace().outcome = {OutcomeKind::Compile, k_hostile, k_hostile};
  result.record->compile.emplace().log = k_hostile;
  result.record->compile->diagnostics = {{k_hostile, k_hostile, 1, 1, k_hostile}};
  result.record->labels = {k_hostile};
  run.add(ActionFinished{std::move(result)});
  run.add(RunFinished{k_hostile, false});
  return run.events;
}

}  // namespace

TEST_CASE("JSON in a script element ends neither it nor a line", "[report][page]") {
  const json::value data = json::array{k_hostile, "\u2029", "<!--", "a&b>c"};
  const auto text = json_for_script(data);
  CHECK_FALSE(contains(text, "<"));
  CHECK_FALSE(contains(text, "\u2028"));
  CHECK_FALSE(contains(text, "\u2029"));
  CHECK(parse_json(text).value() == data);
  CHECK(json_for_script(json::value("\xff\u20ac")) == "\"\uFFFD\u20ac\"");
}

TEST_CASE("the data of a report's page", "[report][page]") {
  auto data = report_page_data(sample_runs(), "results");
  CHECK(data.at("version") == json::string(version()));
  data.erase("version");
  check_golden("report_page.json", to_pretty_json(data));
}

TEST_CASE("the details of a run", "[report][page]") {
  const auto events = successful_events();
  check_golden("run_details.json",
               to_pretty_json(parse_json(run_details(report_run("9_GRU", "", events), events)).value()));
}

TEST_CASE("a page permits its own script and style, and nothing else", "[report][page]") {
  Results results;
  results.add("9_GRU", successful_events());
  const auto page = page_of(results);
  const auto policy = between(page, "Content-Security-Policy\" content=\"", "\"");
  CHECK(contains(policy, "default-src 'none'"));
  const auto source = [](const std::string& text) {
    Sha256 hash;
    hash.update(text);
    const auto digest = hash.finish();
    return "'sha256-" + to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
  };
  const auto script = between(page, "<script>", "</script>");
  CHECK(contains(policy, "script-src " + source(script) + ';'));
  CHECK(contains(policy, "style-src " + source(between(page, "<style>", "</style>")) + ';'));
  CHECK_FALSE(contains(policy, "unsafe"));
  // Nothing is loaded from elsewhere, and the file ends as it should.
  CHECK(occurrences(page, " src=") == occurrences(script, " src="));
  CHECK(occurrences(page, "<link") == 1);
  CHECK(page.ends_with("</html>\n"));
  CHECK(occurrences(page, "\r") == 0);
}

TEST_CASE("hostile names and texts stay texts", "[report][page]") {
  Results results;
  results.add("1_Good", successful_events());
  const auto scripts = occurrences(page_of(results), "<script");
  results.add("2_<script>alert(1)<", hostile_events());
  const auto page = page_of(results);
  // One more element, with the details of the run.
  CHECK(occurrences(page, "<script") == scripts + 1);
  CHECK(occurrences(page, "</script") == scripts + 1);
  CHECK(occurrences(page, "alert(1)") ==
        occurrences(page, "\\u003cscript>alert(1)") + occurrences(page, "onerror=alert(1)"));
  CHECK(occurrences(page, "<img") == 0);
  const auto run = data_of(page).at("runs").as_array().at(1).as_object();
  CHECK(run.at("task") == "2_<script>alert(1)<");
  CHECK(run.at("reason") == json::string(k_hostile));
  const auto details = details_of(results, 1);
  const auto& attempt = details.at("attempts").as_array().at(0).as_object();
  CHECK(attempt.at("code") == json::string(k_hostile));
  CHECK(attempt.at("id") == json::string(k_hostile));
}

TEST_CASE("a long text is cut, and the page says where it is whole", "[report][page]") {
  const std::string text(10'000'000, 'x');
  RunScript run("9_GRU");
  run.ask(1, "seed1", PromptKind::Seed);
  auto result = run.result(1, ActionStatus::Evaluated);
  result.candidate = make_candidate(Target::Cpp, text);
  result.record.emplace().outcome = {OutcomeKind::Compile, "other", text};
  result.record->compile.emplace().log = text;
  result.critique = text;
  result.message = text;
  run.add(ActionFinished{std::move(result)});
  run.add(RunFinished{text, false});
  Results results;
  results.add("9_GRU", run.events);
  CHECK(page_of(results).size() < 1'000'000);
  const auto details = details_of(results, 0);
  const auto& attempt = details.at("attempts").as_array().at(0).as_object();
  CHECK(attempt.at("code").as_string().ends_with("x ...\n[cut: all 10000000 bytes are in code_1.cpp]"));
  CHECK(attempt.at("message").as_string().ends_with("[cut: all 10000000 bytes are in result_1.json]"));
  CHECK(attempt.at("record").at("compile").at("log").as_string().ends_with("result_1.json]"));
}

TEST_CASE("texts are cut between characters", "[report][page]") {
  CHECK(cut_text("abc", 3, "f") == "abc");
  CHECK(cut_text("abcd", 3, "f") == "abc ...\n[cut: all 4 bytes are in f]");
  CHECK(cut_text("ab\u20ac", 4, "") == "ab ...");
  CHECK(cut_text("\x80\x80\x80", 2, "") == " ...");
  CHECK(cut_text("a\xff", 2, "") == "a\uFFFD");
}

TEST_CASE("an analysis' expectation stands beside what was achieved", "[report][page]") {
  RunScript run("9_GRU");
  run.ask(1, "seed1", PromptKind::Seed);
  run.finish_correct(1, 1.5);
  run.ask(2, "seed1/analysis", PromptKind::Analysis);
  auto analyzed = run.result(2, ActionStatus::Analyzed);
  analyzed.analysis.emplace().expected_speedup = "3x";
  run.add(ActionFinished{std::move(analyzed)});
  run.ask(3, "seed1/optimize", PromptKind::Optimize);
  run.finish_correct(3, 3);
  auto& last = std::get<ActionFinished>(run.events.back().body).result.action;
  last.base = "seed1";
  last.analysis = "seed1/analysis";
  const auto details = parse_json(run_details(report_run("9_GRU", "", run.events), run.events)).value();
  const auto& attempt = details.at("attempts").as_array().at(2).as_object();
  CHECK(attempt.at("expected") == "3x");
  CHECK(attempt.at("achieved").to_number<double>() == 2);
}

TEST_CASE("a crossover names both of its parents, finished or not", "[report][page]") {
  RunScript run("9_GRU");
  run.ask(1, "i1g2", PromptKind::Crossover);
  run.finish_correct(1, 1.5);
  auto& finished = std::get<ActionFinished>(run.events.back().body).result.action;
  finished.base = "i1g1";
  finished.second_base = "i2g0";
  run.ask(2, "i2g2", PromptKind::Crossover);
  for (auto& event : run.events)
    if (auto* issued = std::get_if<ActionIssued>(&event.body)) issued->action.second_base = "i1g0";
  const auto details = parse_json(run_details(report_run("9_GRU", "", run.events), run.events)).value();
  const auto& attempts = details.at("attempts").as_array();
  CHECK(attempts.at(0).at("base") == "i1g1");
  CHECK(attempts.at(0).at("second_base") == "i2g0");
  CHECK(attempts.at(1).at("second_base") == "i1g0");
}

TEST_CASE("results of another version are read, or refused with the reason", "[report][page]") {
  Results results;
  results.add("1_Good", successful_events());
  results.write("2_Newer/events.jsonl", R"({"schema": 999, "type": "run_started", "time": "2030-01-01T00:00:00.000Z"})"
                                        "\n");
  const auto page = page_of(results);
  const auto runs = data_of(page).at("runs").as_array();
  CHECK(runs.at(0).at("status") == "success");
  CHECK(runs.at(1).at("status") == "damaged");
  CHECK(contains(std::string(runs.at(1).at("reason").as_string()), "999"));
  CHECK_FALSE(contains(page, "id=\"details-1\""));
}

TEST_CASE("the details of a run that has not changed are kept", "[report][page]") {
  Results results;
  results.add("9_GRU", successful_events());
  const auto page = page_of(results);
  CHECK(page_of(results) == page);
  SECTION("without reading the journal") {
    const auto journal = results.path("9_GRU/events.jsonl");
    const auto time = fs::last_write_time(journal);
    results.write("9_GRU/events.jsonl", std::string(fs::file_size(journal), 'x'));
    fs::last_write_time(journal, time);
    CHECK(page_of(results) == page);
  }
  SECTION("and made again when they are gone, damaged, or of another state") {
    const auto kept = read_file(results.path("9_GRU/.details")).value();
    const auto state = kept.substr(0, kept.find('\n') + 1);
    results.write("9_GRU/.details", GENERATE_COPY(std::string(), std::string("row 1\nabc\n"), state,
                                                  state + "</script><script>alert(1)</script>\n", state + "abc"));
    CHECK(page_of(results) == page);
  }
  SECTION("and not made where no page is wanted") {
    fs::remove(results.path("9_GRU/.details"));
    REQUIRE(write_reports(results.path()));
    CHECK_FALSE(fs::exists(results.path("9_GRU/.details")));
  }
}

TEST_CASE("a page without one of its parts is not written", "[report][page]") {
  Results results;
  results.add("9_GRU", successful_events());
  const auto parts = results.path("parts");
  CHECK(contains(write_reports(results.path(), parts).error().to_line(), "the page's part page.html"));
  fs::copy(k_parts, parts, fs::copy_options::recursive);
  CHECK(write_reports(results.path(), parts));
  fs::remove(parts / "third_party/diff.js");
  CHECK(contains(write_reports(results.path(), parts).error().to_line(), "third_party/diff.js"));
  fs::copy(k_parts / "third_party/diff.js", parts / "third_party/diff.js");
  std::ofstream(parts / "page.html") << "<p>@policy@ @style@ @data@";
  CHECK(contains(write_reports(results.path(), parts).error().to_line(), "page.html lacks @script@"));
}

TEST_CASE("a comparison as a page", "[report][compare][page]") {
  auto runs = sample_runs();
  runs.front().task = "</script>";
  const auto report = compare_all({{"a", runs}, {"<b>", runs}});
  REQUIRE(report);
  const auto page = comparison_page(*report, k_parts);
  REQUIRE(page);
  const auto data = data_of(*page);
  CHECK(data.at("kind") == "compare");
  CHECK(data.at("comparisons").as_array().size() == 1);
  CHECK(occurrences(*page, "</script") == 2);
  Results results;
  CHECK(write_comparison_page(*report, k_parts, results.path("page.html")));
  CHECK(read_file(results.path("page.html")).value() == *page);
  CHECK_FALSE(write_comparison_page(*report, k_parts, results.path("no/such/page.html")));
}
