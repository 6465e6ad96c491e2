#include <kernelgen/report/figures.hpp>

#include <cmath>
#include <map>

#include "sample_runs.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

bool is_equal(double a, double b) { return std::abs(a - b) <= 1e-12; }

/// A run of a task with so many judged attempts, some of them correct.
RunReport run_with(const std::string& task, int attempts, int correct) {
  RunReport run;
  run.task = task;
  for (int number = 1; number <= attempts; ++number) {
    AttemptReport attempt;
    attempt.number = number;
    attempt.status = ActionStatus::Evaluated;
    attempt.result_class = number <= correct ? "correct" : "accuracy:mismatch";
    run.attempts.push_back(attempt);
  }
  return run;
}

RunReport scored_run(const std::string& task, double score) {
  auto run = run_with(task, 1, 1);
  run.best.emplace().score = Ratio{score, score - 0.1, score + 0.1};
  return run;
}

}  // namespace

TEST_CASE("pass@k against counted combinations", "[report][figures]") {
  // 1 - C(7, k) / C(10, k): 1 - 7/10, 1 - 21/45, 1 - 35/120, and 1 - 0.
  CHECK(is_equal(*pass_at_k(10, 3, 1), 0.3));
  CHECK(is_equal(*pass_at_k(10, 3, 2), 24.0 / 45));
  CHECK(is_equal(*pass_at_k(10, 3, 3), 85.0 / 120));
  CHECK(*pass_at_k(10, 3, 8) == 1);
  CHECK(*pass_at_k(5, 0, 5) == 0);
  CHECK(*pass_at_k(5, 5, 1) == 1);
  // The binomials of these exceed a double.
  CHECK(is_equal(*pass_at_k(2000, 1, 1000), 0.5));
}

TEST_CASE("pass@k of too few attempts does not exist", "[report][figures]") {
  CHECK_FALSE(pass_at_k(4, 2, 5));
  CHECK_FALSE(pass_at_k(4, 2, 0));
  CHECK_FALSE(pass_at_k(4, 5, 1));
  CHECK_FALSE(pass_at_k(4, -1, 1));
  CHECK_FALSE(pass_at_k(0, 0, 1));
}

TEST_CASE("pass@k is a mean over tasks with enough attempts", "[report][figures]") {
  // The two runs of a task are one task with 4 attempts, 1 of them correct.
  const std::vector runs{run_with("a", 2, 0), run_with("a", 2, 1), run_with("b", 1, 1)};
  const auto passes = pass_at_k_of(runs, {1, 2, 5});
  REQUIRE(passes.size() == 3);
  CHECK(passes[0].tasks == 2);
  CHECK(is_equal(*passes[0].value, (0.25 + 1) / 2));
  CHECK(passes[1].tasks == 1);
  CHECK(is_equal(*passes[1].value, 0.5));
  CHECK(passes[2].tasks == 0);
  CHECK_FALSE(passes[2].value);
}

TEST_CASE("only attempts that tell something about code count for pass@k", "[report][figures]") {
  auto run = run_with("a", 1, 1);
  for (const auto status : {ActionStatus::Analyzed, ActionStatus::ModelFailed, ActionStatus::NotJudged}) {
    run.attempts.push_back({});
    run.attempts.back().status = status;
    run.attempts.back().result_class = to_string(status);
  }
  run.attempts.push_back({});  // not finished
  CHECK(*pass_at_k_of({run}, {1})[0].value == 1);
  run.attempts.push_back({});
  run.attempts.back().status = ActionStatus::NoCode;
  run.attempts.back().result_class = "no_code";
  CHECK(*pass_at_k_of({run}, {1})[0].value == 0.5);
}

TEST_CASE("the curve of fast_p", "[report][figures]") {
  const auto curve =
      fast_p_curve({scored_run("a", 0.7), scored_run("b", 1.5), scored_run("c", 5), run_with("d", 1, 0)});
  REQUIRE(curve.size() == 36);
  CHECK(curve.front().p == 0.5);
  CHECK(curve.back().p == 4);
  std::map<double, double> at;
  for (const auto& point : curve) at[point.p] = point.fraction;
  CHECK(at.at(0.5) == 0.75);
  CHECK(at.at(0.7) == 0.5);  // above, not at
  CHECK(at.at(1.0) == 0.5);
  CHECK(at.at(1.5) == 0.25);
  CHECK(at.at(4.0) == 0.25);
}

