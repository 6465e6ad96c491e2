#include <kernelgen/flow/policy.hpp>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Kernels by round; critics have words.
PolicyWorld world_of(std::map<std::string, std::string> kernels, std::string otherwise = "wrong") {
  return [kernels = std::move(kernels), otherwise = std::move(otherwise)](const Action& action) -> std::string {
    if (action.kind == PromptKind::Critic) return "words";
    const auto found = kernels.find(action.id);
    return found == kernels.end() ? otherwise : found->second;
  };
}

}  // namespace

TEST_CASE("rounds: a critic reads every kernel, and the next one follows it", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 3, .strategy = "a"}),
                           world_of({{"round1", "wrong"}, {"round2", "score 1"}, {"round3", "score 2"}}));
  CHECK(ids_of(played.history) ==
        std::set<std::string>{"round1", "round1/critic", "round2", "round2/critic", "round3"});
  const auto& action = [&](const std::string& id) { return played.history.at(id).action; };
  CHECK(action("round1").variant == "a");
  CHECK(action("round1/critic").variant == "correctness");
  CHECK(action("round1/critic").base == "round1");
  CHECK(action("round2").kind == PromptKind::Repair);
  CHECK(action("round2").analysis == "round1/critic");
  CHECK(action("round2/critic").variant == "optimization");
  CHECK(action("round3").kind == PromptKind::Reflect);
  CHECK(action("round3").base == "round2");
  CHECK(played.last.best == "round3");
  CHECK(played.last.reason == "all rounds are done");
}

TEST_CASE("rounds: ten unless told otherwise", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({}), world_of({}, "score 1"));
  CHECK(played.history.contains("round10"));
  CHECK_FALSE(played.history.contains("round11"));
  CHECK_FALSE(played.history.contains("round10/critic"));
}

TEST_CASE("rounds: a slower kernel is no base", "[flow][policy][rounds]") {
  const auto played =
      play(*make_rounds_policy({.rounds = 3}), world_of({{"round1", "score 2"}, {"round2", "score 1"}}));
  CHECK(played.history.at("round2/critic").action.base == "round1");
  CHECK(played.history.at("round3").action.base == "round1");
  // The same kernel before the same critic: asked for at another temperature.
  CHECK(played.history.at("round2/critic").action.temperature != played.history.at("round1/critic").action.temperature);
}

TEST_CASE("rounds: after its patience a search goes back to its best", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 6, .patience = 2}),
                           world_of({{"round1", "score 2"}, {"round2", "wrong"}, {"round3", "broken"}}));
  CHECK(played.history.at("round3").action.base == "round2");
  CHECK(played.history.at("round3/critic").action.variant == "optimization");
  CHECK(played.history.at("round4").action.base == "round1");
}

TEST_CASE("rounds: the same failure changes the way to repair it", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 5}), world_of({}));
  CHECK(played.history.at("round2").action.variant.empty());
  CHECK(played.history.at("round3").action.variant == "rethink");
  CHECK(played.history.at("round4").action.variant == "simplify");
  CHECK(played.history.at("round5").action.variant == "other_algorithm");
  CHECK(played.last.best.empty());
}

TEST_CASE("rounds: a critic without words leaves the coder alone", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 2}), [](const Action& action) -> std::string {
    return action.kind == PromptKind::Critic ? "no words" : "wrong";
  });
  CHECK(played.history.at("round2").action.analysis.empty());
  CHECK(played.history.at("round2").action.base == "round1");
}

TEST_CASE("rounds: a coder without code is asked again from the same critique", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 4}),
                           world_of({{"round1", "no code"}, {"round2", "wrong"}, {"round3", "no code"}}, "score 1"));
  CHECK(played.history.at("round2").action.kind == PromptKind::Seed);
  CHECK(played.history.at("round2").action.temperature != played.history.at("round1").action.temperature);
  CHECK(played.history.at("round4").action.analysis == "round2/critic");
  CHECK(played.history.at("round4").action.base == "round2");
  CHECK_FALSE(played.history.contains("round3/critic"));
  CHECK(played.last.best == "round4");
}

TEST_CASE("rounds: the stop score, or the floor, ends them", "[flow][policy][rounds]") {
  const auto stopped = play(*make_rounds_policy({.stop_score = 1.5}), world_of({{"round2", "score 1.6"}}));
  CHECK(stopped.last.reason == "the best score is at least 1.5, at which the search ends");
  CHECK_FALSE(stopped.history.contains("round3"));
  const auto floor = play(*make_rounds_policy({}), world_of({{"round1", "score 1.6 floor 1.05"}}));
  CHECK(floor.last.reason == "no further request is worth its price: near its floor");
  CHECK(floor.history.size() == 1);
  CHECK(play(*make_rounds_policy({.floor_ratio = 0}), world_of({}, "score 1 floor 1")).history.contains("round10"));
}

TEST_CASE("rounds: a correct kernel is profiled before its critic, a wrong one is not", "[flow][policy][rounds]") {
  const auto played = play(*make_rounds_policy({.rounds = 4, .profiles = ProfileUse::BeforeNextPrompt}),
                           world_of({{"round2", "score 1"}, {"round3", "score 0.5"}}));
  CHECK(played.profiled == std::set<std::string>{"round2"});
}
