#include <set>

#include <kernelgen/flow/stages.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

#include "support/catch.hpp"
#include "unit/flow/policy_play.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;

namespace {

using Names = std::vector<std::string>;
using Families = std::vector<OperationFamily>;

TaskDescription task_of(Families families) {
  TaskDescription task;
  task.facts.emplace().families = std::move(families);
  return task;
}

/// A GRU, with other work beside it where families are given.
TaskDescription recurrent(Families families = {}) {
  auto task = task_of(std::move(families));
  task.facts->recurrence.emplace().kind = RecurrenceKind::Gru;
  return task;
}

TaskDescription network() {
  auto task = task_of({OperationFamily::Convolution, OperationFamily::Gemm});
  task.level = TaskLevel::Network;
  return task;
}

constexpr auto k_targets = {Target::Cpp, Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton, Target::Torch};

}  // namespace

TEST_CASE("stages follow from the task, the target and where the time loop stands", "[flow][stages]") {
  struct Row {
    TaskDescription task;
    std::optional<Recurrence> loop;
    Names gpu, cpp, torch;
  };
  const Names in_kernel{"step_product", "step_exchange", "step_tail"};
  const Names on_host{"step_launches", "step_product", "step_tail"};
  const Names in_python{"step_launches", "memory_and_tuning"};
  const Names general{"grid_and_parallel", "block_tiling", "memory_and_tuning"};
  const Names batches{"grid_and_parallel", "memory_and_tuning"};
  const Names rows{"row_split", "row_passes", "memory_access"};
  const Names scan{"scan_passes", "scan_chunks", "memory_access"};
  const Names products{"block_tiling", "advanced_memory", "epilogue"};
  const Names products_on_cpu{"block_tiling", "memory_access", "epilogue"};
  const auto none = std::optional<Recurrence>();
  using enum OperationFamily;
  const std::vector<Row> table{
      {recurrent(), Recurrence::Persistent, in_kernel, in_kernel, in_python},
      {recurrent(), Recurrence::Unknown, in_kernel, in_kernel, in_python},
      {recurrent(), none, in_kernel, in_kernel, in_python},
      {recurrent(), Recurrence::PerStep, on_host, on_host, in_python},
      {recurrent(), Recurrence::NotRecurrent, on_host, on_host, in_python},
      {recurrent({Gemm}), Recurrence::Persistent, in_kernel, in_kernel, in_python},
      // The kernel has no loop over the steps: the recurrence became products.
      {recurrent({Gemm}), Recurrence::NotRecurrent, products, products_on_cpu, {"epilogue", "memory_and_tuning"}},
      {task_of({Gemm}), Recurrence::NotRecurrent, products, products_on_cpu, {"epilogue", "memory_and_tuning"}},
      // What looks like a time loop to the detector is none where the task has no recurrence.
      {task_of({Gemm}), Recurrence::Persistent, products, products_on_cpu, {"epilogue", "memory_and_tuning"}},
      {task_of({Gemm, Normalization}), none, products, products_on_cpu, {"epilogue", "memory_and_tuning"}},
      {task_of({Convolution}),
       none,
       {"window_tiles", "advanced_memory", "epilogue"},
       {"window_tiles", "memory_access", "epilogue"},
       {"memory_access", "epilogue"}},
      {task_of({Attention, Reduction}),
       none,
       {"attention_tiles", "attention_softmax", "advanced_memory"},
       {"attention_tiles", "attention_softmax", "memory_and_tuning"},
       batches},
      {task_of({Scan}), none, scan, scan, batches},
      {task_of({Normalization}),
       none,
       {"row_passes", "row_split", "memory_access"},
       {"row_passes", "row_split", "memory_access"},
       batches},
      {task_of({Reduction}), none, rows, rows, batches},
      {task_of({Loss}), none, rows, rows, batches},
      {task_of({Pooling}),
       none,
       {"memory_access", "loads_in_flight"},
       {"memory_access", "advanced_memory"},
       {"memory_and_tuning"}},
      {task_of({}),
       none,
       {"memory_access", "loads_in_flight"},
       {"memory_access", "advanced_memory"},
       {"memory_and_tuning"}},
      {network(),
       none,
       {"network_fusion", "network_launches", "network_weights"},
       {"network_fusion", "network_weights", "block_tiling"},
       {"network_fusion", "network_launches", "network_weights"}},
      // No call was observed.
      {TaskDescription{}, none, general, general, general},
      {TaskDescription{}, Recurrence::Persistent, in_kernel, in_kernel, in_python},
  };
  for (std::size_t i = 0; i < table.size(); ++i) {
    INFO("row " << i);
    const auto& [task, loop, gpu, cpp, torch] = table[i];
    for (const auto target : {Target::Cuda, Target::Hip, Target::Hipkittens, Target::Triton})
      CHECK(stages_for({&task, target, loop}) == gpu);
    CHECK(stages_for({&task, Target::Cpp, loop}) == cpp);
    CHECK(stages_for({&task, Target::Torch, loop}) == torch);
  }
  CHECK(stages_for({}) == general);
}

