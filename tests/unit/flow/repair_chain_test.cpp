#include "flow/repair_chain.hpp"

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

/// Plays a repair chain; its kernel n is lines[n].
std::vector<Action> actions_of(const Action& root, const RepairOptions& options,
                               const std::vector<std::string>& lines) {
  History history;
  std::vector<Action> actions;
  for (const auto& line : lines) {
    const auto status = advance_repair_chain(history, root, options);
    if (!status.next) return actions;
    actions.push_back(*status.next);
    history[status.next->id] = result_of(*status.next, static_cast<int>(actions.size()), line);
  }
  const auto status = advance_repair_chain(history, root, options);
  if (status.next) actions.push_back(*status.next);
  return actions;
}

std::vector<std::string> variants_of(const std::vector<Action>& actions) {
  std::vector<std::string> variants;
  for (const auto& action : actions) variants.push_back(action.variant);
  return variants;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a reply without code is asked for again from the last candidate that could be judged",
          "[flow][repair_chain]") {
  const auto actions = actions_of({.id = "seed1", .variant = "a"}, {}, {"no code", "wrong", "no code"});
  REQUIRE(actions.size() == 4);
  CHECK(actions[1].id == "seed1/repair1");
  CHECK(actions[1].kind == PromptKind::Seed);
  CHECK(actions[1].variant == "a");
  CHECK(actions[2].base == "seed1/repair1");
  CHECK(actions[3].kind == PromptKind::Repair);
  CHECK(actions[3].base == "seed1/repair1");
}

TEST_CASE("an error that comes back asks for one escalation after the other, hotter each time",
          "[flow][repair_chain]") {
  const RepairOptions options{.max_attempts = 6, .strategies = {"a", "b", "c"}};
  const auto actions = actions_of({.id = "seed1", .variant = "b"}, options,
                                  {"wrong 1", "wrong 22", "wrong 333", "wrong 4444", "wrong 55555", "wrong 6"});
  CHECK(variants_of(actions) == Names{"b", "", "rethink", "simplify", "other_algorithm", "c"});
  CHECK(actions[2].temperature == 0.8);
  CHECK(actions[3].temperature == 0.9);
  CHECK(actions[4].temperature == 1.0);
  // A restart begins from the task, with the next strategy.
  CHECK(actions[5].kind == PromptKind::Seed);
  CHECK(actions[5].base.empty());
  CHECK(actions[5].temperature == 0.6);
}

TEST_CASE("a repair chain ends when its escalations are used up", "[flow][repair_chain]") {
  const RepairOptions options{.max_attempts = 9, .escalations = {"rethink"}};
  CHECK(actions_of({.id = "seed1"}, options, Names(10, "wrong")).size() == 3);
  CHECK(actions_of({.id = "seed1"}, {.max_attempts = 9, .escalations = {}}, Names(10, "wrong")).size() == 2);
}

TEST_CASE("an error from before the last one comes back, too", "[flow][repair_chain]") {
  const auto actions = actions_of({.id = "seed1"}, {}, {"wrong", "broken", "wrong"});
  CHECK(variants_of(actions) == Names{"", "", "", "rethink"});
}

TEST_CASE("new errors are repaired as they come", "[flow][repair_chain]") {
  const auto actions = actions_of({.id = "seed1"}, {}, {"wrong", "broken", "broken otherwise"});
  CHECK(variants_of(actions) == Names{"", "", "", ""});
}

TEST_CASE("the same code asks for an escalation", "[flow][repair_chain]") {
  History history;
  const Action root{.id = "seed1"};
  history["seed1"] = result_of(root, 1, "wrong 1");
  history["seed1/repair1"] =
      result_of({.id = "seed1/repair1", .kind = PromptKind::Repair, .base = "seed1"}, 2, "broken");
  CHECK(advance_repair_chain(history, root, {}).next->variant.empty());
  // Another error this time, but the same code.
  history["seed1/repair1"].candidate = history["seed1"].candidate;
  CHECK(advance_repair_chain(history, root, {}).next->variant == "rethink");
}

