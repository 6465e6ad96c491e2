#include <kernelgen/flow/policy.hpp>

#include <functional>
#include <map>
#include <set>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Seeds are right at once, analyses say no, stages do not help.
std::string plain_world(const Action& action) {
  if (action.kind == PromptKind::Analysis) return "no";
  return action.kind == PromptKind::Stage ? "score 1.0" : "score 1.5";
}

}  // namespace

TEST_CASE("hybrid: correct seeds are analysed, then all stages run", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.stage_tries = 1}), plain_world);
  CHECK(ids_of(played.history) ==
        std::set<std::string>{"seed1", "seed2", "seed1/analysis", "seed2/analysis", "stage1", "stage2", "stage3"});
  CHECK(played.last.best == "seed1");
  CHECK(played.last.reason == "all stages are done");
  CHECK(played.history.at("stage2").action.base == "seed1");
  CHECK(played.history.at("stage2").action.variant == "block_tiling");
}

TEST_CASE("hybrid: a failing seed is repaired until it is correct", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.seeds = 1, .stages = {}}), [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "no";
    if (action.id == "seed1") return "broken";
    return action.id == "seed1/repair1" ? "wrong" : "score 1.1";
  });
  CHECK(ids_of(played.history) == std::set<std::string>{"seed1", "seed1/repair1", "seed1/repair2", "seed1/analysis"});
  CHECK(played.history.at("seed1/repair1").action.base == "seed1");
  CHECK(played.history.at("seed1/repair2").action.base == "seed1/repair1");
  CHECK(played.history.at("seed1/analysis").action.base == "seed1/repair2");
  CHECK(played.last.best == "seed1/repair2");
}

TEST_CASE("hybrid: repairs end after their number", "[flow][policy]") {
  const auto played =
      play(*make_hybrid_policy({.seeds = 1, .seed_repairs = 2}), [](const Action& action) -> std::string {
        return action.kind == PromptKind::Analysis ? "no" : "broken " + action.id;
      });
  CHECK(ids_of(played.history) == std::set<std::string>{"seed1", "seed1/repair1", "seed1/repair2", "seed1/analysis"});
  CHECK(played.last.best.empty());
  CHECK(played.last.reason == "no seed and no optimized kernel was correct");
}

TEST_CASE("hybrid: an analysis can help a seed that no repair made correct", "[flow][policy]") {
  const auto played =
      play(*make_hybrid_policy({.seeds = 1, .seed_repairs = 1, .stages = {}}), [](const Action& action) -> std::string {
        if (action.kind == PromptKind::Analysis) return "yes";
        return action.kind == PromptKind::Optimize ? "score 3" : "wrong";
      });
  CHECK(played.last.best == "seed1/optimize");
  CHECK(played.history.at("seed1/optimize").action.analysis == "seed1/analysis");
  CHECK(played.history.at("seed1/optimize").action.base == "seed1/repair1");
}

TEST_CASE("hybrid: the optimized kernel is repaired, too", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.seeds = 1, .stages = {}}), [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "yes";
    if (action.id == "seed1/optimize") return "broken";
    return action.id == "seed1/optimize/repair1" ? "score 2" : "score 1";
  });
  CHECK(played.last.best == "seed1/optimize/repair1");
}

TEST_CASE("hybrid: stages are skipped for a persistent kernel that is fast enough, and for no other",
          "[flow][policy]") {
  const HybridOptions options{.seeds = 1, .skip_stages_score = 2.0};
  const auto with = [&](const std::string& line) {
    return play(*make_hybrid_policy(options),
                [&](const Action& action) -> std::string { return action.kind == PromptKind::Analysis ? "no" : line; });
  };
  CHECK_FALSE(with("persistent score 2.0").history.contains("stage1"));
  CHECK(with("persistent score 1.9").history.contains("stage1"));
  CHECK(with("score 2.5").history.contains("stage1"));
}

