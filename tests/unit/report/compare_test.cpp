#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/report/compare.hpp>

#include "report/layout.hpp"
#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

/// A run that is over, with one answered request of 100 tokens.
RunReport make_run(const std::string& task, std::optional<Ratio> score, bool is_correct = true) {
  RunReport run;
  run.task = task;
  run.status = is_correct ? RunStatus::Success : RunStatus::Failed;
  run.policy = "hybrid";
  run.model = "sonata";
  run.target = "cuda";
  run.device = "H100";
  run.precision = PrecisionClass::Strict;
  run.content_id = "text of " + task;
  run.evaluations = 2;
  run.minutes = 1.5;
  if (is_correct) run.best = BestReport{.id = "seed1", .score = score};
  if (!is_correct)
    run.attempts.push_back({.number = 1, .status = ActionStatus::Evaluated, .result_class = "compile:undeclared"});
  run.requests.push_back({.status = RequestStatus::Answered, .usage = {.input_tokens = 70, .output_tokens = 30}});
  return run;
}

RunReport scored(const std::string& task, double value, double margin = 0.1) {
  return make_run(task, Ratio{value, value - margin, value + margin});
}
RunReport wrong(const std::string& task) { return make_run(task, {}, false); }
RunReport untimed(const std::string& task) { return make_run(task, {}); }

TaskResult result_of(const RunReport& run) { return results_by_task({run}).front(); }

ResultSet base_set() {
  return {"results/base",
          {scored("1_Faster", 1), scored("2_Slower", 2), scored("3_Same", 1.5), wrong("4_Solved"), scored("5_Lost", 3),
           wrong("6_Hard"), untimed("7_Untimed"), scored("8_Other", 1.2), scored("9_More", 4, 0.5),
           scored("10_OnlyBase", 1)}};
}

ResultSet other_set() {
  auto faster = scored("1_Faster", 1.3);
  faster.requests.push_back({.status = RequestStatus::Answered, .usage = {.input_tokens = 500}, .cost = 0.25});
  return {
      "results/other",
      {faster, scored("2_Slower", 1), scored("3_Same", 1.6), scored("4_Solved", 0.5), wrong("5_Lost"), wrong("6_Hard"),
       untimed("7_Untimed"), scored("8_Other", 1.25), scored("9_More", 5, 0.2), scored("11_OnlyOther", 1)}};
}

ComparisonReport sample_comparison() {
  auto report = compare_all({base_set(), other_set(), {"third", {wrong("2_Slower"), scored("3_Same", 3)}}});
  REQUIRE(report);
  return *std::move(report);
}

bool warns(const SetComparison& comparison, const std::string& text) {
  for (const auto& warning : comparison.warnings)
    if (contains(warning, text)) return true;
  return false;
}

}  // namespace

TEST_CASE("a pair is decided by correctness, then by the intervals", "[report][compare]") {
  const auto outcome = [](const RunReport& base, const RunReport& other) {
    return compare_pair(result_of(base), result_of(other));
  };
  CHECK(outcome(scored("t", 1), scored("t", 1.21)) == PairOutcome::Won);
  CHECK(outcome(scored("t", 1.21), scored("t", 1)) == PairOutcome::Lost);
  // Intervals that touch overlap.
  CHECK(outcome(scored("t", 1, 0.125), scored("t", 1.25, 0.125)) == PairOutcome::Tied);
  CHECK(outcome(scored("t", 1.25, 0.125), scored("t", 1, 0.125)) == PairOutcome::Tied);
  CHECK(outcome(wrong("t"), scored("t", 0.1)) == PairOutcome::Won);
  CHECK(outcome(scored("t", 0.1), wrong("t")) == PairOutcome::Lost);
  CHECK(outcome(untimed("t"), wrong("t")) == PairOutcome::Lost);
  CHECK(outcome(wrong("t"), wrong("t")) == PairOutcome::NeitherCorrect);
  CHECK(outcome(untimed("t"), scored("t", 1)) == PairOutcome::NotTimed);
  CHECK(outcome(scored("t", 1), untimed("t")) == PairOutcome::NotTimed);
}

