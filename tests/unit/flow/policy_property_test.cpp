#include <kernelgen/flow/policy.hpp>

#include <memory>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Everything that can happen, chosen by the action and a number alone.
PolicyWorld numbered_world(unsigned number) {
  return [number](const Action& action) -> std::string {
    const auto hash = std::hash<std::string>{}(action.id + std::to_string(number));
    if (action.kind == PromptKind::Analysis) return hash % 3 == 0 ? "no" : "yes";
    if (action.kind == PromptKind::Critic) return hash % 4 == 0 ? "no words" : "words";
    switch (hash % 6) {
      case 0:
        return "no code";
      case 1:
        return "broken";
      case 2:
      case 3:
        return "wrong";
      default:
        return "score " + std::to_string(1 + static_cast<double>(hash % 97) / 50) +
               (hash % 31 == 0 ? " floor 1.05" : "");
    }
  };
}

Profile some_profile(const ActionResult& result) {
  const auto hash = std::hash<std::string>{}(result.action.id);
  Profile profile;
  auto& kernel = profile.kernels.emplace_back();
  kernel.duration_ns = 1000;
  kernel.metrics = {{"sm_throughput_pct", static_cast<double>(hash % 100), "%"},
                    {"stall_memory_pct", static_cast<double>(hash % 41), "%"},
                    {"occupancy_pct", static_cast<double>(hash % 83), "%"}};
  return profile;
}

std::vector<std::shared_ptr<Policy>> all_policies() {
  const auto use = ProfileUse::BeforeNextPrompt;
  return {make_hybrid_policy({.seeds = 4}),
          make_hybrid_policy({.seeds = 3, .stop_score = 2}),
          make_hybrid_policy({.seeds = 3, .strategies = {"a", "b"}, .profiles = use, .early_exit = EarlyExit::Yes}),
          make_hybrid_policy({.seeds = 1, .seed_repairs = 12, .escalations = {}}),
          make_one_shot_policy({.samples = 5}),
          make_reflect_policy({.stop_score = 100}),
          make_reflect_policy({.stop_score = 100, .profiles = use}),
          make_rounds_policy({}),
          make_rounds_policy({.rounds = 25, .patience = 2, .stop_score = 2.5, .profiles = use}),
          make_rounds_policy({.rounds = 1}),
          make_evolve_policy({}),
          make_evolve_policy({.islands = 1, .archive = 2, .strategies = {"a", "b"}}),
          make_evolve_policy({.islands = 5, .archive = 1, .generations = 4, .stop_score = 2.5, .profiles = use})};
}

}  // namespace

TEST_CASE("the order in which actions finish does not change what is done", "[flow][policy][property]") {
  for (const auto& policy : all_policies()) {
    for (unsigned number = 0; number < 12; ++number) {
      const auto first = play(*policy, numbered_world(number), 1, some_profile);
      for (unsigned seed = 2; seed < 9; ++seed) {
        const auto other = play(*policy, numbered_world(number), seed, some_profile);
        INFO(policy->name() << " in world " << number << " with seed " << seed);
        CHECK(ids_of(other.history) == ids_of(first.history));
        CHECK(other.profiled == first.profiled);
        CHECK(other.last.best == first.last.best);
        CHECK(other.last.reason == first.last.reason);
        for (const auto& [id, result] : other.history) CHECK(result.action == first.history.at(id).action);
      }
    }
  }
}

TEST_CASE("a policy decides the same from a history that is played again", "[flow][policy][property]") {
  for (const auto& policy : all_policies()) {
    const auto world = numbered_world(7);
    // The decisions of a search, one action after the other, and then from each of its histories anew.
    History history;
    std::vector<std::pair<History, Decision>> decisions;
    for (int number = 1; number < 400; ++number) {
      auto decision = policy->next(history);
      decisions.emplace_back(history, decision);
      if (decision.finished) break;
      for (const auto& id : decision.profiles) history.at(id).profile = some_profile(history.at(id));
      if (!decision.actions.empty()) {
        const auto& action = decision.actions.front();
        history[action.id] = result_of(action, number, world(action));
      }
    }
    REQUIRE(decisions.back().second.finished);
    for (const auto& [before, decided] : decisions) {
      const auto again = policy->next(before);
      INFO(policy->name() << " after " << before.size() << " actions");
      CHECK(again.actions == decided.actions);
      CHECK(again.profiles == decided.profiles);
      CHECK(again.best == decided.best);
      CHECK(again.finished == decided.finished);
      CHECK(again.reason == decided.reason);
    }
  }
}

TEST_CASE("the best never gets worse", "[flow][policy][property]") {
  for (const auto& policy : all_policies()) {
    for (unsigned number = 0; number < 12; ++number) {
      const auto world = numbered_world(number);
      History history;
      double best = 0;
      for (int count = 1; count < 400; ++count) {
        const auto decision = policy->next(history);
        const auto found = history.find(decision.best);
        const double score = found == history.end() ? 0 : found->second.score().value_or(0);
        CHECK(score >= best);
        best = score;
        if (decision.finished) break;
        for (const auto& id : decision.profiles) history.at(id).profile = some_profile(history.at(id));
        if (!decision.actions.empty()) {
          const auto& action = decision.actions.back();
          history[action.id] = result_of(action, count, world(action));
        }
      }
    }
  }
}

TEST_CASE("no search takes more actions than its policy says", "[flow][policy][property]") {
  for (const auto& policy : all_policies()) {
    const auto most = policy->max_actions();
    REQUIRE(most);
    std::size_t longest = 0;
    for (unsigned number = 0; number < 60; ++number)
      longest = std::max(longest, play(*policy, numbered_world(number), 1, some_profile).history.size());
    INFO(policy->name() << ": " << longest << " of at most " << *most);
    CHECK(longest <= static_cast<std::size_t>(*most));
  }
}