TEST_CASE("hybrid: a stage is kept only when it is faster by min_stage_gain", "[flow][policy]") {
  const auto played =
      play(*make_hybrid_policy({.seeds = 1, .min_stage_gain = 0.02}), [](const Action& action) -> std::string {
        if (action.kind == PromptKind::Analysis) return "no";
        if (action.id == "stage1") return "score 2.01";  // not enough
        if (action.id == "stage2") return "score 2.1";
        if (action.id == "stage3") return "score 1.0";
        return "score 2";
      });
  CHECK(played.history.at("stage2").action.base == "seed1");
  CHECK(played.history.at("stage3").action.base == "stage2");
  CHECK(played.last.best == "stage2");
}

TEST_CASE("hybrid: a stage is asked for again while it gains, and once more after a kernel that does not",
          "[flow][policy]") {
  const auto with = [](std::map<std::string, std::string> lines) {
    return play(*make_hybrid_policy({.seeds = 1, .stages = {"one", "two"}, .stage_tries = 4}),
                [lines = std::move(lines)](const Action& action) -> std::string {
                  if (action.kind == PromptKind::Analysis) return "no";
                  const auto found = lines.find(action.id);
                  return found == lines.end() ? "score 2" : found->second;
                });
  };
  const auto gained = with({{"stage1", "score 3"},
                            {"stage1/again1", "score 2.5"},
                            {"stage1/again2", "score 4"},
                            {"stage1/again3", "score 5"},
                            {"stage2", "wrong"},
                            {"stage2/repair1", "wrong"}});
  CHECK(gained.history.at("stage1/again1").action.base == "stage1");
  CHECK(gained.history.at("stage1/again1").action.instructions.find("The kernel above is the last answer") == 0);
  CHECK(gained.history.at("stage1/again2").action.base == "stage1");
  CHECK(gained.history.at("stage1/again2").action.instructions.find("but not faster than the kernel above") !=
        std::string::npos);
  CHECK(gained.history.at("stage1/again3").action.base == "stage1/again2");
  CHECK_FALSE(gained.history.contains("stage1/again4"));
  CHECK(gained.history.at("stage2").action.base == "stage1/again3");
  CHECK_FALSE(gained.history.contains("stage2/again1"));
  CHECK(gained.last.best == "stage1/again3");
  // The kernel comes back unchanged, twice.
  const auto unchanged = with({});
  CHECK(unchanged.history.at("stage1/again1")
            .action.instructions.find("was the kernel above, unchanged but for comments") != std::string::npos);
  CHECK_FALSE(unchanged.history.contains("stage1/again2"));
  CHECK(unchanged.history.contains("stage2/again1"));
}

TEST_CASE("hybrid: a search can start from a kernel, beside seeds or from it alone", "[flow][policy]") {
  const auto world = [](const Action& action) -> std::string {
    if (action.id == "start") return "wrong";
    if (action.kind == PromptKind::Analysis) return "no";
    return action.id == "start/repair1" ? "score 3" : "score 1";
  };
  const auto alone = play(*make_hybrid_policy({.seeds = 0, .has_start = true, .stages = {}}), world);
  CHECK(ids_of(alone.history) == std::set<std::string>{"start", "start/repair1", "start/analysis"});
  CHECK(alone.history.at("start/repair1").action.base == "start");
  CHECK(alone.last.best == "start/repair1");
  const auto beside = play(*make_hybrid_policy({.seeds = 1, .has_start = true, .stages = {}}), world);
  CHECK(beside.history.contains("seed1/analysis"));
  CHECK(beside.last.best == "start/repair1");
}

TEST_CASE("hybrid: without analyses there are no optimized kernels", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.seeds = 1, .analyze = false, .stages = {}}), plain_world);
  CHECK(ids_of(played.history) == std::set<std::string>{"seed1"});
}

TEST_CASE("hybrid: a wrong stage is repaired once, then rolled back", "[flow][policy]") {
  const auto played =
      play(*make_hybrid_policy({.seeds = 1, .stages = {"one", "two"}}), [](const Action& action) -> std::string {
        if (action.kind == PromptKind::Analysis) return "no";
        return action.id.starts_with("stage") ? "wrong" : "score 2";
      });
  CHECK(played.history.contains("stage1/repair1"));
  CHECK_FALSE(played.history.contains("stage1/repair2"));
  CHECK(played.history.at("stage2").action.base == "seed1");
  CHECK(played.last.best == "seed1");
}