TEST_CASE("every stage that is chosen has a prompt", "[flow][stages]") {
  const auto prompts =
      make_prompt_builder({.directory = KERNELGEN_SOURCE_DIR "/lib/prompt/templates", .overrides = {}}).value();
  std::vector<TaskDescription> tasks{TaskDescription{}, task_of({}), recurrent(), network()};
  using enum OperationFamily;
  for (const auto family : {Attention, Convolution, Gemm, Scan, Normalization, Loss, Reduction, Pooling})
    tasks.push_back(task_of({family}));
  for (const auto target : k_targets) {
    const auto known = prompts->variants(PromptKind::Stage, target);
    const std::set<std::string> names(known.begin(), known.end());
    for (const auto& task : tasks)
      for (const auto loop : {Recurrence::Persistent, Recurrence::PerStep, Recurrence::NotRecurrent})
        for (const auto& stage : stages_for({&task, target, loop})) {
          INFO(to_string(target) << ": " << stage);
          CHECK(names.contains(stage));
        }
  }
}

TEST_CASE("what stands beside auto comes once, in the order that was asked for", "[flow][stages]") {
  const auto task = task_of({OperationFamily::Gemm});
  const StageSubject subject{&task, Target::Cuda, std::nullopt};
  CHECK(expand_stages({"auto"}, subject) == stages_for(subject));
  CHECK(expand_stages({"mine", "auto"}, subject) == Names{"mine", "block_tiling", "advanced_memory", "epilogue"});
  CHECK(expand_stages({"epilogue", "auto", "mine"}, subject) ==
        Names{"epilogue", "block_tiling", "advanced_memory", "mine"});
  CHECK(expand_stages({"mine"}, subject) == Names{"mine"});
  CHECK(most_stages({"mine", "auto"}) == 4);
  CHECK(most_stages({"mine"}) == 1);
  CHECK(most_stages({}) == 0);
}

TEST_CASE("hybrid: the stages follow from the facts and from the kernel that is tuned", "[flow][policy]") {
  const auto task = recurrent();
  const auto policy = make_hybrid_policy({.seeds = 1, .analyze = false, .stage_tries = 1});
  const auto first_stage = [&](const std::string& kernel, const SearchFacts& facts) {
    History history;
    history["seed1"] = result_of({.id = "seed1"}, 1, kernel);
    const auto decision = policy->decide(history, facts);
    REQUIRE(decision.actions.size() == 1);
    CHECK(decision.actions.front().id == "stage1");
    return decision.actions.front().variant;
  };
  CHECK(first_stage("persistent score 2", {.task = &task, .target = Target::Cuda}) == "step_product");
  CHECK(first_stage("score 2", {.task = &task, .target = Target::Cuda}) == "step_launches");
  CHECK(first_stage("score 2", {.task = nullptr, .target = Target::Cuda}) == "grid_and_parallel");
}

TEST_CASE("hybrid: one thread exchanges nothing, and the reason says so", "[flow][policy]") {
  const auto task = recurrent();
  const auto policy = make_hybrid_policy({.seeds = 1, .analyze = false, .stage_tries = 1});
  const SearchFacts facts{.task = &task, .target = Target::Cpp, .threads = 1};
  History history;
  history["seed1"] = result_of({.id = "seed1"}, 1, "persistent score 2");
  for (int number = 2;; ++number) {
    const auto decision = policy->decide(history, facts);
    if (decision.finished) {
      CHECK(decision.reason == "all stages are done; skipped step_exchange (there is one thread)");
      break;
    }
    REQUIRE(decision.actions.size() == 1);
    const auto& action = decision.actions.front();
    history[action.id] = result_of(action, number, "persistent score 2");
  }
  CHECK(history.at("stage1").action.variant == "step_product");
  CHECK(history.at("stage3").action.variant == "step_tail");
  CHECK_FALSE(history.contains("stage2"));
}
