#include <kernelgen/flow/repair_loop.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

struct Fixture {
  explicit Fixture(std::map<std::string, std::string> replies) : model(std::move(replies)) {}

  RepairOutcome run(const std::string& line, std::optional<EvaluationRecord> record = std::nullopt, int attempts = 4) {
    request.task.name = "task";
    request.candidate = make_candidate(request.candidate.target, line);
    request.record = std::move(record);
    return RepairLoop({model, prompts, benchmarker, detector}, {.max_attempts = attempts}).run(request, {}, {});
  }

  RepairRequest request;

  FakeModel model;
  FakePromptBuilder prompts;
  std::function<Result<EvaluationRecord>(const std::string&)> judge = judge_source;
  FakeBenchmarker benchmarker{[this](const EvaluationRequest& asked) { return judge(asked.candidate.source); }};
  FakeDetector detector;
};

/// A prompt builder that keeps its last request.
class ListeningBuilder final : public PromptBuilder {
 public:
  explicit ListeningBuilder(PromptRequest& seen) : seen_(seen) {}
  [[nodiscard]] Result<Prompt> build(const PromptRequest& request) const override {
    seen_ = request;
    return FakePromptBuilder().build(request);
  }
  [[nodiscard]] std::vector<std::string> variants(PromptKind, Target) const override { return {}; }

 private:
  PromptRequest& seen_;
};

}  // namespace

TEST_CASE("a candidate is repaired until it is correct", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("wrong")}, {"start-repair2", code_reply("score 0.9")}});
  const auto outcome = fixture.run("broken");
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.best == "start/repair2");
  CHECK(outcome.history.at("start").record->outcome.to_class() == "compile:other");
  CHECK(outcome.history.at("start/repair2").action.base == "start/repair1");
}

TEST_CASE("a candidate that is correct already is left alone", "[flow][repair]") {
  Fixture fixture({});
  const auto outcome = fixture.run("score 2");
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.best == "start");
  CHECK(fixture.model.asked().empty());
}

TEST_CASE("what is known about a candidate is not evaluated again", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("score 1")}});
  const auto outcome = fixture.run("broken", judge_source("broken"));
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.best == "start/repair1");
  CHECK(fixture.benchmarker.requests().size() == 1);
}

TEST_CASE("a candidate that no attempt repairs ends without a best one", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("wrong")}});
  const auto outcome = fixture.run("broken", std::nullopt, 2);
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.best.empty());
  CHECK(outcome.history.size() == 3);
  CHECK(outcome.reason == "all repairs failed");
}

TEST_CASE("a judge that fails is the loop's error; the candidate is there", "[flow][repair]") {
  Fixture fixture({});
  fixture.judge = [](const std::string&) -> Result<EvaluationRecord> {
    return Error{ErrorCode::MissingTool, "no torch"};
  };
  const auto outcome = fixture.run("broken");
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == ErrorCode::MissingTool);
  CHECK(outcome.reason == "no torch");
  CHECK(outcome.history.at("start").status == ActionStatus::NotJudged);
  CHECK(outcome.history.at("start").candidate->source == "broken");
}

TEST_CASE("a repaired kernel is in the outcome when the machine is too busy to judge it", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("score 2")}});
  fixture.request.busy_pauses = {};
  fixture.judge = [](const std::string& source) { return judge_source(source == "broken" ? source : "busy"); };
  const auto outcome = fixture.run("broken");
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == ErrorCode::Pending);
  CHECK(outcome.best.empty());
  CHECK(outcome.history.at("start").record->outcome.to_class() == "compile:other");
  const auto& repaired = outcome.history.at("start/repair1");
  CHECK(repaired.status == ActionStatus::NotJudged);
  CHECK(repaired.candidate->source.find("score 2") != std::string::npos);
  CHECK(repaired.message == "the machine is too busy to time a kernel: others work");
}

TEST_CASE("a start that the machine was too busy for is judged again, not repaired", "[flow][repair]") {
  Fixture fixture({});
  fixture.request.busy_pauses.assign(1, std::chrono::milliseconds(1));
  int calls = 0;
  fixture.judge = [&](const std::string& source) { return judge_source(++calls == 1 ? "busy" : source); };
  const auto outcome = fixture.run("score 2");
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.best == "start");
  CHECK(calls == 2);
}

