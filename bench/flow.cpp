// Measures the cost of the flow itself: processor time of one attempt (prompt, journal, files, reading the reply,
// detector) with a model and a judge that take none, and of policies' decisions on a long history. Prints a table;
// asserts nothing.
//
//   flow TASK.py KERNEL.cpp RECORD.json      examples/tasks/gru_hidden.py examples/kernels/gru_hidden.cpp
//                                            examples/records/relu.json
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <kernelgen/bench/fake_benchmarker.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/llm/scripted_client.hpp>
#include <kernelgen/task/task_source.hpp>

using namespace kernelgen;

namespace {

template <class T>
T need(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().to_line().c_str());
  std::exit(1);
}

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

double cpu_milliseconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

/// A search without a correct kernel, so that every seed is repaired to the end.
void measure_attempts(const TaskSource& task, const std::string& kernel, EvaluationRecord record) {
  const auto installation = need(find_installation());
  const auto prompts = need(make_prompt_builder({.directory = installation.prompts_dir, .overrides = {}}));
  const auto detector = make_persistent_detector();
  record.outcome = {OutcomeKind::Accuracy, "mismatch", "output: 2302 of 2304 elements are wrong"};
  FakeBenchmarker benchmarker([&](const EvaluationRequest&) { return record; });
  ScriptedLLMClient model([&](const LLMRequest& request) {
    return ScriptedLLMClient::reply("```cpp\n// " + request.id + '\n' + kernel + "\n```\n");
  });
  const auto directory = std::filesystem::temp_directory_path() / "kernelgen-bench-flow";
  std::filesystem::remove_all(directory);
  const auto journal = need(open_run_journal(directory, [] { return std::chrono::system_clock::now(); }));
  FlowRequest request;
  request.task = task;
  const auto policy = make_hybrid_policy({.seeds = 10, .seed_repairs = 4});
  const double before = cpu_milliseconds();
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = need(run_flow(request, *policy, {model, *prompts, benchmarker, *detector}, *journal, {}, {}));
  const double wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const auto attempts = static_cast<double>(outcome.history.size());
  std::printf("%-44s %10.2f   %s\n", "attempt, processor time, ms", (cpu_milliseconds() - before) / attempts, "20");
  std::printf("%-44s %10.2f\n", "attempt, wall time, ms", wall / attempts);
  std::printf("%-44s %10.0f\n", "attempts", attempts);
  std::filesystem::remove_all(directory);
}

/// Decisions on a history of about 500 actions in which seeds failed, were repaired, analysed and optimized.
void measure_decisions(const EvaluationRecord& record) {
  const auto policy = make_hybrid_policy({.seeds = 100, .seed_repairs = 4});
  History history;
  while (history.size() < 500) {
    const auto decision = policy->next(history);
    for (const auto& action : decision.actions) {
      auto& result = history[action.id];
      result.action = action;
      result.number = static_cast<int>(history.size());
      result.status = ActionStatus::Evaluated;
      result.candidate = make_candidate(Target::Cpp, action.id);
      result.record = record;
      result.record->outcome = {OutcomeKind::Accuracy, "mismatch", "output: wrong"};
    }
  }
  constexpr int k_steps = 1000;
  const auto start = std::chrono::steady_clock::now();
  std::size_t wanted = 0;
  for (int step = 0; step < k_steps; ++step) wanted += policy->next(history).actions.size();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%-44s %10.3f   %s\n", "1,000 decisions on 500 actions, s", seconds, "1");
  std::printf("%-44s %10zu\n", "actions wanted by each of them", wanted / k_steps);
}

/// Decisions of evolve on a history of about 500 actions: all kernels correct, each the given one with lines of its
/// own.
void measure_archives(const EvaluationRecord& record, const std::string& kernel) {
  const auto policy = make_evolve_policy({.islands = 3, .generations = 1000, .floor_ratio = 0});
  History history;
  while (history.size() < 500) {
    for (const auto& action : policy->next(history).actions) {
      auto& result = history[action.id];
      result.action = action;
      result.number = static_cast<int>(history.size());
      result.status = ActionStatus::Evaluated;
      result.candidate = make_candidate(Target::Cpp, kernel + "\nint own_" + action.id + "() { return 1; }\n");
      result.record = record;
    }
  }
  constexpr int k_steps = 20;
  const auto start = std::chrono::steady_clock::now();
  std::size_t wanted = 0;
  for (int step = 0; step < k_steps; ++step) wanted += policy->next(history).actions.size();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%-44s %10.1f   %s\n", "evolve: a decision on 500 actions, ms", seconds * 1e3 / k_steps, "100");
  std::printf("%-44s %10zu\n", "actions wanted by each of them", wanted / k_steps);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  const auto record = need(parse_record(read(argv[3])));
  std::printf("%-44s %10s   %s\n", "what", "measured", "goal at most");
  measure_attempts(need(load_task_source(argv[1], {})), read(argv[2]), record);
  measure_decisions(record);
  measure_archives(record, read(argv[2]));
  return 0;
}