TEST_CASE("the tasks of two sets are paired by name", "[report][compare]") {
  const auto comparison = compare_sets(base_set(), other_set());
  REQUIRE(comparison.pairs.size() == 9);
  CHECK(comparison.won == 3);   // 1_Faster, 4_Solved, 9_More
  CHECK(comparison.lost == 2);  // 2_Slower, 5_Lost
  CHECK(comparison.tied == 2);  // 3_Same, 8_Other
  CHECK(comparison.won + comparison.lost + comparison.tied + comparison.neither_correct + comparison.not_timed == 9);
  CHECK(comparison.neither_correct == 1);
  CHECK(comparison.not_timed == 1);
  CHECK(comparison.only_base == Names{"10_OnlyBase"});
  CHECK(comparison.only_other == Names{"11_OnlyOther"});
  CHECK(comparison.excluded.empty());
  CHECK(comparison.ratio.tasks == 5);
  REQUIRE(comparison.ratio.value);
  CHECK(std::abs(*comparison.ratio.value - std::pow(1.3 * 0.5 * (1.6 / 1.5) * (1.25 / 1.2) * 1.25, 0.2)) < 1e-12);
  CHECK(comparison.ratio.low < comparison.ratio.value);
  CHECK(comparison.correctness.both == 6);
  CHECK(comparison.correctness.only_base == 1);
  CHECK(comparison.correctness.only_other == 1);
  CHECK(comparison.correctness.neither == 1);
  CHECK(comparison.correctness_p == 1);
}

TEST_CASE("what was spent is that of the common tasks", "[report][compare]") {
  const auto comparison = compare_sets(base_set(), other_set());
  CHECK(comparison.base_totals.tasks == 9);
  CHECK(comparison.base_totals.correct == 7);
  CHECK(comparison.base_totals.faster == 5);
  CHECK(comparison.base_totals.usage.total_tokens() == 900);
  CHECK_FALSE(comparison.base_totals.usage.cost);
  CHECK(comparison.base_totals.evaluations == 18);
  CHECK(comparison.base_totals.minutes == 13.5);
  CHECK(comparison.other_totals.usage.requests == 10);
  CHECK(comparison.other_totals.usage.total_tokens() == 1400);
  CHECK(comparison.other_totals.usage.cost == 0.25);
  CHECK(warns(comparison, "9 answered requests of results/other without a known cost"));
  CHECK_FALSE(warns(comparison, "results/base without a known cost"));
}

TEST_CASE("the best of several runs counts, and all of them cost", "[report][compare]") {
  auto first = scored("t", 1.5), second = scored("t", 2), third = wrong("t");
  second.name = "again";
  second.device = "H200";
  third.name = "third";
  const auto tasks = results_by_task({first, second, third});
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].runs == 3);
  CHECK(tasks[0].is_correct);
  REQUIRE(tasks[0].score);
  CHECK(tasks[0].score->value == 2);
  CHECK(tasks[0].device == "H200");
  CHECK(tasks[0].usage.total_tokens() == 300);
  CHECK(tasks[0].minutes == 4.5);
  // The order of the runs does not matter, and a kernel without a time is worth more than none.
  CHECK(results_by_task({third, second, first})[0].score->value == 2);
  CHECK(results_by_task({third, untimed("t")})[0].is_correct);
  CHECK(results_by_task({untimed("t"), first})[0].score->value == 1.5);
  CHECK(warns(compare_sets({"a", {first, second}}, {"b", {first}}), "1 task of a with several runs"));
}