TEST_CASE("a model that does not answer ends a repair with what is known, in words of a library", "[flow][repair]") {
  Fixture fixture({});
  FakeModel dead([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    return Error{ErrorCode::Unavailable, "HTTP 429: quota"};
  });
  fixture.request.task.name = "task";
  fixture.request.candidate = make_candidate(Target::Cpp, "broken");
  const auto outcome =
      RepairLoop({dead, fixture.prompts, fixture.benchmarker, fixture.detector}).run(fixture.request, {}, {});
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == ErrorCode::Pending);
  CHECK(outcome.error->message ==
        "the model does not answer: fake at fake-host:1: HTTP 429: quota; requests that wait: 1");
  CHECK(outcome.error->message.find("command") == std::string::npos);
  CHECK(outcome.history.size() == 1);
}

TEST_CASE("prompts of a repair know the GPU, and the number of threads", "[flow][repair]") {
  Fixture fixture({});
  PromptRequest seen;
  const ListeningBuilder prompts(seen);
  fixture.request.task.name = "task";
  fixture.request.candidate = make_candidate(Target::Triton, "wrong");
  fixture.request.gpu.emplace().name = "a GPU";
  fixture.request.device = {{"model", "a GPU"}};
  const RepairOptions once{.max_attempts = 1};
  static_cast<void>(
      RepairLoop({fixture.model, prompts, fixture.benchmarker, fixture.detector}, once).run(fixture.request, {}, {}));
  CHECK(seen.kind == PromptKind::Repair);
  CHECK(seen.on_gpu);
  CHECK(seen.device == fixture.request.device);
  // "One per core" is a number before a model reads it.
  CHECK(fixture.request.evaluation.threads == 0);
  CHECK(seen.threads >= 1);
}

TEST_CASE("a candidate in C is repaired in C", "[flow][repair]") {
  for (const auto language : {Language::C, Language::Cpp}) {
    Fixture fixture({{"start-repair1", code_reply("wrong")}, {"start-repair2", code_reply("score 1")}});
    PromptRequest seen;
    const ListeningBuilder prompts(seen);
    fixture.request.task.name = "task";
    fixture.request.candidate = make_candidate(Target::Cpp, language, "broken");
    const auto outcome =
        RepairLoop({fixture.model, prompts, fixture.benchmarker, fixture.detector}).run(fixture.request, {}, {});
    REQUIRE(outcome.best == "start/repair2");
    CHECK(seen.language == language);
    CHECK(outcome.history.at("start/repair2").candidate->language == language);
    CHECK(fixture.benchmarker.requests().back().candidate.language == language);
  }
}

TEST_CASE("a model and a judge are enough for a repair", "[flow][repair]") {
  Fixture fixture({{"start-repair1", code_reply("score 1")}});
  fixture.judge = [](const std::string& source) {
    auto record = judge_source(source);
    record.environment.device = "NVIDIA H200 (sm_90), 132 SMs, 140 GiB";
    record.environment.device_uuid = "GPU-1a2b";
    return record;
  };
  Installation installation;
  installation.prompts_dir = KERNELGEN_SOURCE_DIR "/lib/prompt/templates";
  installation.devices_dir = KERNELGEN_SOURCE_DIR "/lib/device/data";
  RepairLoop loop(fixture.model, fixture.benchmarker, {}, installation);
  const auto outcome = loop.run({.task = {.name = "task", .text = "class Model(nn.Module): ...\n"},
                                 .candidate = make_candidate(Target::Triton, "wrong")});
  REQUIRE_FALSE(outcome.error);
  CHECK(outcome.history.contains("start/repair1"));
  // The prompt is one of the installation's, about the device that judged.
  const auto prompt = fixture.model.prompts().at("task.start-repair1");
  CHECK_THAT(prompt, Catch::Contains("class Model(nn.Module): ...") && Catch::Contains("- device: NVIDIA H200\n") &&
                         Catch::Contains("- architecture: sm_90\n"));
}

TEST_CASE("a repair that finds no templates says so before anything is judged", "[flow][repair]") {
  Fixture fixture({});
  Installation installation;
  installation.prompts_dir = "/no/such/prompts";
  const auto outcome = RepairLoop(fixture.model, fixture.benchmarker, {}, installation)
                           .run({.candidate = make_candidate(Target::Cpp, "wrong")});
  REQUIRE(outcome.error);
  CHECK_THAT(outcome.reason, Catch::StartsWith("finding the templates of prompts: ") && Catch::Contains("/no/such"));
  CHECK(fixture.benchmarker.requests().empty());
}

TEST_CASE("the options of a repair policy hold everything that steers it", "[flow][repair]") {
  const auto options =
      make_repair_policy({.max_attempts = 2, .escalations = {"rethink", "restart"}, .strategies = {"a", "b"}})
          ->options();
  const std::map<std::string, std::string> found(options.begin(), options.end());
  CHECK(found ==
        std::map<std::string, std::string>{
            {"max_attempts", "2"}, {"temperature", "0.7"}, {"escalations", "rethink restart"}, {"strategies", "a b"}});
}
