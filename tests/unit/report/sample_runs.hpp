#pragma once

/// \file
/// Synthetic runs, one of each kind that a report must distinguish.

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/report/report.hpp>

#include "support/clock.hpp"

namespace kernelgen::testing {

/// Events at predictable times: one every 30 seconds, beginning at midnight.
class RunScript {
 public:
  explicit RunScript(std::string task, std::string model = "openai:sonata@http://localhost:1/v1") {
    RunStarted started;
    started.kernelgen_version = "0.1.0";
    started.task.name = std::move(task);
    started.policy = "hybrid";
    started.model = std::move(model);
    add(std::move(started));
  }

  void add(EventBody body) {
    using namespace std::chrono;
    const auto time = sys_days(2025y / January / 31) + 30s * static_cast<int>(events.size());
    events.push_back({utc_iso8601(time), std::move(body)});
  }

  void ask(int number, const std::string& id, PromptKind kind) {
    actions_.push_back({.id = id, .kind = kind});
    numbers_.push_back(number);
    add(ActionIssued{number, actions_.back(), {.kind = kind, .text = "the prompt"}});
    add(RequestSent{number});
  }

  void answer(int number, TokenUsage usage, const std::string& model = "sonata-2") {
    using namespace std::chrono_literals;
    add(ReplyArrived{number, {.text = "the reply", .usage = usage, .model = model, .latency = 1250ms}});
  }

  ActionResult result(int number, ActionStatus status) const {
    ActionResult result;
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (numbers_[i] == number) result.action = actions_[i];
    result.number = number;
    result.status = status;
    return result;
  }

  /// Adds a correct result: `score` with an interval of 0.1 on both sides, against a reference of 3 ms.
  void finish_correct(int number, double score, Recurrence recurrence = Recurrence::Persistent) {
    auto finished = result(number, ActionStatus::Evaluated);
    finished.candidate = make_candidate(Target::Cpp, "// kernel " + std::to_string(number));
    finished.recurrence = recurrence;
    auto& timing = finished.record.emplace().timing.emplace();
    timing.speedup_call = {score, score - 0.1, score + 0.1};
    timing.reference_median_ns = 3e6;
    timing.candidate_median_ns = 3e6 / score;
    finished.record->labels = {"algebraic"};
    finished.record->phases = {{"admit", 2000}, {"compile", 1500}, {"wait for the judge", 500}, {"timing", 750}};
    add(ActionFinished{std::move(finished)});
  }

  void finish_wrong(int number, Outcome outcome) {
    auto finished = result(number, ActionStatus::Evaluated);
    finished.candidate = make_candidate(Target::Cpp, "// kernel " + std::to_string(number));
    finished.record.emplace().outcome = std::move(outcome);
    add(ActionFinished{std::move(finished)});
  }

  std::vector<Event> events;

 private:
  std::vector<Action> actions_;
  std::vector<int> numbers_;
};

/// A seed that had to be repaired, an analysis, a faster kernel; the goal was reached.
inline std::vector<Event> successful_events() {
  RunScript run("9_GRU");
  run.ask(1, "seed1", PromptKind::Seed);
  run.answer(1, {.input_tokens = 1000, .output_tokens = 200, .cached_tokens = 100, .reasoning_tokens = 50});
  run.finish_wrong(1, {OutcomeKind::Accuracy, "mismatch",
                       "output: 12 of 1024 elements differ, worst 0.5 at [0, 3]; allowed there is 0.0001, and <that> & "
                       "\"this\" must not break a picture or a table"});
  run.ask(2, "seed1/repair1", PromptKind::Repair);
  run.answer(2, {.input_tokens = 1500, .output_tokens = 300});
  run.finish_correct(2, 1.25);
  run.add(BestChanged{"seed1/repair1"});
  run.ask(3, "seed1/analysis", PromptKind::Analysis);
  run.answer(3, {});
  auto analyzed = run.result(3, ActionStatus::Analyzed);
  analyzed.analysis.emplace().reason = "the gates can be fused";
  run.add(ActionFinished{std::move(analyzed)});
  run.ask(4, "seed1/optimize", PromptKind::Optimize);
  run.answer(4, {.input_tokens = 2000, .output_tokens = 400});
  run.finish_correct(4, 2.5);
  run.add(BestChanged{"seed1/optimize"});
  run.add(RunFinished{"persistent kernel with score 2.50 >= 1.00", true});
  return run.events;
}

/// Correct, but slower than the reference; the model failed once.
inline std::vector<Event> slow_events() {
  RunScript run("10_Relu");
  run.ask(1, "seed1", PromptKind::Seed);
  run.add(RequestFailed{1, ErrorCode::Unavailable, "server said 503"});
  auto failed = run.result(1, ActionStatus::ModelFailed);
  failed.message = "server said 503";
  run.add(ActionFinished{std::move(failed)});
  run.ask(2, "seed2", PromptKind::Seed);
  run.answer(2, {.input_tokens = 700}, "");
  run.finish_correct(2, 0.5, Recurrence::NotRecurrent);
  run.add(BestChanged{"seed2"});
  run.add(BudgetExhausted{"requests", "the budget of 2 requests is used up"});
  run.add(RunFinished{"the budget of 2 requests is used up", false});
  return run.events;
}

/// No candidate is correct.
inline std::vector<Event> failed_events() {
  RunScript run("10_Relu", "mailbox:box");
  run.ask(1, "seed1", PromptKind::Seed);
  run.answer(1, {.input_tokens = 10, .output_tokens = 20});
  run.finish_wrong(1, {OutcomeKind::Compile, "undeclared", "line 3: error: 'x' was not declared in this scope"});
  run.ask(2, "seed1/repair1", PromptKind::Repair);
  run.answer(2, {.input_tokens = 10, .output_tokens = 20});
  auto empty = run.result(2, ActionStatus::NoCode);
  empty.message = "no code block has kgen_run";
  run.add(ActionFinished{std::move(empty)});
  run.add(RunFinished{"no seed is correct", false});
  return run.events;
}

/// Interrupted twice: the fate of one request stays unknown, its successor is in flight.
inline std::vector<Event> unfinished_events() {
  RunScript run("11_Sum");
  run.ask(1, "seed1", PromptKind::Seed);
  run.add(RunResumed{"0.1.0"});
  run.add(RequestUnknown{1});
  run.add(RequestSent{1});
  return run.events;
}

inline RunReport damaged_run() {
  RunReport run;
  run.task = "12_Broken";
  run.status = RunStatus::Damaged;
  run.reason = "12_Broken/events.jsonl, line 2: not an event: it lacks a schema number or a type";
  return run;
}

inline std::vector<RunReport> sample_runs() {
  return {report_run("9_GRU", "", successful_events()), report_run("10_Relu", "", slow_events()),
          report_run("10_Relu", "second, \"try\"", failed_events()), report_run("11_Sum", "", unfinished_events()),
          damaged_run()};
}

}  // namespace kernelgen::testing
