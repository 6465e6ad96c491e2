#include <kernelgen/llm/scripted_client.hpp>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

constexpr const char* k_first_words = "Keep the weights in registers.\n\nNo shared memory.";

/// Asks for one kernel, then for another one, with words of its own for each.
class Instructing final : public Policy {
 public:
  [[nodiscard]] std::string name() const override { return "instructing"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override { return {}; }
  [[nodiscard]] Decision next(const History& history) const override {
    if (history.size() == 2) return {.actions = {}, .best = "", .finished = true, .reason = "both were tried"};
    Action action{.id = history.empty() ? "one" : "two"};
    action.instructions = history.empty() ? k_first_words : "Try without a loop.";
    return {.actions = {action}, .best = ""};
  }
};

struct InstructedRun {
  InstructedRun() { request.task.text = "class Model: ...\n"; }

  Result<FlowOutcome> run(Journal& journal, LLMClient& model) {
    return run_flow(request, Instructing(), {model, *prompts, benchmarker, detector}, journal, {}, {});
  }

  FlowRequest request = fake_request();
  std::unique_ptr<PromptBuilder> prompts =
      make_prompt_builder({.directory = KERNELGEN_SOURCE_DIR "/lib/prompt/templates", .overrides = {}}).value();
  FakeBenchmarker benchmarker{[](const EvaluationRequest& asked) { return judge_source(asked.candidate.source); }};
  FakeDetector detector;
};

}  // namespace

TEST_CASE("what a policy says reaches the model as a section of its own", "[flow][instructions]") {
  InstructedRun scene;
  ScriptedLLMClient model([](const LLMRequest&) { return ScriptedLLMClient::reply(code_reply("wrong")); });
  const auto journal = make_memory_journal(real_time());
  REQUIRE(scene.run(*journal, model));
  REQUIRE(model.requests().size() == 2);
  CHECK_THAT(model.requests()[0].prompt, Catch::Contains("\n\n## Instructions for this attempt\n\n" +
                                                         std::string(k_first_words) + "\n\n## Reply\n"));
  CHECK_THAT(model.requests()[1].prompt, Catch::Contains("\n\nTry without a loop.\n\n## Reply\n"));
  // Recorded replies are found by what was asked.
  CHECK(model.requests()[0].fingerprint != model.requests()[1].fingerprint);
}

TEST_CASE("what a policy said is in the journal, and a resumed run asks the same", "[flow][instructions]") {
  InstructedRun scene;
  ScriptedLLMClient model([](const LLMRequest&) { return ScriptedLLMClient::reply(code_reply("wrong")); });
  const auto whole = make_memory_journal(real_time());
  REQUIRE(scene.run(*whole, model));
  CHECK(events_of<ActionIssued>(*whole)[0].action.instructions == k_first_words);

  // Each cut stands for a crash; the journal on disk is these events as JSON.
  for (std::size_t cut = 1; cut < whole->events().size(); ++cut) {
    const auto journal = make_memory_journal(real_time());
    for (std::size_t i = 0; i < cut; ++i)
      REQUIRE(journal->append(parse_event(to_json(whole->events()[i])).value().body));
    REQUIRE(scene.run(*journal, model));
    const auto issued = events_of<ActionIssued>(*journal);
    REQUIRE(issued.size() == 2);
    CHECK(issued[0].action == events_of<ActionIssued>(*whole)[0].action);
    CHECK(issued[0].prompt.text == events_of<ActionIssued>(*whole)[0].prompt.text);
    CHECK(issued[1].action == events_of<ActionIssued>(*whole)[1].action);
    CHECK(history_of(journal->events()).at("one").action.instructions == k_first_words);
  }
}

TEST_CASE("an action of an earlier version has no instructions", "[flow][instructions]") {
  const auto event =
      parse_event(R"({"schema":1,"type":"action_issued","time":"2026-01-01T00:00:00.000Z","number":1,)"
                  R"("action":{"id":"seed1","kind":"seed","base":"","analysis":"","variant":"","temperature":0.7}})");
  REQUIRE(event);
  CHECK(std::get<ActionIssued>(event->body).action == Action{.id = "seed1"});
}
