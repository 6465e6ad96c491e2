#include <cmath>

#include <kernelgen/report/report.hpp>

#include "report/csv.hpp"
#include "report/layout.hpp"
#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/text.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

}  // namespace

TEST_CASE("the reports of a set of runs", "[report]") {
  const auto runs = sample_runs();
  check_golden("summary.json", summary_json(runs));
  check_golden("summary.csv", summary_csv(runs));
  check_golden("summary_80.txt", summary_table(runs, 80));
  check_golden("summary.txt", summary_table(runs, 0));
  check_golden("usage.csv", usage_csv(runs));
  check_golden("detailed_report.json", detailed_json(runs));
  check_golden("detailed_report.txt", detailed_text(runs));
  check_golden("score.svg", score_figure(runs.front()));
}

TEST_CASE("the status of a run", "[report]") {
  const auto runs = sample_runs();
  CHECK(runs[0].status == RunStatus::Success);
  CHECK(runs[1].status == RunStatus::Partial);
  CHECK(runs[2].status == RunStatus::Failed);
  CHECK(runs[3].status == RunStatus::Unfinished);
  auto resumed = successful_events();
  resumed.push_back({"2025-01-31T01:00:00.000Z", RunResumed{"0.1.0"}});
  CHECK(report_run("t", "", resumed).status == RunStatus::Unfinished);
  CHECK(report_run("t", "", {}).status == RunStatus::Unfinished);
}

TEST_CASE("a run that was continued is one run, with both models", "[report]") {
  auto events = successful_events();
  const auto before = report_run("t", "", events);
  events.push_back({"2025-01-31T01:00:00.000Z", RunContinued{"0.1.0", "hybrid", {{"goal", "2"}}, before.model}});
  auto continued = report_run("t", "", events);
  CHECK(continued.status == RunStatus::Unfinished);
  CHECK(continued.model == before.model);
  CHECK(continued.attempts.size() == before.attempts.size());
  CHECK(continued.best->id == before.best->id);
  events.push_back({"2025-01-31T02:00:00.000Z", RunContinued{"0.1.0", "hybrid", {{"goal", "2"}}, "another"}});
  events.push_back({"2025-01-31T02:01:00.000Z", RunFinished{"all stages are done", true}});
  continued = report_run("t", "", events);
  CHECK(continued.status == RunStatus::Success);
  CHECK(continued.model == before.model + ", another");
  CHECK(continued.minutes == before.minutes + 1);
}

TEST_CASE("the best kernel is the one that the run announced", "[report]") {
  auto events = successful_events();
  const auto best = report_run("t", "", events).best;
  REQUIRE(best);
  CHECK(best->id == "seed1/optimize");
  CHECK(best->code_file == "best_code.cpp");
  CHECK(best->kernel_ms == 1.2);
  // Before BestChanged, the best of the finished actions counts; its file is that of the action.
  events.erase(events.begin() + 9, events.end());
  REQUIRE(std::holds_alternative<ActionFinished>(events.back().body));
  const auto early = report_run("t", "", events).best;
  REQUIRE(early);
  CHECK(early->id == "seed1/repair1");
  CHECK(early->code_file == "code_2.cpp");
}

TEST_CASE("the score on a device wins over the score per call", "[report]") {
  auto events = successful_events();
  auto& last = std::get<ActionFinished>((events.end() - 3)->body).result;
  last.record->timing->speedup_device = Ratio{4, 3.9, 4.1};
  const auto best = report_run("t", "", events).best;
  REQUIRE(best);
  REQUIRE(best->score);
  CHECK(best->score->value == 4);
  CHECK(best->score->low == 3.9);
  // A kernel that is correct under an interpreter has no score.
  last.record->labels = {"interpreter: a time is not a result"};
  const auto unscored = report_run("t", "", events);
  REQUIRE(unscored.best);
  CHECK_FALSE(unscored.best->score);
  CHECK(totals_of({unscored}).correct_percent == 100);
  CHECK(totals_of({unscored}).mean == 0);
  CHECK_FALSE(totals_of({unscored}).median);
}

