// A run that is over, or has other options now, is continued in its journal.
#include <functional>
#include <set>

#include <kernelgen/flow/engine.hpp>

#include "flow/run_state.hpp"
#include "flow/steps.hpp"
#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

const std::map<std::string, std::string> k_short_replies{
    {"seed1", code_reply("score 1.3")},         {"seed2", code_reply("score 1.1")},
    {"seed3", code_reply("score 1.2")},         {"stage1", code_reply("score 1.5")},
    {"stage1-again1", code_reply("score 1.4")}, {"stage2", code_reply("wrong")},
    {"stage2-repair1", code_reply("wrong")},    {"stage3", code_reply("score 1.7")},
    {"stage3-again1", code_reply("score 1.6")}, {"stage4", code_reply("score 2.2")},
    {"stage4-again1", code_reply("score 2.1")}};

/// The services of one process, and the options of a run.
struct ContinuedWorld {
  explicit ContinuedWorld(HybridOptions wanted, bool continues = false)
      : policy(make_hybrid_policy(std::move(wanted))) {
    request.continues = continues;
  }

  Result<FlowOutcome> run(Journal& journal) {
    return run_flow(request, *policy, {model, prompts, benchmarker, detector}, journal,
                    [this](const FlowNotice& notice) {
                      if (const auto* now = std::get_if<FlowProgress>(&notice)) progress = *now;
                    },
                    {});
  }

  FlowRequest request = fake_request();
  FakeModel model{k_short_replies};
  FakePromptBuilder prompts;
  FakeBenchmarker benchmarker{
      [](const EvaluationRequest& asked) -> Result<EvaluationRecord> { return judge_source(asked.candidate.source); }};
  FakeDetector detector;
  std::unique_ptr<Policy> policy;
  FlowProgress progress;
};

HybridOptions first_options() { return {.seeds = 1, .analyze = false, .stages = {"one", "two"}, .stage_tries = 2}; }

/// More seeds, and other stages: one that was asked for before, and a new one.
HybridOptions later_options() { return {.seeds = 2, .analyze = false, .stages = {"one", "three"}, .stage_tries = 2}; }

ContinuedWorld first_world() { return ContinuedWorld(first_options()); }

ContinuedWorld later_world() { return ContinuedWorld(later_options(), true); }

std::map<std::string, std::string> essence_of(const History& history) {
  std::map<std::string, std::string> found;
  for (const auto& [id, result] : history)
    found[id] = std::string(to_string(result.status)) + ' ' + result.action.base + ' ' + result.action.variant + ' ' +
                result.action.instructions + ' ' + (result.record ? result.record->outcome.to_class() : "");
  return found;
}

std::size_t place_of_continuation(const Journal& journal) {
  for (std::size_t i = 0; i < journal.events().size(); ++i)
    if (std::holds_alternative<RunContinued>(journal.events()[i].body)) return i;
  return journal.events().size();
}

/// The message with which a run is refused that differs from the later one by a change.
std::string refusal(Journal& journal, const std::function<void(ContinuedWorld&)>& change) {
  auto world = later_world();
  change(world);
  const auto before = journal.events().size();
  const auto outcome = world.run(journal);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == ErrorCode::InvalidArgument);
  CHECK(journal.events().size() == before);
  return outcome.error().message;
}

}  // namespace

TEST_CASE("a run that is over is continued with other options, from its best kernel", "[flow][engine][continue]") {
  const auto journal = make_memory_journal(real_time());
  REQUIRE(first_world().run(*journal));
  auto world = later_world();
  const auto outcome = world.run(*journal);
  REQUIRE(outcome);
  CHECK(outcome->best == "stage4");
  CHECK(outcome->reason == "all stages are done");
  // Only what is new was asked for.
  std::set<std::string> asked;
  for (const auto& [id, times] : world.model.asked()) asked.insert(id);
  CHECK(asked ==
        std::set<std::string>{"task.seed2", "task.stage3", "task.stage3-again1", "task.stage4", "task.stage4-again1"});
  // Stages go on counting, and start from the best kernel of all.
  const auto& third = outcome->history.at("stage3").action;
  CHECK(third.variant == "one");
  CHECK(third.base == "stage1");
  CHECK(third.instructions.find("The last answer to this focus was correct, but not faster") == 0);
  CHECK(outcome->history.at("stage4").action.variant == "three");
  CHECK(outcome->history.at("stage4").action.base == "stage3");
  CHECK(outcome->history.at("stage4").action.instructions.empty());
  const auto continued = events_of<RunContinued>(*journal);
  REQUIRE(continued.size() == 1);
  CHECK(std::map<std::string, std::string>(continued[0].options.begin(), continued[0].options.end())
            .at("policy.stages") == "one three");
  CHECK(events_of<RunFinished>(*journal).size() == 2);
  // The upper bound covers what was done before.
  REQUIRE(world.progress.max_actions);
  CHECK(world.progress.finished_actions <= *world.progress.max_actions);
}

