#include <kernelgen/flow/repair_loop.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

struct Fixture {
  explicit Fixture(std::map<std::string, std::string> replies) : model(std::move(replies)) {}

  Result<FlowOutcome> run(const std::string& line, std::optional<EvaluationRecord> record = std::nullopt,
                          int attempts = 4) {
    RepairRequest request;
    request.task.name = "task";
    request.candidate = make_candidate(Target::Cpp, line);
    request.record = std::move(record);
    return RepairLoop({model, prompts, benchmarker, detector}, {.max_attempts = attempts}).run(request, {}, {});
  }

  FakeModel model;
  FakePromptBuilder prompts;
  std::function<Result<EvaluationRecord>(const std::string&)> judge = judge_source;
  FakeBenchmarker benchmarker{[this](const EvaluationRequest& request) { return judge(request.candidate.source); }};
  FakeDetector detector;
};

}  // namespace

TEST_CASE("a candidate is repaired until it is correct", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("wrong")}, {"start-repair2", code_reply("score 0.9")}});
  const auto outcome = fixture.run("broken");
  REQUIRE(outcome);
  CHECK(outcome->best == "start/repair2");
  CHECK(outcome->history.at("start").record->outcome.to_class() == "compile:other");
  CHECK(outcome->history.at("start/repair2").action.base == "start/repair1");
}

TEST_CASE("a candidate that is correct already is left alone", "[flow][repair]") {
  Fixture fixture({});
  const auto outcome = fixture.run("score 2");
  REQUIRE(outcome);
  CHECK(outcome->best == "start");
  CHECK(fixture.model.asked().empty());
}

TEST_CASE("what is known about a candidate is not evaluated again", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("score 1")}});
  const auto outcome = fixture.run("broken", judge_source("broken"));
  REQUIRE(outcome);
  CHECK(outcome->best == "start/repair1");
  CHECK(fixture.benchmarker.requests().size() == 1);
}

TEST_CASE("a candidate that nothing mends ends without a best one", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("wrong")}});
  const auto outcome = fixture.run("broken", std::nullopt, 2);
  REQUIRE(outcome);
  CHECK(outcome->best.empty());
  CHECK(outcome->history.size() == 3);
  CHECK(outcome->reason == "all repairs failed");
}

TEST_CASE("a judge that fails is the loop's error", "[flow][repair]") {
  Fixture fixture({});
  fixture.judge = [](const std::string&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::MissingTool, "no torch"};
  };
  const auto outcome = fixture.run("broken");
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::MissingTool);
}
