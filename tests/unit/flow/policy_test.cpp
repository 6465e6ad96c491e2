#include <kernelgen/flow/policy.hpp>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "flow/line.hpp"
#include "support/catch.hpp"
#include "unit/flow/fake_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// What a world makes of an action: the line of the kernel it gets, "no code", "no", or "yes" for an analysis.
using World = std::function<std::string(const Action&)>;

ActionResult result_of(const Action& action, int number, const std::string& line) {
  ActionResult result;
  result.action = action;
  result.number = number;
  if (action.kind == PromptKind::Analysis) {
    result.status = ActionStatus::Analyzed;
    result.analysis = Analysis{.worth_optimizing = line == "yes"};
  } else if (line != "no code") {
    result.status = ActionStatus::Evaluated;
    result.candidate = make_candidate(Target::Cpp, line);
    result.record = judge_source(line);
    result.recurrence = FakeDetector().inspect(line, Target::Cpp).verdict;
  }
  return result;
}

struct Played {
  History history;
  Decision last;
};

/// Plays a policy to its end; what runs finishes in an order that the seed chooses.
Played play(const Policy& policy, const World& world, unsigned seed = 0) {
  std::mt19937 random(seed);
  Played played;
  std::vector<Action> running;
  for (int number = 1; number < 1000;) {
    played.last = policy.next(played.history);
    if (played.last.finished) break;
    for (const auto& action : played.last.actions) {
      const bool known = std::any_of(running.begin(), running.end(), [&](const auto& a) { return a.id == action.id; });
      if (!known && !played.history.contains(action.id)) running.push_back(action);
    }
    REQUIRE_FALSE(running.empty());
    const auto chosen = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
    played.history[chosen->id] = result_of(*chosen, number++, world(*chosen));
    running.erase(chosen);
  }
  CHECK(played.last.finished);
  return played;
}

std::set<std::string> ids_of(const History& history) {
  std::set<std::string> ids;
  for (const auto& [id, result] : history) ids.insert(id);
  return ids;
}

/// Seeds are right at once, analyses say no, stages do not help.
std::string plain_world(const Action& action) {
  if (action.kind == PromptKind::Analysis) return "no";
  return action.kind == PromptKind::Stage ? "score 1.0" : "score 1.5";
}

}  // namespace

TEST_CASE("hybrid: correct seeds are analysed, then all stages run", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({}), plain_world);
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

TEST_CASE("hybrid: an analysis can rescue a seed that no repair mended", "[flow][policy]") {
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
  const HybridOptions options{.seeds = 1, .threshold = 2.0};
  const auto with = [&](const std::string& line) {
    return play(*make_hybrid_policy(options),
                [&](const Action& action) -> std::string { return action.kind == PromptKind::Analysis ? "no" : line; });
  };
  CHECK_FALSE(with("persistent score 2.0").history.contains("stage1"));
  CHECK(with("persistent score 1.9").history.contains("stage1"));
  CHECK(with("score 2.5").history.contains("stage1"));
}

TEST_CASE("hybrid: a stage is kept only when it is faster by epsilon", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.seeds = 1, .epsilon = 0.02}), [](const Action& action) -> std::string {
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

TEST_CASE("hybrid: with stop_at_score the seeds run one after the other", "[flow][policy]") {
  const auto policy = make_hybrid_policy({.seeds = 3, .stages = {}, .stop_at_score = 1.4});
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

TEST_CASE("the order in which actions finish does not change what is done", "[flow][policy]") {
  // Everything that can happen, chosen by the action alone.
  const World world = [](const Action& action) -> std::string {
    const auto hash = std::hash<std::string>{}(action.id);
    if (action.kind == PromptKind::Analysis) return hash % 3 == 0 ? "no" : "yes";
    switch (hash % 5) {
      case 0:
        return "no code";
      case 1:
        return "broken";
      case 2:
        return "wrong";
      default:
        return "score " + std::to_string(1 + static_cast<double>(hash % 97) / 50);
    }
  };
  const std::vector<std::shared_ptr<Policy>> policies{
      make_hybrid_policy({.seeds = 4}), make_hybrid_policy({.seeds = 3, .stop_at_score = 2}),
      make_one_shot_policy({.samples = 5}), make_reflect_policy({.goal = 100})};
  for (const auto& policy : policies) {
    const auto first = play(*policy, world, 1);
    for (unsigned seed = 2; seed < 40; ++seed) {
      const auto other = play(*policy, world, seed);
      INFO(policy->name() << " with seed " << seed);
      CHECK(ids_of(other.history) == ids_of(first.history));
      CHECK(other.last.best == first.last.best);
      for (const auto& [id, result] : other.history) CHECK(result.action == first.history.at(id).action);
    }
  }
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

TEST_CASE("reflect: no further attempt once the goal is reached", "[flow][policy]") {
  const auto played = play(*make_reflect_policy({}), [](const Action&) { return "score 1.2"; });
  CHECK(played.history.size() == 3);
  CHECK(played.last.reason == "the goal was reached");
}

TEST_CASE("a repair of a reply without code asks again from the last candidate that could be judged",
          "[flow][policy]") {
  History history;
  const Action root{.id = "seed1", .variant = "a"};
  history["seed1"] = result_of(root, 1, "no code");
  auto line = follow_line(history, root, {});
  REQUIRE(line.next);
  CHECK(line.next->id == "seed1/repair1");
  CHECK(line.next->kind == PromptKind::Seed);
  CHECK(line.next->variant == "a");
  history["seed1/repair1"] = result_of(*line.next, 2, "wrong");
  history["seed1/repair2"] = result_of({.id = "seed1/repair2", .kind = PromptKind::Repair}, 3, "no code");
  line = follow_line(history, root, {});
  REQUIRE(line.next);
  CHECK(line.next->kind == PromptKind::Repair);
  CHECK(line.next->base == "seed1/repair1");
}

TEST_CASE("the same error twice asks for another approach", "[flow][policy]") {
  History history;
  const Action root{.id = "seed1"};
  history["seed1"] = result_of(root, 1, "wrong 1");
  history["seed1/repair1"] = result_of({.id = "seed1/repair1", .kind = PromptKind::Repair}, 2, "wrong 22");
  CHECK(follow_line(history, root, {}).next->variant == k_rethink);
  SECTION("but not twice in a row") {
    history["seed1/repair2"] =
        result_of({.id = "seed1/repair2", .kind = PromptKind::Repair, .variant = k_rethink}, 3, "wrong 333");
    CHECK(follow_line(history, root, {}).next->variant.empty());
  }
  SECTION("another error does not") {
    history["seed1/repair1"] = result_of({.id = "seed1/repair1", .kind = PromptKind::Repair}, 2, "broken");
    CHECK(follow_line(history, root, {}).next->variant.empty());
  }
  SECTION("the same code does") {
    history["seed1/repair1"] = result_of({.id = "seed1/repair1", .kind = PromptKind::Repair}, 2, "broken");
    history["seed1/repair1"].status = ActionStatus::Duplicate;
    CHECK(follow_line(history, root, {}).next->variant == k_rethink);
  }
}

TEST_CASE("the repair policy mends what the history starts with", "[flow][policy]") {
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
