// RepairLoop on its own: it turns a failing kernel into a correct one. Model and judge are scripted here; use
// make_llm_client() and make_worker_benchmarker() instead.

#include <iostream>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/flow/repair_loop.hpp>
#include <kernelgen/llm/scripted_client.hpp>

using namespace kernelgen;

namespace {

/// Correct as soon as the missing declaration is there.
EvaluationRecord judge(const EvaluationRequest& request) {
  EvaluationRecord record;
  if (request.candidate.source.find("float scale = 2;") == std::string::npos)
    record.outcome = {OutcomeKind::Compile, "undeclared_identifier", "'scale' was not declared in this scope"};
  return record;
}

int fail(const Error& error) {
  std::cerr << error.to_line() << '\n';
  return 1;
}

}  // namespace

int main() {
  const auto installation = find_installation();
  if (!installation) return fail(installation.error());
  const auto prompts = make_prompt_builder({.directory = installation->prompts_dir, .overrides = {}});
  if (!prompts) return fail(prompts.error());
  ScriptedLLMClient model({ScriptedLLMClient::reply("I am afraid I cannot see the problem."),
                           ScriptedLLMClient::reply("```cpp\nfloat scale = 2;\nint kgen_run(void*, const "
                                                    "kgen_run_args* args) { return use(args, scale); }\n```")});
  FakeBenchmarker benchmarker([](const EvaluationRequest& request) { return judge(request); });
  const auto detector = make_persistent_detector();

  RepairRequest request;
  request.task = {.name = "double", .text = "class Model: ..."};
  request.candidate =
      make_candidate(Target::Cpp, "int kgen_run(void*, const kgen_run_args* args) { return use(args, scale); }\n");
  RepairLoop loop({model, **prompts, benchmarker, *detector}, {.max_attempts = 3});
  const auto outcome = loop.run(request, {}, {});
  if (outcome.error) return fail(*outcome.error);
  for (const auto& [id, result] : outcome.history) {
    std::cout << id << ": " << (result.record ? result.record->outcome.to_class() : result.message) << '\n';
  }
  std::cout << "best: " << outcome.best << '\n';
  return outcome.best == "start/repair2" ? 0 : 1;
}