TEST_CASE("hybrid: with stop_score the seeds run one after the other", "[flow][policy]") {
  const auto policy = make_hybrid_policy({.seeds = 3, .stages = {}, .stop_score = 1.4});
  CHECK(policy->next({}).actions.size() == 1);
  const auto played = play(*policy, [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "no";
    return action.id == "seed2" ? "score 1.5" : "score 1";
  });
  CHECK(played.history.contains("seed1/analysis"));
  CHECK(played.last.best == "seed2");
  CHECK_FALSE(played.history.contains("seed3"));
}

TEST_CASE("hybrid: seeds differ by strategy, or by temperature when there is none", "[flow][policy]") {
  const auto by_strategy = make_hybrid_policy({.seeds = 3, .strategies = {"a", "b"}})->next({}).actions;
  REQUIRE(by_strategy.size() == 3);
  CHECK(by_strategy[0].variant == "a");
  CHECK(by_strategy[1].variant == "b");
  CHECK(by_strategy[2].variant == "a");
  const auto by_temperature = make_hybrid_policy({.seeds = 2})->next({}).actions;
  CHECK(by_temperature[0].temperature < by_temperature[1].temperature);
}

TEST_CASE("hybrid: a kernel without a time that counts is not tuned", "[flow][policy]") {
  const auto policy = make_hybrid_policy({.seeds = 1});
  History history;
  history["seed1"] = result_of({.id = "seed1"}, 1, "score 2");
  history["seed1"].record->labels = {"interpreter: a time is not a result"};
  history["seed1/analysis"] = result_of({.id = "seed1/analysis", .kind = PromptKind::Analysis}, 2, "no");
  const auto decision = policy->next(history);
  CHECK(decision.finished);
  CHECK(decision.best == "seed1");
}

TEST_CASE("one-shot: n samples, all at once", "[flow][policy]") {
  const auto policy = make_one_shot_policy({.samples = 3});
  CHECK(policy->next({}).actions.size() == 3);
  const auto played = play(*policy, [](const Action& action) { return action.id == "sample2" ? "score 2" : "wrong"; });
  CHECK(played.history.size() == 3);
  CHECK(played.last.best == "sample2");
}

TEST_CASE("reflect: the next attempt starts from the sample that came farthest", "[flow][policy]") {
  const auto played = play(*make_reflect_policy({.attempts = 2, .samples = 2}), [](const Action& action) {
    if (action.id == "attempt1/sample1") return "broken";
    return action.id == "attempt1/sample2" ? "wrong" : "score 1.2";
  });
  CHECK(played.history.at("attempt2/sample1").action.kind == PromptKind::Reflect);
  CHECK(played.history.at("attempt2/sample1").action.base == "attempt1/sample2");
}

TEST_CASE("reflect: a correct sample is profiled before an attempt starts from it", "[flow][policy]") {
  const auto policy =
      make_reflect_policy({.attempts = 2, .samples = 2, .stop_score = 3, .profiles = ProfileUse::BeforeNextPrompt});
  const auto played =
      play(*policy, [](const Action& action) { return action.id == "attempt1/sample1" ? "wrong" : "score 1.2"; });
  CHECK(played.profiled == std::set<std::string>{"attempt1/sample2"});
  CHECK(played.history.at("attempt2/sample1").action.base == "attempt1/sample2");
  CHECK(play(*policy, [](const Action&) { return "wrong"; }).profiled.empty());
}

TEST_CASE("reflect: no further attempt once the stop score is reached", "[flow][policy]") {
  const auto played = play(*make_reflect_policy({}), [](const Action&) { return "score 1.2"; });
  CHECK(played.history.size() == 3);
  CHECK(played.last.reason == "the best score is at least 1, at which the search ends");
}

TEST_CASE("the repair policy repairs what the history starts with", "[flow][policy]") {
  const auto policy = make_repair_policy({.max_attempts = 2});
  CHECK(policy->next({}).finished);
  History history;
  history["start"] = result_of({.id = "start"}, 0, "wrong");
  auto decision = policy->next(history);
  REQUIRE(decision.actions.size() == 1);
  CHECK(decision.actions[0].id == "start/repair1");
  history["start/repair1"] = result_of(decision.actions[0], 1, "score 1");
  decision = policy->next(history);
  CHECK(decision.finished);
  CHECK(decision.best == "start/repair1");
}
