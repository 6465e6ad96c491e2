// Tests of the engine with the policy evolve: both parents in the prompt, resumption, the end of a budget.
#include <kernelgen/flow/engine.hpp>

#include <algorithm>

#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

const std::map<std::string, std::string> k_evolve_replies{{"i1g0", code_reply("score 1.3")},
                                                          {"i2g0", code_reply("wrong")},
                                                          {"i2g0-repair1", code_reply("score 1.1 b")},
                                                          {"i1g1", code_reply("score 1.6")},
                                                          {"i2g1", "no code"},
                                                          {"i1g2", code_reply("score 1.9")},
                                                          {"i2g2", code_reply("broken")},
                                                          {"i2g2-repair1", code_reply("score 2 c")}};

struct EvolveWorld {
  Result<FlowOutcome> run(Journal& journal, const FlowRequest& request = fake_request()) {
    return run_flow(request, *policy, {model, prompts, benchmarker, detector, nullptr}, journal, {}, {});
  }

  FakeModel model{k_evolve_replies};
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{[](const EvaluationRequest& request) -> Result<EvaluationRecord> {
    return judge_source(request.candidate.source);
  }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy = make_evolve_policy({.islands = 2, .generations = 2});
};

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("evolve: the prompt of a crossover has both parents and what led to them", "[flow][engine][evolve]") {
  EvolveWorld world;
  const auto journal = make_memory_journal(real_time());
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "i2g2/repair1");
  CHECK(outcome->reason == "all generations are done");
  const auto prompt = world.model.prompts().at("task.i1g2");
  CHECK(has_part(prompt, "crossover variant= base=i1g1 history=i1g0 i2g0 "));
  CHECK(has_part(prompt, " second=i2g0/repair1"));
}

TEST_CASE("evolve: a run that was cut after any event goes on to the same end", "[flow][engine][evolve][resume]") {
  EvolveWorld first;
  const auto whole = make_memory_journal(real_time());
  const auto expected = first.run(*whole);
  REQUIRE(expected);
  for (std::size_t cut = 0; cut <= whole->events().size(); ++cut) {
    INFO("after " << cut << " events");
    EvolveWorld world;
    const auto journal = cut_journal(*whole, cut);
    const auto outcome = world.run(*journal);
    REQUIRE(outcome);
    CHECK(outcome->best == expected->best);
    REQUIRE(outcome->history.size() == expected->history.size());
    for (const auto& [id, result] : outcome->history) CHECK(result.action == expected->history.at(id).action);
    // What was asked is written before it is answered, and no answer is asked for twice.
    const auto answered = events_of<ReplyArrived>(*cut_journal(*whole, cut)).size();
    CHECK(answered + world.model.asked().size() == events_of<ReplyArrived>(*journal).size());
  }
}

TEST_CASE("evolve: a budget ends the search, and a larger one goes on", "[flow][engine][evolve][budget]") {
  EvolveWorld world;
  const auto journal = make_memory_journal(real_time());
  auto request = fake_request();
  request.parallel_requests = 1;
  request.budget.requests = 4;
  const auto outcome = world.run(*journal, request);
  REQUIRE(outcome);
  CHECK(outcome->reason == "the budget of 4 requests is used up");
  CHECK(outcome->history.size() == 4);
  request.budget.requests = 100;
  const auto more = world.run(*journal, request);
  REQUIRE(more);
  CHECK(more->best == "i2g2/repair1");
  const auto asked = world.model.asked();
  CHECK(std::all_of(asked.begin(), asked.end(), [](const auto& entry) { return entry.second == 1; }));
}

TEST_CASE("evolve: each kind of prompt goes to the model with that kind", "[flow][engine][evolve]") {
  EvolveWorld world;
  std::map<std::string, PromptKind> kinds;
  std::mutex mutex;
  FakeModel model([&](const LLMRequest& request, std::stop_token) -> Result<Reply> {
    const std::scoped_lock lock(mutex);
    kinds[request.id] = request.kind;
    const auto found = k_evolve_replies.find(request.id.substr(request.id.find('.') + 1));
    return Reply{.text = found == k_evolve_replies.end() ? "nothing" : found->second};
  });
  const auto journal = make_memory_journal(real_time());
  REQUIRE(run_flow(fake_request(), *world.policy, {model, world.prompts, world.benchmarker, world.detector, nullptr},
                   *journal, {}, {}));
  CHECK(kinds.at("task.i1g0") == PromptKind::Seed);
  CHECK(kinds.at("task.i2g0-repair1") == PromptKind::Repair);
  CHECK(kinds.at("task.i1g1") == PromptKind::Reflect);
  CHECK(kinds.at("task.i1g2") == PromptKind::Crossover);
}