TEST_CASE("figures of runs together", "[report][figures]") {
  auto paid = scored_run("a", 4);
  paid.requests.emplace_back();
  paid.requests.back().usage = {.input_tokens = 100, .output_tokens = 20};
  paid.requests.back().cost = 0.5;
  auto failed = run_with("b", 1, 0);
  failed.requests = paid.requests;
  const auto figures = figures_of({paid, failed, scored_run("c", 1)});
  CHECK(figures.runs == 3);
  CHECK(figures.correct == 2);
  CHECK(is_equal(figures.fast_1, 1.0 / 3));
  CHECK(is_equal(*figures.score.value, 2));
  // What failed was paid for, too.
  CHECK(*figures.tokens_per_correct == 120);
  CHECK(*figures.cost_per_correct == 0.5);
  CHECK_FALSE(figures_of({failed}).cost_per_correct);
  CHECK(figures_of({}).runs == 0);
}

TEST_CASE("the phases of an evaluation by what they are spent on", "[report][figures]") {
  const auto time = evaluation_time({{"admit", 2000},
                                     {"compile", 500},
                                     {"build ahead", 250},
                                     {"compile for sm_100", 250},
                                     {"wait for the judge", 4000},
                                     {"start the judge", 500},
                                     {std::string(k_device_wait_phase), 1000},
                                     {"correctness", 600},
                                     {"device timing", 400}});
  CHECK(is_equal(time.starting, 2.5));
  CHECK(is_equal(time.compiling, 1));
  CHECK(is_equal(time.waiting, 5));
  CHECK(is_equal(time.judging, 1));
  CHECK(is_equal(time.without_waiting(), 4.5));
}

TEST_CASE("the time of models and evaluations", "[report][figures]") {
  auto run = run_with("a", 3, 1);
  run.attempts[0].time = EvaluationTime{.compiling = 1, .waiting = 30, .starting = 2, .judging = 3};
  run.attempts[1].time = EvaluationTime{.judging = 10};
  run.requests.resize(2);
  run.requests[0].latency_seconds = 20;
  const auto figures = time_figures_of({run, run_with("b", 1, 0)});
  CHECK(is_equal(figures.model, 20));
  CHECK(is_equal(figures.evaluations.compiling, 1));
  CHECK(is_equal(figures.evaluations.waiting, 30));
  CHECK(is_equal(figures.evaluations.starting, 2));
  CHECK(is_equal(figures.evaluations.judging, 13));
  CHECK(is_equal(figures.median.value(), 8));
  CHECK(is_equal(figures.upper_decile.value(), 9.6));
  // An attempt without an evaluation took none.
  CHECK_FALSE(time_figures_of({run_with("b", 1, 0)}).median);
}

TEST_CASE("figures by group, what is unknown last", "[report][figures]") {
  auto gemm = scored_run("a", 2), both = scored_run("b", 3);
  gemm.families = {"gemm"};
  gemm.level = "fusion";
  both.families = {"attention", "gemm"};
  const auto families = figures_by({scored_run("c", 1), gemm, both}, Grouping::Family);
  REQUIRE(families.size() == 3);
  CHECK(families[0].name == "attention");
  CHECK(families[1].name == "gemm");
  CHECK(families[1].runs == 2);
  CHECK(families[2].name.empty());
  const auto levels = figures_by({gemm, both}, Grouping::Level);
  REQUIRE(levels.size() == 2);
  CHECK(levels[0].name == "fusion");
  CHECK(levels[1].name.empty());
}

TEST_CASE("the level and the families of a run", "[report][figures]") {
  RunScript run("9_GRU");
  CHECK(report_run("9_GRU", "", run.events).level.empty());
  CHECK(report_run("9_GRU", "", run.events).families.empty());
  TaskDescribed described;
  described.description.level = TaskLevel::Network;
  run.add(described);
  CHECK(report_run("9_GRU", "", run.events).level == "network");
  CHECK(report_run("9_GRU", "", run.events).families.empty());
  auto& facts = described.description.facts.emplace();
  run.add(described);
  CHECK(report_run("9_GRU", "", run.events).families == std::vector<std::string>{"elementwise"});
  facts.families = {OperationFamily::Gemm};
  facts.recurrence.emplace();
  run.add(described);
  CHECK(report_run("9_GRU", "", run.events).families == std::vector<std::string>{"gemm", "recurrent"});
  // The path of the task decides.
  std::get<RunStarted>(run.events.front().body).task.level = TaskLevel::Fusion;
  CHECK(report_run("9_GRU", "", run.events).level == "fusion");
}
