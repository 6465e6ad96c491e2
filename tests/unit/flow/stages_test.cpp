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
  return reason_to_skip(stage, {.profile = &profile}, early).value_or("worth a try");
}

std::string skipped(std::string_view stage, const TunedKernel& kernel) {
  return reason_to_skip(stage, kernel, EarlyExit::No).value_or("worth a try");
}

Profile launched(std::int64_t launches, std::optional<double> blocks = std::nullopt) {
  auto profile = with({});
  profile.kernels.front().launches = launches;
  if (blocks) profile.kernels.front().metrics = {{"grid_blocks", *blocks, "block"}};
  return profile;
}

using Names = std::vector<std::string>;

Names three_stages() { return choose_stages("three").value(); }

}  // namespace

TEST_CASE("stages are chosen by the name of a set, or by their own", "[flow][stages]") {
  CHECK(choose_stages("three").value() == Names{"grid_and_parallel", "block_tiling", "memory_and_tuning"});
  CHECK(choose_stages(" four ").value() ==
        Names{"grid_and_parallel", "block_tiling", "memory_access", "advanced_memory"});
  CHECK(choose_stages("none").value().empty());
  CHECK(choose_stages("block_tiling, mine").value() == Names{"block_tiling", "mine"});
  CHECK(choose_stages("auto").value() == HybridOptions{}.stages);
  CHECK(choose_stages("auto,mine").value() == Names{"auto", "mine"});
  CHECK(choose_stages("mine, four").value() ==
        Names{"mine", "grid_and_parallel", "block_tiling", "memory_access", "advanced_memory"});
}

TEST_CASE("a list of stages that cannot be meant is refused", "[flow][stages]") {
  CHECK_FALSE(choose_stages(""));
  CHECK_FALSE(choose_stages("a,,b"));
  CHECK_FALSE(choose_stages("a,"));
  CHECK(choose_stages("three,block_tiling").error().message == "stage block_tiling is there twice");
  CHECK(choose_stages("auto,auto").error().message == "stage auto is there twice");
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

TEST_CASE("where nothing is known every stage is worth a try", "[flow][stages]") {
  const Profile empty;
  for (const auto& stage : all_stages()) {
    CHECK_FALSE(reason_to_skip(stage.name, {}, EarlyExit::Yes));
    CHECK_FALSE(reason_to_skip(stage.name, {.profile = &empty, .recurrence = Recurrence::Unknown}, EarlyExit::Yes));
  }
  CHECK(skipped("mine", with({{"sm_throughput_pct", 99, "%"}}), EarlyExit::Yes) == "worth a try");
}

TEST_CASE("a stage is left out where the kernel lacks what it tunes", "[flow][stages]") {
  const auto one_block = launched(2, 1), blocks = launched(1, 96);
  CHECK(skipped("step_exchange", {.profile = &one_block}) ==
        "the longest kernel has one block, which exchanges nothing");
  CHECK(skipped("step_exchange", {.profile = &blocks}) == "worth a try");
  CHECK(skipped("step_exchange", {.recurrence = Recurrence::PerStep}) == "the kernel is launched for each step");
  CHECK(skipped("step_exchange", {.recurrence = Recurrence::Persistent}) == "worth a try");
  CHECK(skipped("step_exchange", {.threads = 1}) == "there is one thread");
  CHECK(skipped("row_split", {.threads = 2}) == "worth a try");
  CHECK(skipped("step_launches", {.recurrence = Recurrence::Persistent}) == "the time loop stands inside the kernel");
  CHECK(skipped("step_launches", {.recurrence = Recurrence::PerStep}) == "worth a try");
  CHECK(skipped("network_launches", {.profile = &blocks}) == "a call is one launch");
  CHECK(skipped("network_launches", {.profile = &one_block}) == "worth a try");
}

TEST_CASE("the blocks that count are those of the candidate's longest kernel", "[flow][stages]") {
  auto profile = launched(3, 1);
  profile.kernels.front().origin = KernelOrigin::Library;
  profile.kernels.push_back(launched(1, 96).kernels.front());
  CHECK(skipped("step_exchange", {.profile = &profile}) == "worth a try");
  std::swap(profile.kernels[0].origin, profile.kernels[1].origin);
  CHECK(skipped("step_exchange", {.profile = &profile}) != "worth a try");
}

TEST_CASE("no stage about arithmetic follows a kernel that only moves memory", "[flow][stages]") {
  const auto at = [](const char* bound, double ratio) {
    Headroom headroom;
    headroom.bound = bound;
    headroom.ratio = ratio;
    return TunedKernel{.headroom = headroom};
  };
  CHECK(skipped("block_tiling", at("memory", 1.1)) ==
        "it takes 1.1 times as long as the memory traffic that every kernel needs");
  CHECK(skipped("block_tiling", at("memory", 1.12)) == "worth a try");
  CHECK(skipped("block_tiling", at("operations", 1.0)) == "worth a try");
  CHECK(skipped("memory_access", at("memory", 1.1)) == "worth a try");
  CHECK(skipped("loads_in_flight", with({{"dram_throughput_pct", 89.9, "%"}})) == "worth a try");
  CHECK(skipped("loads_in_flight", with({{"dram_throughput_pct", 90, "%"}})) ==
        "dram_throughput_pct is 90, worth a try only below 90");
}

TEST_CASE("hybrid: stages are left out by the profile of the best kernel, and the reason says so", "[flow][policy]") {
  const auto policy = make_hybrid_policy(
      {.seeds = 1, .stages = three_stages(), .stage_tries = 1, .profiles = ProfileUse::BeforeNextPrompt});
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
