#include <kernelgen/flow/stages.hpp>

#include <kernelgen/profile/metrics.hpp>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

Profile with(std::vector<Metric> metrics) {
  Profile profile;
  auto& kernel = profile.kernels.emplace_back();
  kernel.duration_ns = 1000;
  kernel.metrics = std::move(metrics);
  return profile;
}

std::string skipped(std::string_view stage, const Profile& profile, EarlyExit early = EarlyExit::No) {
  return reason_to_skip(stage, profile, early).value_or("worth a try");
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("stages are chosen by the name of a set, or by their own", "[flow][stages]") {
  CHECK(choose_stages("three").value() == Names{"grid_and_parallel", "block_tiling", "memory_and_tuning"});
  CHECK(choose_stages(" four ").value() ==
        Names{"grid_and_parallel", "block_tiling", "memory_access", "advanced_memory"});
  CHECK(choose_stages("none").value().empty());
  CHECK(choose_stages("block_tiling, mine").value() == Names{"block_tiling", "mine"});
  CHECK(choose_stages("three").value() == HybridOptions{}.stages);
}

TEST_CASE("a list of stages that cannot be meant is refused", "[flow][stages]") {
  CHECK_FALSE(choose_stages(""));
  CHECK_FALSE(choose_stages("a,,b"));
  CHECK_FALSE(choose_stages("a,"));
  const auto twice = choose_stages("a,b,a");
  REQUIRE_FALSE(twice);
  CHECK(twice.error().code == ErrorCode::InvalidArgument);
  CHECK(twice.error().message == "stage a is there twice");
}

TEST_CASE("every stage of a set has conditions, and they are about counters that exist", "[flow][stages]") {
  for (const auto& set : stage_sets())
    for (const auto name : set.stages)
      CHECK(
          std::any_of(all_stages().begin(), all_stages().end(), [&](const auto& stage) { return stage.name == name; }));
  for (const auto& stage : all_stages()) {
    for (const auto& bound : stage.preconditions) CHECK(find_metric(bound.metric) != nullptr);
    for (const auto& bound : stage.done_when) CHECK(find_metric(bound.metric) != nullptr);
  }
}

TEST_CASE("a stage is left out when its condition does not hold", "[flow][stages]") {
  CHECK(skipped("grid_and_parallel", with({{"sm_throughput_pct", 59.9, "%"}})) == "worth a try");
  CHECK(skipped("grid_and_parallel", with({{"sm_throughput_pct", 60, "%"}})) ==
        "sm_throughput_pct is 60, worth a try only below 60");
  CHECK(skipped("memory_and_tuning", with({{"stall_memory_pct", 20.5, "%"}})) == "worth a try");
  CHECK(skipped("memory_and_tuning", with({{"stall_memory_pct", 19.96, "%"}})) ==
        "stall_memory_pct is 20, worth a try only above 20");
  CHECK(skipped("block_tiling", with({{"sm_throughput_pct", 99, "%"}})) == "worth a try");
}

TEST_CASE("with early exit a stage is left out when its aim is reached", "[flow][stages]") {
  struct Row {
    const char* stage;
    std::vector<Metric> enough;
    std::vector<Metric> lacking;
  };
  const Row row = GENERATE(
      Row{"block_tiling", {{"occupancy_pct", 60, "%"}}, {{"occupancy_pct", 59, "%"}}},
      Row{"memory_access", {{"stall_memory_pct", 15, "%"}}, {{"stall_memory_pct", 15.1, "%"}}},
      Row{"advanced_memory",
          {{"l2_hit_pct", 90, "%"}, {"stall_memory_pct", 10, "%"}},
          {{"l2_hit_pct", 90, "%"}, {"stall_memory_pct", 10.1, "%"}}},
      Row{"advanced_memory", {{"l2_hit_pct", 99, "%"}, {"stall_memory_pct", 1, "%"}}, {{"stall_memory_pct", 1, "%"}}});
  INFO(row.stage);
  CHECK_THAT(skipped(row.stage, with(row.enough), EarlyExit::Yes), Catch::EndsWith(": enough"));
  CHECK(skipped(row.stage, with(row.enough), EarlyExit::No) == "worth a try");
  CHECK(skipped(row.stage, with(row.lacking), EarlyExit::Yes) == "worth a try");
}

TEST_CASE("without counters every stage is worth a try", "[flow][stages]") {
  for (const auto& stage : all_stages()) CHECK_FALSE(reason_to_skip(stage.name, Profile{}, EarlyExit::Yes));
  CHECK_FALSE(reason_to_skip("mine", with({{"sm_throughput_pct", 99, "%"}}), EarlyExit::Yes));
}

TEST_CASE("hybrid: stages are left out by the profile of the best kernel, and the reason says so", "[flow][policy]") {
  const auto policy = make_hybrid_policy({.seeds = 1, .stage_tries = 1, .profiles = ProfileUse::BeforeNextPrompt});
  const auto world = [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "no";
    return action.id == "stage2" ? "score 3" : "score 2";
  };
  const auto played = play(*policy, world, 0, [](const ActionResult& result) {
    return with({{"sm_throughput_pct", 80, "%"}, {"stall_memory_pct", result.action.id == "stage2" ? 30.0 : 5.0, "%"}});
  });
  CHECK(ids_of(played.history) == std::set<std::string>{"seed1", "seed1/analysis", "stage2", "stage3"});
  CHECK(played.profiled == std::set<std::string>{"seed1", "stage2"});
  CHECK(played.last.reason ==
        "all stages are done; skipped grid_and_parallel (sm_throughput_pct is 80, worth a try only below 60)");
}

TEST_CASE("hybrid: nothing is paid for a kernel at its floor", "[flow][policy]") {
  const auto world = [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "yes";
    return action.kind == PromptKind::Stage ? "score 2" : "score 1.5 floor 1.1";
  };
  const auto played = play(*make_hybrid_policy({.seeds = 2}), world);
  CHECK(ids_of(played.history) == std::set<std::string>{"seed1", "seed2"});
  CHECK(played.last.best == "seed1");
  CHECK(played.last.reason == "no further request is worth its price: near its floor");
  const auto all = play(*make_hybrid_policy({.seeds = 1, .floor_ratio = 0}), world);
  CHECK(all.history.contains("seed1/analysis"));
  CHECK(all.history.contains("stage3"));
  const auto strict = play(*make_hybrid_policy({.seeds = 1, .floor_ratio = 1.05}), world);
  CHECK(strict.history.contains("stage1"));
}

TEST_CASE("hybrid: a stage that reaches the floor is the last one", "[flow][policy]") {
  const auto played = play(*make_hybrid_policy({.seeds = 1}), [](const Action& action) -> std::string {
    if (action.kind == PromptKind::Analysis) return "no";
    return action.id == "stage1" ? "score 3 floor 1.02" : "score 1";
  });
  CHECK(played.last.best == "stage1");
  CHECK_FALSE(played.history.contains("stage2"));
}
