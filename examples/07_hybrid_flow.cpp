// The whole hybrid flow on one task, with recorded replies and an observer, as `kgen run` does it.
//
//   07_hybrid_flow TASK.py RECORDING.jsonl DIRECTORY

#include <cstdlib>
#include <iostream>

#include <kernelgen/bench/local_judge.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/llm/clients.hpp>
#include <kernelgen/task/task_source.hpp>

using namespace kernelgen;

/// The value, or the end of the program with one line.
template <class T>
T need(Result<T> result) {
  if (result) return *std::move(result);
  std::cerr << result.error().to_line() << '\n';
  std::exit(1);
}

void show(const FlowNotice& notice) {
  const auto* event = std::get_if<Event>(&notice);
  const auto* finished = event != nullptr ? std::get_if<ActionFinished>(&event->body) : nullptr;
  if (finished == nullptr) return;
  const auto& result = finished->result;
  std::cout << result.action.id << ": "
            << (result.record ? result.record->outcome.to_class() : std::string(to_string(result.status)));
  if (const auto score = result.score()) std::cout << ", " << *score << " times as fast as PyTorch";
  std::cout << std::endl;
}

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const auto installation = need(find_installation());
  const auto prompts = need(make_prompt_builder({.directory = installation.prompts_dir, .overrides = {}}));
  const auto model = need(make_replay_client(argv[2], ReplayMode::Strict));
  const auto benchmarker = need(open_local_judge());
  const auto detector = make_persistent_detector();
  const auto journal = need(open_run_journal(argv[3], [] { return std::chrono::system_clock::now(); }));

  FlowRequest request;
  request.task = need(load_task_source(argv[1]));
  // The recording has replies to these strategies only.
  const auto policy = make_hybrid_policy({.strategies = prompts->variants(PromptKind::Seed, Target::Cpp),
                                          .stages = {"block_tiling"},
                                          .stage_tries = 1,
                                          .stop_score = 1.5});
  const auto outcome =
      need(run_flow(request, *policy, {*model, *prompts, *benchmarker, *detector}, *journal, show, {}));
  std::cout << "best: " << outcome.best << " (" << outcome.reason << ")\n";
  return outcome.reached ? 0 : 1;
}