TEST_CASE("other devices, precision classes and conditions are said", "[report][compare]") {
  const auto base = scored("t", 1);
  const auto warning_of = [&](const RunReport& other) {
    const auto comparison = compare_sets({"a", {base}}, {"b", {other}});
    return comparison.warnings.empty() ? "" : comparison.warnings.front();
  };
  CHECK(warning_of(base).empty());
  auto other = base;
  other.device = "A100";
  CHECK(warning_of(other) == "devices differ in 1 task (t: H100 and A100), so their scores are not comparable");
  // A device that is not known differs from nothing.
  other.device = "";
  CHECK(warning_of(other).empty());
  other = base;
  other.precision = PrecisionClass::Tf32;
  CHECK(warning_of(other) ==
        "precision classes differ in 1 task (t: strict and tf32), so their scores are not comparable");
  other = base;
  other.best->labels = {"algebraic", "shrunk: batch_size=16"};
  CHECK(warning_of(other) ==
        "conditions differ in 1 task (t: the usual and shrunk: batch_size=16), so their scores are not comparable");
  // A wrong kernel has no conditions.
  CHECK(warning_of(wrong("t")).empty());
}

TEST_CASE("unfinished runs count as they stand, damaged ones do not", "[report][compare]") {
  auto unfinished = scored("1_a", 2);
  unfinished.status = RunStatus::Unfinished;
  RunReport damaged;
  damaged.task = "2_b";
  damaged.status = RunStatus::Damaged;
  const ResultSet base{"a", {scored("1_a", 1), scored("2_b", 1)}};
  const auto comparison = compare_sets(base, {"b", {unfinished, damaged}});
  CHECK(comparison.won == 1);
  CHECK(comparison.excluded == Names{"2_b: a journal is damaged"});
  CHECK(warns(comparison, "1 run of b not finished, counted as it stands"));
  auto again = scored("2_b", 3);
  again.name = "again";
  const auto with_another = compare_sets(base, {"b", {damaged, again}});
  CHECK(with_another.won == 1);
  CHECK(warns(with_another, "1 run of b damaged, not counted"));
}

TEST_CASE("a task with different texts is not compared", "[report][compare]") {
  auto other = scored("t", 2);
  other.content_id = "another text";
  auto comparison = compare_sets({"a", {scored("t", 1)}}, {"b", {other}});
  CHECK(comparison.pairs.empty());
  CHECK(comparison.excluded == Names{"t: the two sides have different texts of it"});
  // Runs of a version that did not record it are compared.
  other.content_id = "";
  CHECK(compare_sets({"a", {scored("t", 1)}}, {"b", {other}}).won == 1);
}

TEST_CASE("device, precision class and text of a run come from its journal", "[report][compare]") {
  auto events = successful_events();
  std::get<RunStarted>(events.front().body).task.content_id = "abc";
  for (auto& event : events)
    if (auto* finished = std::get_if<ActionFinished>(&event.body); finished != nullptr && finished->result.record) {
      finished->result.record->environment.device = "device of action " + std::to_string(finished->result.number);
      finished->result.record->precision = PrecisionClass::Bf16;
    }
  const auto run = report_run("t", "", events);
  CHECK(run.device == "device of action 4");
  CHECK(run.precision == PrecisionClass::Bf16);
  CHECK(run.content_id == "abc");
  // Without a correct kernel, the last evaluation says it.
  auto failed = failed_events();
  for (auto& event : failed)
    if (auto* finished = std::get_if<ActionFinished>(&event.body); finished != nullptr && finished->result.record)
      finished->result.record->environment.device = "cpu";
  CHECK(report_run("t", "", failed).device == "cpu");
  CHECK(report_run("t", "", unfinished_events()).device.empty());
  CHECK_FALSE(report_run("t", "", unfinished_events()).precision);
}

TEST_CASE("sets that cannot be compared are refused", "[report][compare]") {
  const auto message_of = [](std::vector<ResultSet> sets) {
    const auto report = compare_all(std::move(sets));
    REQUIRE_FALSE(report);
    CHECK(report.error().code == ErrorCode::InvalidArgument);
    return report.error().message;
  };
  CHECK(message_of({base_set()}) == "a comparison needs at least two results directories");
  CHECK(message_of({{"a", {scored("1_a", 1)}}, {"b", {scored("2_b", 1)}}}) ==
        "a and b have no task in common (the first task of each: 1_a, 2_b)");
  CHECK(message_of(std::vector<ResultSet>(27, base_set())) ==
        "a comparison takes at most 26 results directories, not 27");
}

