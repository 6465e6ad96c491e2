#include <kernelgen/flow/policy.hpp>

#include <set>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// The kernel of an action: its score, and words by which codes differ.
using Kernels = std::map<std::string, std::string>;

/// Kernels by action; others are slow, each in its own words.
PolicyWorld kernel_world(Kernels kernels) {
  return [kernels = std::move(kernels)](const Action& action) {
    const auto found = kernels.find(action.id);
    return found == kernels.end() ? "score 0.1 " + action.id : found->second;
  };
}

const Action& action_in(const Played& played, const std::string& id) { return played.history.at(id).action; }

}  // namespace

TEST_CASE("evolve: a seed for each island, then a child for each in every generation", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 2, .generations = 2, .strategies = {"a", "b"}}),
                           kernel_world({{"i1g0", "score 2 one"}, {"i2g0", "score 3 two"}, {"i1g2", "score 4 three"}}));
  CHECK(ids_of(played.history) == std::set<std::string>{"i1g0", "i2g0", "i1g1", "i2g1", "i1g2", "i2g2"});
  CHECK(action_in(played, "i1g0").variant == "a");
  CHECK(action_in(played, "i2g0").variant == "b");
  CHECK(action_in(played, "i1g1").kind == PromptKind::Reflect);
  CHECK(action_in(played, "i1g1").base == "i1g0");
  CHECK(action_in(played, "i2g1").base == "i2g0");
  CHECK(played.last.best == "i1g2");
  CHECK(played.last.reason == "all generations are done");
}

TEST_CASE("evolve: every second generation crosses a kernel with one of another island", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 2, .generations = 2}),
                           kernel_world({{"i1g0", "score 2 one"}, {"i2g0", "score 3 two"}}));
  const auto& child = action_in(played, "i1g2");
  CHECK(child.kind == PromptKind::Crossover);
  CHECK(child.base == "i1g0");
  CHECK(child.second_base == "i2g0");
  CHECK(action_in(played, "i1g1").second_base.empty());
}

TEST_CASE("evolve: a search can start from a kernel, which belongs to the first island", "[flow][policy][evolve]") {
  const auto policy = make_evolve_policy({.islands = 2, .has_start = true, .generations = 2});
  const auto played = play(
      *policy,
      kernel_world(
          {{"start", "wrong"}, {"start/repair1", "score 4 zero"}, {"i1g0", "score 2 one"}, {"i2g0", "score 3 two"}}));
  CHECK(action_in(played, "start/repair1").base == "start");
  CHECK(action_in(played, "i1g1").base == "start/repair1");
  CHECK(action_in(played, "i2g1").base == "i2g0");
  CHECK(played.last.best == "start/repair1");
  CHECK(policy->max_actions() == 4 + 2 * (5 + 2 * 2));
}

TEST_CASE("evolve: a kernel to start from is enough where no seed is correct", "[flow][policy][evolve]") {
  const auto played =
      play(*make_evolve_policy({.islands = 1, .has_start = true, .generations = 1, .seed_repairs = 0}),
           [](const Action& action) -> std::string { return action.id == "i1g0" ? "wrong" : "score 2 " + action.id; });
  CHECK(action_in(played, "i1g1").base == "start");
}

TEST_CASE("evolve: a single island crosses its own kernels", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 1, .generations = 2}),
                           kernel_world({{"i1g0", "score 2 one"}, {"i1g1", "score 3 two"}}));
  CHECK(action_in(played, "i1g2").kind == PromptKind::Crossover);
  CHECK(action_in(played, "i1g2").base == "i1g1");
  CHECK(action_in(played, "i1g2").second_base == "i1g0");
}

TEST_CASE("evolve: a kernel is not crossed with itself, whatever its comments", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 1, .generations = 2}),
                           kernel_world({{"i1g0", "score 2"}, {"i1g1", "score 2 // the same"}}));
  CHECK(action_in(played, "i1g2").kind == PromptKind::Reflect);
  CHECK(action_in(played, "i1g2").second_base.empty());
}

TEST_CASE("evolve: a parent that had its share of children gives way to the next of the archive",
          "[flow][policy][evolve]") {
  const Kernels kernels{{"i1g0", "score 1 one"}, {"i1g1", "score 3 two"}, {"i1g2", "score 2.9 three"}};
  const auto played = play(*make_evolve_policy({.islands = 1, .generations = 4, .child_repairs = 0}),
                           [&](const Action& action) -> std::string {
                             const auto found = kernels.find(action.id);
                             return found == kernels.end() ? "broken " + action.id : found->second;
                           });
  // The fastest has had one child, the second none and half of the share: the first of two equal claims.
  CHECK(action_in(played, "i1g3").base == "i1g1");
  CHECK(action_in(played, "i1g4").base == "i1g2");
  CHECK(action_in(played, "i1g4").second_base == "i1g1");
}

