#include <kernelgen/flow/engine.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Three samples of which the fastest two race.
const std::map<std::string, std::string> k_samples{{"sample1", code_reply("score 1.5")},
                                                   {"sample2", code_reply("racy score 2.5")},
                                                   {"sample3", code_reply("racy score 2.0")}};

/// A judge with sanitizers that find what says that it races.
EvaluationRecord judge_watched(const EvaluationRequest& request) {
  auto record = judge_source(request.candidate.source);
  if (!request.options.sanitizers.enabled) return record;
  record.timing.reset();
  const bool racy = request.candidate.source.find("racy") != std::string::npos;
  record.sanitizers.push_back({.tool = "thread", .status = racy ? SanitizerStatus::Found : SanitizerStatus::Clean});
  if (racy) record.outcome = {OutcomeKind::Sanitizer, "race", "candidate.cpp:1: data race"};
  return record;
}

struct WatchedWorld {
  explicit WatchedWorld(std::map<std::string, std::string> replies = k_samples) : model(std::move(replies)) {}
  Result<FlowOutcome> run(Journal& journal, FlowRequest request = fake_request()) {
    request.sanitize_winner = true;
    return run_flow(request, *policy, {model, prompts, benchmarker, detector}, journal, {}, {});
  }
  [[nodiscard]] int watched() const {
    int count = 0;
    for (const auto& request : benchmarker.requests()) count += request.options.sanitizers.enabled ? 1 : 0;
    return count;
  }

  FakeModel model;
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{
      [](const EvaluationRequest& request) -> Result<EvaluationRecord> { return judge_watched(request); }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy = make_one_shot_policy({.samples = 3});
};

}  // namespace

TEST_CASE("winner: one that races makes room for the next best, which is watched in turn", "[flow][winner]") {
  WatchedWorld world;
  const auto journal = make_memory_journal(real_time());
  auto request = fake_request();
  request.goal = 1.8;
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(outcome->best == "sample1");
  CHECK_FALSE(outcome->reached);
  CHECK(world.watched() == 3);
  CHECK(outcome->history.at("sample2").record->outcome.to_class() == "sanitizer:race");
  CHECK(outcome->history.at("sample1").record->sanitizers.size() == 1);
  // Its time stays that of the full verdict.
  CHECK(outcome->history.at("sample1").score() == 1.5);
  for (const auto& watched : world.benchmarker.requests())
    if (watched.options.sanitizers.enabled) CHECK(watched.options.mode == EvaluationMode::CorrectnessOnly);
}

TEST_CASE("winner: a run that was cut anywhere ends with the same one, and watches none twice",
          "[flow][winner][resume]") {
  WatchedWorld whole;
  const auto journal = make_memory_journal(real_time());
  auto request = fake_request();
  request.goal = 1.8;
  REQUIRE(whole.run(*journal, request));
  for (std::size_t cut = 1; cut <= journal->events().size(); ++cut) {
    INFO(cut);
    WatchedWorld again;
    const auto rest = cut_journal(*journal, cut);
    const auto outcome = again.run(*rest, request);
    REQUIRE(outcome);
    CHECK(outcome->best == "sample1");
    CHECK_FALSE(outcome->reached);
    int finished = 0;
    for (const auto& event : events_of<ActionFinished>(*rest))
      finished += event.result.record->sanitizers.empty() ? 0 : 1;
    CHECK(finished == 3);
  }
}

TEST_CASE("winner: where none is left the run has no best", "[flow][winner]") {
  WatchedWorld world({{"sample1", code_reply("racy score 2")}});
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best.empty());
  CHECK_FALSE(outcome->reached);
}

TEST_CASE("winner: a continued run that was stopped before its winner was watched is not continued once more",
          "[flow][winner][continue]") {
  const std::map<std::string, std::string> replies{
      {"sample1", code_reply("score 1.2")}, {"sample2", code_reply("score 1.4")}, {"sample3", code_reply("score 2")}};
  const auto journal = make_memory_journal(real_time());
  WatchedWorld first(replies);
  first.policy = make_one_shot_policy({.samples = 1});
  REQUIRE(first.run(*journal));
  auto request = fake_request();
  request.continues = true;
  WatchedWorld second(replies);
  second.policy = make_one_shot_policy({.samples = 2});
  REQUIRE(second.run(*journal, request));
  REQUIRE(events_of<RunContinued>(*journal).size() == 1);
  auto kept = journal->events().size();
  while (!std::holds_alternative<RunFinished>(journal->events()[kept - 1].body)) --kept;

  const auto cut = cut_journal(*journal, kept);
  WatchedWorld resumed(replies);
  resumed.policy = make_one_shot_policy({.samples = 2});
  const auto outcome = resumed.run(*cut, request);
  REQUIRE(outcome);
  CHECK(events_of<RunContinued>(*cut).size() == 1);
  CHECK(outcome->best == "sample2");
  CHECK(resumed.watched() == 1);
  // Over now, so the same wish continues it.
  REQUIRE(resumed.run(*cut, request));
  CHECK(events_of<RunContinued>(*cut).size() == 2);
}

TEST_CASE("winner: what cannot be watched stays, and its record says why", "[flow][winner]") {
  WatchedWorld world;
  const auto journal = make_memory_journal(real_time());
  FakeBenchmarker lacking([](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    if (request.options.sanitizers.enabled)
      return Error{ErrorCode::MissingTool, "compute-sanitizer is not installed", {}};
    return judge_watched(request);
  });
  auto request = fake_request();
  request.sanitize_winner = true;
  const auto outcome =
      run_flow(request, *world.policy, {world.model, world.prompts, lacking, world.detector}, *journal, {}, {});
  REQUIRE(outcome);
  CHECK(outcome->best == "sample2");
  const auto& reports = outcome->history.at("sample2").record->sanitizers;
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].status == SanitizerStatus::NotFinished);
  CHECK(reports[0].reason.find("compute-sanitizer is not installed") != std::string::npos);
}