TEST_CASE("requests: answered, failed, unknown", "[report]") {
  const auto runs = sample_runs();
  const auto& slow = runs[1].requests;
  REQUIRE(slow.size() == 2);
  CHECK(slow[0].status == RequestStatus::Failed);
  CHECK(slow[1].status == RequestStatus::Answered);
  CHECK(slow[1].model == "openai:sonata@http://localhost:1/v1");
  const auto& open = runs[3].requests;
  REQUIRE(open.size() == 2);
  CHECK(open[0].status == RequestStatus::Unknown);
  CHECK(open[1].status == RequestStatus::Unknown);
  const auto usage = usage_of(slow);
  CHECK(usage.total_tokens() == 700);
  CHECK_FALSE(usage.tokens.output_tokens);
  CHECK_FALSE(usage_of(open).total_tokens());
}

TEST_CASE("an answer to a request that was sent again belongs to the later one", "[report]") {
  RunScript run("t");
  run.ask(1, "seed1", PromptKind::Seed);
  run.add(RequestUnknown{1});
  run.add(RequestSent{1});
  run.answer(1, {.input_tokens = 5});
  const auto requests = report_run("t", "", run.events).requests;
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].status == RequestStatus::Unknown);
  CHECK(requests[1].usage.input_tokens == 5);
}

TEST_CASE("a request that an outage deferred is a row of its own, with its endpoint", "[report]") {
  RunScript run("t");
  run.ask(1, "seed1", PromptKind::Seed);
  run.add(RequestDeferred{1, ErrorCode::Unavailable, "HTTP 429: quota", "node7:8000"});
  CHECK(report_run("t", "", run.events).reason == "paused: HTTP 429: quota");
  run.add(RunResumed{"0.1.0"});
  run.add(RequestSent{1});
  run.add(ReplyArrived{1, {.text = "the reply"}, std::nullopt, "node8:8000"});
  const auto requests = report_run("t", "", run.events).requests;
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].status == RequestStatus::Deferred);
  CHECK(requests[0].endpoint == "node7:8000");
  CHECK(requests[1].status == RequestStatus::Answered);
  CHECK(requests[1].endpoint == "node8:8000");
  CHECK(report_run("t", "", run.events).reason.empty());
  const auto usage = usage_of(requests);
  CHECK(usage.deferred == 1);
  CHECK(usage.failed == 0);
}

TEST_CASE("a request that is answered elsewhere stays one request, however often it is asked for", "[report]") {
  RunScript run("t");
  run.ask(1, "seed1", PromptKind::Seed);
  for (int visit = 0; visit < 3; ++visit) {
    run.add(RequestPending{1});
    run.add(RequestSent{1});
  }
  run.answer(1, {.input_tokens = 5});
  const auto requests = report_run("t", "", run.events).requests;
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].status == RequestStatus::Answered);
}

TEST_CASE("an answer to nothing does no harm", "[report]") {
  RunScript run("t");
  run.answer(7, {.input_tokens = 5});
  run.add(RequestFailed{8, ErrorCode::Io, "cut"});
  run.add(BestChanged{"nothing"});
  const auto report = report_run("t", "", run.events);
  CHECK(report.requests.empty());
  CHECK_FALSE(report.best);
}

