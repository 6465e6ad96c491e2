// Whole prompts, as they are sent: the seed of each example task for each target, and every phase of one of them. Read
// the difference before you accept it: a model sees nothing else.

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <kernelgen/prompt/prompt_builder.hpp>

#include "core/json.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"
#include "support/sample_prompt.hpp"
#include "support/text.hpp"
#include "unit/prompt/prompt_fixture.hpp"

using namespace kernelgen;
using kernelgen::testing::check_golden;
using kernelgen::testing::k_targets;
using kernelgen::testing::read_test_data;
using kernelgen::testing::sample_prompt_request;

namespace {

/// The judge's descriptions of the example tasks.
std::vector<TaskDescription> described_tasks() {
  std::vector<TaskDescription> tasks;
  const auto text = read_test_data("prompt_tasks.jsonl");
  for (const auto line : split_lines(text))
    tasks.push_back(from_value<TaskDescription>(parse_json(line).value()).value());
  return tasks;
}

std::vector<DeviceFact> device_for(Target target) {
  if (target == Target::Cpp) return {{"processor", "Example Processor 9000"}, {"L2 cache", "1 MiB"}};
  if (target == Target::Hip || target == Target::Hipkittens)
    return {{"device", "Example AMD GPU"}, {"architecture", "gfx942"}, {"CUs", "304"}, {"LDS", "64 KiB per block"}};
  return {{"device", "Example NVIDIA GPU"},
          {"architecture", "sm_90"},
          {"SMs", "132"},
          {"shared memory", "48 KiB per block, 227 KiB where the kernel asks for it"}};
}

/// The GPU of these facts.
std::pair<std::string, std::string> gpu_for(Target target) {
  if (target == Target::Cpp) return {};
  if (target == Target::Hip || target == Target::Hipkittens) return {"amd", "gfx942"};
  return {"nvidia", "sm_90"};
}

void check(const PromptBuilder& prompts, PromptRequest request, const std::string& name) {
  request.device = device_for(request.target);
  std::tie(request.gpu_vendor, request.gpu_architecture) = gpu_for(request.target);
  request.on_gpu = request.target != Target::Cpp;
  const auto prompt = prompts.build(request);
  INFO(name);
  REQUIRE(prompt);
  const auto folder = request.language == Language::C ? "c" : std::string(to_string(request.target));
  check_golden("prompts/" + folder + "/" + name + ".txt", prompt->text);
}

}  // namespace

TEST_CASE("prompts for the example tasks, as they are sent", "[prompt][golden]") {
  const auto prompts = make_prompt_builder({KERNELGEN_SOURCE_DIR "/lib/prompt/templates", {}}).value();
  const auto tasks = described_tasks();
  REQUIRE(tasks.size() == 8);
  for (const auto target : k_targets) {
    for (const auto& task : tasks) {
      PromptRequest request;
      request.target = target;
      request.description = task;
      request.tolerance = standard_tolerance(task);
      request.task.name = task.name;
      request.task.text = read_file(KERNELGEN_SOURCE_DIR "/examples/tasks/" + task.name + ".py").value();
      request.threads = 2;
      check(*prompts, request, task.name + "_seed");
    }
    for (const auto kind : {PromptKind::Repair, PromptKind::Analysis, PromptKind::Optimize, PromptKind::Stage,
                            PromptKind::Reflect, PromptKind::Critic, PromptKind::Crossover})
      check(*prompts, sample_prompt_request(kind, target), "gru_hidden_" + std::string(to_string(kind)));
  }
}

TEST_CASE("prompts for families of AMD GPUs, as they are sent", "[prompt][golden]") {
  const auto prompts = make_prompt_builder({KERNELGEN_SOURCE_DIR "/lib/prompt/templates", {}}).value();
  struct Case {
    Target target;
    const char* architecture;
    PrecisionClass precision;
  };
  for (const auto& [target, architecture, precision] :
       {Case{Target::Hip, "gfx90a", PrecisionClass::Fp16}, Case{Target::Hip, "gfx1030", PrecisionClass::Strict},
        Case{Target::Hip, "gfx1100", PrecisionClass::Fp16}, Case{Target::Hip, "gfx1201", PrecisionClass::Fp16},
        Case{Target::Torch, "gfx942", PrecisionClass::Strict},
        Case{Target::Triton, "gfx1100", PrecisionClass::Strict}}) {
    for (auto& task : described_tasks()) {
      if (task.name != "matmul_gelu") continue;
      PromptRequest request;
      request.target = target;
      task.precision = precision;
      request.description = task;
      request.tolerance = standard_tolerance(task);
      request.task.name = task.name;
      request.task.text = read_file(KERNELGEN_SOURCE_DIR "/examples/tasks/" + task.name + ".py").value();
      request.device = {{"device", "Example AMD GPU"}, {"architecture", architecture}};
      request.on_gpu = true;
      request.gpu_vendor = "amd";
      request.gpu_architecture = architecture;
      const auto prompt = prompts->build(request);
      const auto folder = std::string(to_string(target)) + "_" + architecture;
      INFO(folder);
      REQUIRE(prompt);
      check_golden("prompts/" + folder + "/matmul_gelu_seed.txt", prompt->text);
    }
  }
}

TEST_CASE("prompts for a kernel in C, as they are sent", "[prompt][golden]") {
  const auto prompts = make_prompt_builder({KERNELGEN_SOURCE_DIR "/lib/prompt/templates", {}}).value();
  for (const auto kind : {PromptKind::Seed, PromptKind::Repair}) {
    auto request = sample_prompt_request(kind);
    request.language = Language::C;
    check(*prompts, request, "gru_hidden_" + std::string(to_string(kind)));
  }
}
