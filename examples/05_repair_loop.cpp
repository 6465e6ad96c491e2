// RepairLoop on its own: a kernel that fails goes in, one that is correct comes out. It needs a model and a judge. Both
// are scripted here; put make_llm_client() and open_local_judge() in their places.

#include <iostream>

#include <kernelgen/kernelgen.hpp>

using namespace kernelgen;

namespace {

/// Correct as soon as the missing declaration is there.
EvaluationRecord judge_kernel(const EvaluationRequest& request) {
  EvaluationRecord record;
  if (request.candidate.source.find("float scale = 2;") == std::string::npos)
    record.outcome = {OutcomeKind::Compile, "undeclared_identifier", "'scale' was not declared in this scope"};
  return record;
}

}  // namespace

int main() {
  ScriptedLLMClient model({ScriptedLLMClient::reply("I am afraid I cannot see the problem."),
                           ScriptedLLMClient::reply("```cpp\nfloat scale = 2;\nint kgen_run(void*, const "
                                                    "kgen_run_args* args) { return use(args, scale); }\n```")});
  FakeBenchmarker judge(judge_kernel);
  const std::string kernel = "int kgen_run(void*, const kgen_run_args* args) { return use(args, scale); }\n";

  RepairLoop loop(model, judge, {.max_attempts = 3});
  const auto outcome = loop.run(
      {.task = {.name = "double", .text = "class Model: ..."}, .candidate = make_candidate(Target::Cpp, kernel)});
  if (outcome.error) {
    std::cerr << outcome.error->to_line() << '\n';
    return 1;
  }
  for (const auto& [id, result] : outcome.history) {
    std::cout << id << ": " << (result.record ? result.record->outcome.to_class() : result.message) << '\n';
  }
  std::cout << "best: " << outcome.best << '\n';
  return outcome.best == "start/repair2" ? 0 : 1;
}