TEST_CASE("statistics over runs", "[report]") {
  std::vector<RunReport> runs(5);
  const double scores[] = {1, 2, 4, 8};
  for (std::size_t i = 0; i < 4; ++i) runs[i].best = BestReport{.score = Ratio{scores[i], 0, 0}};
  runs[1].status = RunStatus::Success;
  const auto totals = totals_of(runs);
  CHECK(totals.runs == 5);
  CHECK(totals.success_percent == 20);
  CHECK(totals.correct_percent == 80);
  CHECK(totals.mean == 3);
  CHECK(totals.mean_scored == 3.75);
  REQUIRE(totals.geometric_mean);
  CHECK(std::abs(*totals.geometric_mean - std::sqrt(8.0)) < 1e-12);
  CHECK(totals.lower_quartile == 1.75);
  CHECK(totals.median == 3);
  CHECK(totals.upper_quartile == 5);
  // Only scores above 1 count.
  CHECK(totals.fast_1 == 0.6);
  CHECK(fast_p(runs, 0) == 0.8);
  CHECK(fast_p(runs, 4) == 0.2);
  CHECK(fast_p({}, 1) == 0);
  CHECK(totals_of({}).runs == 0);
}

TEST_CASE("cells that need quotes get them", "[report][csv]") {
  CHECK(csv_row({"a", "", "b c"}) == "a,,b c\n");
  CHECK(csv_row({"a,b", "say \"hi\""}) == "\"a,b\",\"say \"\"hi\"\"\"\n");
  CHECK(csv_row({"two\nlines", "bell\a"}) == "two lines,bell\n");
  CHECK(csv_row({"\"\""}) == "\"\"\"\"\"\"\n");
}

TEST_CASE("text in columns", "[report][layout]") {
  CHECK(fit_left("ab", 4) == "ab  ");
  CHECK(fit_right("ab", 4) == "  ab");
  CHECK(fit_left("abcdef", 5) == "ab...");
  CHECK(fit_left("\xC3\xA4\xC3\xA4", 3) == "\xC3\xA4\xC3\xA4 ");
  CHECK(wrap_text("one two three", 2, 9) == "  one two\n  three\n");
  CHECK(wrap_text("abcdefgh", 1, 5) == " abcd\n efgh\n");
  CHECK(wrap_text("one two", 0, 0) == "one two\n");
}

TEST_CASE("no line of a table is longer than the terminal", "[report]") {
  auto runs = sample_runs();
  runs[0].task = std::string(200, 'x');
  for (const std::size_t width : {80u, 100u, 200u}) {
    const auto table = summary_table(runs, width);
    for (const auto line : split_lines(table)) CHECK(text_width(line) <= width);
  }
  CHECK(contains(summary_table(runs, 0), runs[0].task));
  const auto detail = detailed_text(runs);
  for (const auto line : split_lines(detail)) CHECK(text_width(line) <= 100);
}

TEST_CASE("a figure of no, one and many actions", "[report][figure]") {
  const auto empty = score_figure(report_run("t", "", {}));
  CHECK(contains(empty, "nothing has been tried yet"));
  RunScript one("t");
  one.ask(1, "seed1", PromptKind::Seed);
  one.finish_correct(1, 1.5);
  CHECK(count(score_figure(report_run("t", "", one.events)), "<circle") == 3);
  RunScript many("t");
  for (int i = 1; i <= 60; ++i) {
    many.ask(i, "seed" + std::to_string(i), PromptKind::Seed);
    if (i % 3 == 0)
      many.finish_correct(i, 0.2 * i);
    else
      many.finish_wrong(i, {OutcomeKind::Timeout, "", ""});
  }
  const auto figure = score_figure(report_run("t", "", many.events));
  // The legend has one of each.
  CHECK(count(figure, "class=\"scored\"") == 21);
  CHECK(count(figure, "class=\"failed\"") == 41);
}

TEST_CASE("text in a figure is no markup", "[report][figure]") {
  RunScript run("t");
  run.ask(1, "<script>&\"", PromptKind::Seed);
  run.finish_correct(1, 1.5);
  const auto figure = score_figure(report_run("<b>", "", run.events));
  CHECK_FALSE(contains(figure, "<script>"));
  CHECK(contains(figure, "&lt;script&gt;&amp;"));
  CHECK(contains(figure, "&lt;b&gt;: 1.50x"));
}
