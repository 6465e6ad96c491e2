// Judges one kernel against one PyTorch module, from nothing: as `kgen eval` does.
//
//   01_evaluate_kernel KERNEL.cpp TASK.py

#include <fstream>
#include <iostream>
#include <iterator>

#include <kernelgen/kernelgen.hpp>

using namespace kernelgen;

int main(int argc, char** argv) try {
  if (argc != 3) return 64;
  std::ifstream file(argv[1]);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw BadResult({ErrorCode::NotFound, std::string("cannot read ") + argv[1]});

  const auto judge = open_local_judge().value();
  const auto task = load_task_source(argv[2]).value();
  const auto record = judge->evaluate({task, make_candidate(Target::Cpp, source)}, {}, {}).value();
  // What the kernel did is no error: it is the outcome of the experiment.
  std::cout << record.outcome.to_class() << ": " << record.outcome.message << '\n';
  if (record.timing) std::cout << "speedup " << record.timing->speedup_call.value << '\n';
  return record.outcome.correct() ? 0 : 2;
} catch (const BadResult& bad) {
  std::cerr << bad.error().to_line() << '\n';
  return 1;
}