TEST_CASE("the code of what a chain starts from asks for an escalation, that of another chain does not",
          "[flow][repair_chain]") {
  History history;
  history["seed1"] = result_of({.id = "seed1"}, 1, "wrong 1");
  const Action optimize{.id = "seed1/optimize", .kind = PromptKind::Optimize, .base = "seed1"};
  history["seed1/optimize"] = result_of(optimize, 2, "broken");
  history["seed1/optimize"].candidate = history["seed1"].candidate;
  CHECK(advance_repair_chain(history, optimize, {}).next->variant == "rethink");
  // Which of two seeds has the status Duplicate depends on which was answered first.
  const Action seed2{.id = "seed2"};
  history["seed2"] = result_of(seed2, 3, "wrong 1");
  history["seed2"].status = ActionStatus::Duplicate;
  CHECK(advance_repair_chain(history, seed2, {}).next->variant.empty());
}

TEST_CASE("an escalation that gave nothing to judge is not made again", "[flow][repair_chain]") {
  const auto actions = actions_of({.id = "seed1"}, {}, {"wrong", "wrong", "no code", "wrong"});
  CHECK(variants_of(actions) == Names{"", "", "rethink", "", "simplify"});
}

TEST_CASE("a restart of a stage asks for the stage again, of a kernel after an analysis for that",
          "[flow][repair_chain]") {
  const RepairOptions options{.max_attempts = 3, .escalations = {"restart"}, .strategies = {"a"}};
  const Action stage{.id = "stage1", .kind = PromptKind::Stage, .base = "seed1", .variant = "block_tiling"};
  const auto actions = actions_of(stage, options, {"wrong", "wrong"});
  REQUIRE(actions.size() == 3);
  CHECK(actions[2].kind == PromptKind::Stage);
  CHECK(actions[2].base == "seed1");
  CHECK(actions[2].variant == "block_tiling");
  CHECK(actions[2].temperature != stage.temperature);
}

TEST_CASE("no request of a repair chain is made twice", "[flow][repair_chain]") {
  const double temperature = GENERATE(0.0, 0.7, 1.0, 1.5);
  const RepairOptions options{
      .max_attempts = 12, .temperature = temperature, .escalations = {"restart", "rethink", "restart"}};
  for (int world = 0; world < 200; ++world) {
    std::vector<std::string> lines;
    for (int i = 0, rest = world; i < 12; ++i, rest /= 3)
      lines.emplace_back(rest % 3 == 0 ? "no code" : rest % 3 == 1 ? "wrong" : "broken " + std::string(i, 'x'));
    const auto actions = actions_of({.id = "seed1", .temperature = temperature}, options, lines);
    for (std::size_t i = 0; i < actions.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        auto earlier = actions[j];
        earlier.id = actions[i].id;
        INFO("world " << world << ", attempts " << j << " and " << i);
        CHECK_FALSE(earlier == actions[i]);
      }
  }
}

TEST_CASE("the same error at another line is the same failure; another name or another cause is not",
          "[flow][repair_chain]") {
  const auto refused = [](const std::string& log) {
    auto result = result_of({.id = "seed1"}, 1, "broken");
    result.record->outcome = {OutcomeKind::Compile, "undeclared_identifier", log};
    result.record->compile.emplace().log = log;
    return result;
  };
  const auto first = refused("k.cpp:3:5: error: 'tile4' was not declared in this scope\n");
  CHECK(same_failure(first, refused("k.cpp:91:17: error: 'tile4' was not declared in this scope\n")));
  CHECK_FALSE(same_failure(first, refused("k.cpp:3:5: error: 'tile8' was not declared in this scope\n")));
  CHECK_FALSE(same_failure(first, refused("k.cpp:3:5: error: redefinition of 'tile4'\n")));
  const auto correct = result_of({.id = "seed2"}, 2, "score 2");
  CHECK_FALSE(same_failure(correct, correct));
}