TEST_CASE("a continued run that was cut anywhere goes on to the same end", "[flow][engine][continue][resume]") {
  const auto whole = make_memory_journal(real_time());
  REQUIRE(first_world().run(*whole));
  const auto expected = later_world().run(*whole);
  REQUIRE(expected);
  const auto begin = place_of_continuation(*whole);
  REQUIRE(begin < whole->events().size());
  for (std::size_t events = begin + 1; events < whole->events().size(); ++events) {
    for (const bool continues : {true, false}) {
      INFO("after " << events << " events, continues: " << continues);
      const auto cut = cut_journal(*whole, events);
      auto world = later_world();
      world.request.continues = continues;
      const auto outcome = world.run(*cut);
      REQUIRE(outcome);
      CHECK(essence_of(outcome->history) == essence_of(expected->history));
      CHECK(outcome->best == expected->best);
      CHECK(outcome->reason == expected->reason);
      CHECK(events_of<RunContinued>(*cut).size() == 1);
    }
  }
}

TEST_CASE("a run that was cut before it was continued may be continued all the same",
          "[flow][engine][continue][resume]") {
  const auto whole = make_memory_journal(real_time());
  REQUIRE(first_world().run(*whole));
  for (std::size_t events = 1; events < whole->events().size(); ++events) {
    INFO("after " << events << " events");
    const auto cut = cut_journal(*whole, events);
    const auto replies = events_of<ReplyArrived>(*cut).size();
    const auto outcome = later_world().run(*cut);
    REQUIRE(outcome);
    // Without a reply there is nothing to keep, and the run begins anew.
    CHECK(events_of<RunContinued>(*cut).size() == (replies > 0 ? 1 : 0));
    const auto& best = outcome->history.at(outcome->best);
    for (const auto& [id, result] : outcome->history) CHECK(result.score().value_or(0) <= best.score());
    // What the first session had begun was brought to its end.
    for (const auto& issued : events_of<ActionIssued>(*cut)) CHECK(outcome->history.contains(issued.action.id));
  }
}

TEST_CASE("a run is continued again only when it is over, or when options differ", "[flow][engine][continue]") {
  const auto journal = make_memory_journal(real_time());
  auto begins = first_world();
  begins.request.continues = true;
  REQUIRE(begins.run(*journal));
  CHECK(events_of<RunContinued>(*journal).empty());
  // The same options, after the end: its stages are asked for once more.
  auto again = first_world();
  again.request.continues = true;
  const auto outcome = again.run(*journal);
  REQUIRE(outcome);
  CHECK(events_of<RunContinued>(*journal).size() == 1);
  CHECK(outcome->history.at("stage3").action.variant == "one");
  CHECK(outcome->best == "stage4");
  // The failure of the focus from another kernel says nothing here.
  CHECK(outcome->history.at("stage4").action.instructions.empty());
  // Without the wish the run is over.
  const auto events = journal->events().size();
  REQUIRE(first_world().run(*journal));
  CHECK(journal->events().size() == events);
}

TEST_CASE("what an earlier answer to the same focus came to is told", "[flow][engine][continue]") {
  const auto words = [](const std::string& answer) {
    ContinuedWorld first({.seeds = 1, .stage_repairs = 0, .analyze = false, .stages = {"one"}, .stage_tries = 1});
    auto replies = k_short_replies;
    replies["stage1"] = code_reply(answer);
    FakeModel model(replies);
    const auto journal = make_memory_journal(real_time());
    for (const bool continues : {false, true}) {
      first.request.continues = continues;
      REQUIRE(run_flow(first.request, *first.policy, {model, first.prompts, first.benchmarker, first.detector},
                       *journal, {}, {}));
    }
    return history_of(journal->events()).at("stage2").action.instructions;
  };
  CHECK(words("score 1.5").find("The kernel above is the last answer to this same focus") == 0);
  CHECK(words("score 0.5").find("but not faster than the kernel above") != std::string::npos);
  CHECK(words("score 1.3").find("was the kernel above, unchanged") != std::string::npos);
  CHECK(words("wrong").find("The last answer to this focus was not correct") == 0);
}