TEST_CASE("the reports of a comparison", "[report][compare]") {
  const auto report = sample_comparison();
  check_golden("comparison_80.txt", comparison_table(report, 80));
  check_golden("comparison.txt", comparison_table(report, 0));
  check_golden("comparison.json", comparison_json(report));
}

TEST_CASE("no line of a comparison is longer than the terminal", "[report][compare]") {
  auto base = base_set(), other = other_set();
  base.name = "/scratch/" + std::string(120, 'r') + "/results";
  base.runs[0].task = other.runs[0].task = std::string(200, 'x');
  other.runs[4].attempts[0].result_class = "device_fault:" + std::string(40, 'y');
  base.runs[1].model = std::string(150, 'm');
  const auto report = compare_all({base, other});
  REQUIRE(report);
  for (const std::size_t width : {80u, 100u, 200u}) {
    const auto table = comparison_table(*report, width);
    for (const auto line : split_lines(table)) CHECK(text_width(line) <= width);
  }
  CHECK(contains(comparison_table(*report, 0), std::string(200, 'x')));
}

TEST_CASE("hostile names in a comparison stay text", "[report][compare]") {
  auto hostile = scored("1_\x1b[31mred\nline", 1);
  hostile.model = "\x1b]0;title\a";
  const auto report = compare_all({{"a\x1b[2J", {hostile}}, {"b", {hostile}}});
  REQUIRE(report);
  const auto table = comparison_table(*report, 100);
  CHECK_FALSE(contains(table, "\x1b"));
  CHECK_FALSE(contains(table, "\a"));
  CHECK_FALSE(contains(table, "\nline"));
}

TEST_CASE("results directories are read and compared", "[report][compare]") {
  const auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "compare-").value();
  const auto add = [&](const std::string& run, const std::vector<Event>& events) {
    fs::create_directories(directory.path() / run);
    std::ofstream file(directory.path() / run / "events.jsonl");
    for (const auto& event : events) file << to_json(event) << '\n';
  };
  add("one/9_GRU", successful_events());
  add("one/10_Relu", failed_events());
  add("two/9_GRU", slow_events());
  add("two/11_Sum", unfinished_events());
  const auto one = directory.path() / "one", two = directory.path() / "two";
  const auto report = compare_directories({one, two});
  REQUIRE(report);
  REQUIRE(report->comparisons.size() == 1);
  CHECK(report->comparisons[0].lost == 1);
  CHECK(report->comparisons[0].ratio.value == 0.5 / 2.5);
  CHECK(report->comparisons[0].only_base == Names{"10_Relu"});
  CHECK(report->totals[0].tasks == 2);
  CHECK(report->sets[1].name == two.string());
  // Reading writes nothing.
  CHECK(std::distance(fs::directory_iterator(one), fs::directory_iterator()) == 2);
  CHECK_FALSE(fs::exists(one / "9_GRU/.report.json"));

  // The runs of one directory, by a property.
  add("three/9_GRU/cuda", successful_events());
  add("three/9_GRU/slow", slow_events());
  const auto within = compare_within(directory.path() / "three", ComparedProperty::Name);
  REQUIRE(within);
  CHECK(within->sets[0].name == "cuda");
  CHECK(within->sets[1].name == "slow");
  CHECK(within->comparisons[0].ratio.value == 0.5 / 2.5);
  const auto alike = compare_within(directory.path() / "three", ComparedProperty::Policy);
  REQUIRE_FALSE(alike);
  CHECK(contains(alike.error().message, "have the same policy; there is nothing to compare"));

  const auto twice = compare_directories({one, directory.path() / "two/../one"});
  REQUIRE_FALSE(twice);
  CHECK(contains(twice.error().message, "two/../one is named twice"));
  const auto missing = compare_directories({one, directory.path() / "four"});
  REQUIRE_FALSE(missing);
  CHECK(contains(missing.error().message, "four is no results directory: it does not exist"));
}