TEST_CASE("evolve: the archive keeps what is different rather than the next fastest", "[flow][policy][evolve]") {
  // Of the three, the second differs from the first by one word; an archive of two has the third instead.
  const Kernels kernels{{"i1g0", "score 2.0 a b c d"},
                        {"i1g1", "score 3.0 z y x w v u t s r q p o n m l k j i h g"},
                        {"i1g2", "score 2.9 z y x w v u t s r q p o n m l k j i h f"}};
  const auto played = play(*make_evolve_policy({.islands = 1, .archive = 2, .generations = 4, .child_repairs = 0}),
                           kernel_world(kernels));
  CHECK(action_in(played, "i1g4").kind == PromptKind::Crossover);
  std::set<std::string> parents{action_in(played, "i1g4").base, action_in(played, "i1g4").second_base};
  CHECK(parents == std::set<std::string>{"i1g0", "i1g1"});
}

TEST_CASE("evolve: of two equal kernels the older one is the best and the parent", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 2, .generations = 1}),
                           kernel_world({{"i1g0", "score 2 one"}, {"i2g0", "score 2 one"}}));
  CHECK(played.last.best == "i1g0");
  CHECK(action_in(played, "i2g1").base == "i2g0");
}

TEST_CASE("evolve: an island whose seed failed goes on from a kernel of another", "[flow][policy][evolve]") {
  const auto world = [](const Action& action) -> std::string {
    if (action.id.starts_with("i1g0")) return "broken " + action.id;
    return "score 2 " + action.id;
  };
  const auto played = play(*make_evolve_policy({.islands = 2, .generations = 1, .seed_repairs = 2}), world);
  CHECK(played.history.contains("i1g0/repair2"));
  CHECK(action_in(played, "i1g1").base == "i2g0");
  CHECK(action_in(played, "i2g1").base == "i2g0");
  // The same was asked for on the first island: this time it is hotter.
  CHECK(action_in(played, "i2g1").temperature > action_in(played, "i1g1").temperature);
}

TEST_CASE("evolve: the search ends when no seed is correct", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = 2, .seed_repairs = 1}),
                           [](const Action& action) { return "broken " + action.id; });
  CHECK(ids_of(played.history) == std::set<std::string>{"i1g0", "i1g0/repair1", "i2g0", "i2g0/repair1"});
  CHECK(played.last.best.empty());
  CHECK(played.last.reason == "no seed was correct");
}

TEST_CASE("evolve: the search ends when the best kernel has no time", "[flow][policy][evolve]") {
  History history;
  const auto policy = make_evolve_policy({.islands = 1});
  const auto action = policy->next(history).actions.at(0);
  history[action.id] = result_of(action, 1, "score 1");
  history[action.id].record->timing.reset();
  const auto decision = policy->next(history);
  CHECK(decision.finished);
  CHECK(decision.best == "i1g0");
  CHECK(decision.reason == "the best kernel has no time that counts; nothing to compare");
}

TEST_CASE("evolve: a good enough score and a floor end it between generations", "[flow][policy][evolve]") {
  const auto enough = play(*make_evolve_policy({.islands = 1, .stop_score = 2}), kernel_world({{"i1g1", "score 2 x"}}));
  CHECK(enough.history.size() == 2);
  CHECK(enough.last.reason == "the best score is at least 2, at which the search ends");
  const auto floor = play(*make_evolve_policy({.islands = 1}), kernel_world({{"i1g1", "score 2 floor 1.05"}}));
  CHECK(floor.history.size() == 2);
  CHECK(floor.last.reason == "no further request is worth its price: near its floor");
}

TEST_CASE("evolve: a failed child is repaired from its own code, and has one parent then", "[flow][policy][evolve]") {
  const auto played =
      play(*make_evolve_policy({.islands = 1, .generations = 2}), [](const Action& action) -> std::string {
        if (action.id == "i1g2") return "wrong";
        return "score 2 " + action.id;
      });
  CHECK(action_in(played, "i1g2").kind == PromptKind::Crossover);
  const auto& repair = action_in(played, "i1g2/repair1");
  CHECK(repair.kind == PromptKind::Repair);
  CHECK(repair.base == "i1g2");
  CHECK(repair.second_base.empty());
}

TEST_CASE("evolve: a parent is profiled once before its children are asked for", "[flow][policy][evolve]") {
  const auto played =
      play(*make_evolve_policy({.islands = 2, .generations = 1, .profiles = ProfileUse::BeforeNextPrompt}),
           [](const Action& action) -> std::string {
             return action.id.starts_with("i1g0") ? "broken " + action.id : "score 2 " + action.id;
           });
  CHECK(played.profiled == std::set<std::string>{"i2g0"});
  CHECK(played.history.contains("i1g1"));
}

TEST_CASE("evolve: options out of range are clamped", "[flow][policy][evolve]") {
  const auto played = play(*make_evolve_policy({.islands = -1, .archive = 0, .generations = -5}), kernel_world({}));
  CHECK(ids_of(played.history) == std::set<std::string>{"i1g0"});
  CHECK(played.last.best == "i1g0");
}