TEST_CASE("a run that its budget ended goes on with a larger one, and is not continued", "[flow][engine][continue]") {
  const auto journal = make_memory_journal(real_time());
  auto small = first_world();
  small.request.budget.requests = 2;
  REQUIRE(small.run(*journal));
  // Other options with a budget that is used up would change nothing but the journal.
  CHECK(refusal(*journal, [](auto& world) { world.request.budget.requests = 2; }) ==
        "the budget of 2 requests is used up; give a larger one to continue the run");
  auto larger = first_world();
  larger.request.continues = true;
  larger.request.budget.requests = 50;
  const auto outcome = larger.run(*journal);
  REQUIRE(outcome);
  CHECK(events_of<RunContinued>(*journal).empty());
  CHECK(outcome->reason == "all stages are done");
}

TEST_CASE("a run is not continued as another one", "[flow][engine][continue]") {
  const auto journal = make_memory_journal(real_time());
  REQUIRE(first_world().run(*journal));
  CHECK(refusal(*journal, [](auto& world) { world.request.task.content_id = "other"; }).find("the task file changed") ==
        0);
  CHECK(
      refusal(*journal, [](auto& world) { world.request.target = Target::Triton; }) ==
      "a run that was started with target cpp cannot be continued with triton; give the new one a journal of its own");
  CHECK(refusal(*journal, [](auto& world) {
          world.policy = make_one_shot_policy({});
        }).find("with policy hybrid cannot be continued with one-shot") != std::string::npos);
  const auto in_tf32 = [](auto& world) { world.request.evaluation.precision = PrecisionClass::Tf32; };
  CHECK(refusal(*journal, in_tf32).find("with precision strict cannot be continued with tf32") != std::string::npos);
  // Without the wish, what differs is named as ever, with what can be done.
  CHECK(refusal(*journal, [](auto& world) { world.request.continues = false; }) ==
        "this run was started with policy.seeds 1, not 2; give the new one a journal of its own, or continue this one");
  CHECK(refusal(*journal, [&](auto& world) {
          world.request.continues = false;
          in_tf32(world);
        }).find("continue") == std::string::npos);
}

TEST_CASE("only one kernel can be the start of a run", "[flow][continue]") {
  RunStarted none{"0.1.0", {}, Target::Cpp, "hybrid", {{"start", "none"}}, "fake"};
  auto one = none, two = none;
  one.options = {{"start", "a"}};
  two.options = {{"start", "b"}};
  CHECK(check_continuable(none, one, 1));
  CHECK(check_continuable(one, none, 1));
  CHECK_FALSE(check_continuable(one, two, 1));
  // Another model and another version may go on.
  two = one;
  two.model = "other";
  two.kernelgen_version = "0.2.0";
  CHECK(check_continuable(one, two, 1));
}

TEST_CASE("other policies are continued, and their best does not get worse", "[flow][engine][continue]") {
  const std::map<std::string, std::string> replies{
      {"sample1", code_reply("score 1")}, {"sample2", code_reply("score 3")}, {"sample3", code_reply("score 2")}};
  const auto journal = make_memory_journal(real_time());
  const auto run = [&](int samples, bool continues) {
    auto world = first_world();
    FakeModel model(replies);
    world.request.continues = continues;
    const auto policy = make_one_shot_policy({.samples = samples});
    auto outcome =
        run_flow(world.request, *policy, {model, world.prompts, world.benchmarker, world.detector}, *journal, {}, {});
    REQUIRE(outcome);
    return std::pair(*outcome, model.asked().size());
  };
  CHECK(run(2, false).first.best == "sample2");
  const auto [more, asked] = run(3, true);
  CHECK(asked == 1);
  CHECK(more.history.size() == 3);
  CHECK(more.best == "sample2");
  CHECK(run(1, true).first.best == "sample2");
}

TEST_CASE("the time of a continued run is that of its sessions", "[flow][engine][continue]") {
  RunState state;
  const auto at = [&](const char* time, EventBody body) { apply(state, Event{time, std::move(body)}); };
  at("2025-01-31T00:00:00.000Z", RunStarted{});
  at("2025-01-31T00:01:00.000Z", RunFinished{"over", false});
  at("2025-01-31T02:00:00.000Z", RunContinued{"0.1.0", "hybrid", {{"goal", "2"}}, "other"});
  CHECK_FALSE(state.finished);
  at("2025-01-31T02:02:00.000Z", RunFinished{"over", true});
  CHECK(state.spent.time == 3min);
  CHECK(state.started->model == "other");
  CHECK(state.continuations == 1);
  // A continuation without a beginning is damage that is survived.
  RunState empty;
  apply(empty, Event{"2025-01-31T00:00:00.000Z", RunContinued{}});
  CHECK_FALSE(empty.started);
}
