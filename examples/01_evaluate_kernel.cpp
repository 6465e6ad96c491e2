// Judges one kernel against one PyTorch module, as `kgen eval` does.
//
//   01_evaluate_kernel KERNEL.cpp TASK.py

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/task/task_source.hpp>

namespace {

int fail(const kernelgen::Error& error) {
  std::cerr << error.to_line() << '\n';
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail({kernelgen::ErrorCode::InvalidArgument, "usage: 01_evaluate_kernel KERNEL.cpp TASK.py"});
  std::ifstream file(argv[1]);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file) return fail({kernelgen::ErrorCode::NotFound, std::string("cannot read ") + argv[1]});
  const auto task = kernelgen::load_task_source(argv[2], {});
  if (!task) return fail(task.error());

  const auto installation = kernelgen::find_installation();
  if (!installation) return fail(installation.error());
  const char* python = std::getenv("KGEN_PYTHON");
  const auto benchmarker = kernelgen::make_worker_benchmarker({.installation = *installation,
                                                               .python = python != nullptr ? python : "python3",
                                                               .cache_dir = "kernelgen-cache"});
  if (!benchmarker) return fail(benchmarker.error());

  const auto record = (*benchmarker)
                          ->evaluate({.task = *task,
                                      .candidate = kernelgen::make_candidate(kernelgen::Target::Cpp, source),
                                      .options = {.measure = {.deadline = std::chrono::seconds(5)}}},
                                     [](const auto& step) { std::cerr << step.phase << '\n'; }, {});
  if (!record) return fail(record.error());
  // A failing kernel is no error: it is the outcome of the experiment.
  std::cout << record->outcome.to_class() << ": " << record->outcome.message << '\n';
  if (record->timing) std::cout << "speedup " << record->timing->speedup_call.value << '\n';
  return record->outcome.correct() ? 0 : 2;
}
