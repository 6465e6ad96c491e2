// A custom search strategy: samples one after the other, until one is correct. A policy only decides; asking, judging,
// the journal and resuming are the engine's.

#include <iostream>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/llm/scripted_client.hpp>

using namespace kernelgen;

class UntilCorrect final : public Policy {
 public:
  explicit UntilCorrect(int limit) : limit_(limit) {}

  [[nodiscard]] std::string name() const override { return "until-correct"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"limit", std::to_string(limit_)}};
  }
  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision;
    if (const auto* best = best_of(history)) {
      return {.actions = {}, .best = best->action.id, .finished = true, .reason = "a sample is correct"};
    }
    const auto tried = static_cast<int>(history.size());
    if (tried == limit_) return {.actions = {}, .best = "", .finished = true, .reason = "the limit was reached"};
    Action sample{.id = "sample" + std::to_string(tried + 1)};
    if (tried > 0)
      sample.instructions =
          "Choose another structure: " + std::to_string(tried) + " kernels of the usual one were wrong.";
    decision.actions.push_back(std::move(sample));
    return decision;
  }

 private:
  int limit_;
};

int main() {
  const auto installation = find_installation();
  if (!installation) return 69;
  const auto prompts = make_prompt_builder({.directory = installation->prompts_dir, .overrides = {}});
  if (!prompts) return 70;
  ScriptedLLMClient model([](const LLMRequest& request) {
    return ScriptedLLMClient::reply("```cpp\n// " + request.id +
                                    "\nint kgen_run(void*, const kgen_run_args*) { return 0; }\n```");
  });
  FakeBenchmarker benchmarker([](const EvaluationRequest& request) {
    EvaluationRecord record;
    if (request.candidate.source.find("sample3") == std::string::npos)
      record.outcome = {OutcomeKind::Accuracy, "mismatch", "output: wrong"};
    return record;
  });
  const auto detector = make_persistent_detector();
  const auto journal = make_memory_journal([] { return std::chrono::system_clock::now(); });
  FlowRequest request;
  request.task = {.name = "task", .text = "class Model: ..."};
  const auto outcome = run_flow(request, UntilCorrect(5), {model, **prompts, benchmarker, *detector}, *journal, {}, {});
  if (!outcome) return 1;
  std::cout << outcome->best << " of " << outcome->history.size() << ": " << outcome->reason << '\n';
  return outcome->best == "sample3" ? 0 : 1;
}
