// Compiles a kernel twice: the second time it comes out of the cache.
//
//   02_compile_only KERNEL.cpp

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/installation.hpp>

int main(int argc, char** argv) try {
  if (argc != 2) throw std::runtime_error("usage: 02_compile_only KERNEL.cpp");
  std::ifstream file(argv[1]);
  const std::string source{std::istreambuf_iterator<char>(file), {}};
  if (!file) throw std::runtime_error(std::string("cannot read ") + argv[1]);

  // value() throws BadResult on an error: the other way to handle one.
  const auto installation = kernelgen::find_installation().value();
  const auto scratch = std::filesystem::current_path() / "compile-only";
  const auto processes = kernelgen::make_process_runner();
  auto plain = kernelgen::make_cpp_compiler({.abi_dir = installation.abi_dir.string(),
                                             .output_dir = scratch.string(),
                                             .sandbox = installation.sandbox.string()},
                                            *processes)
                   .value();
  const auto compiler = kernelgen::make_caching_compiler(std::move(plain), {.directory = scratch.string()}).value();

  const kernelgen::CompileRequest request{.candidate = kernelgen::make_candidate(kernelgen::Target::Cpp, source)};
  for (int round = 1; round <= 2; ++round) {
    const auto outcome = compiler->compile(request, {}).value();
    if (const auto* failed = std::get_if<kernelgen::CompileFailed>(&outcome)) {
      std::cout << failed->outcome.to_class() << '\n' << failed->report.log;
      return 2;
    }
    const auto& compiled = std::get<kernelgen::Compiled>(outcome);
    std::cout << compiled.artifact.path << " (cache: " << compiled.report.cache << ")\n";
  }
  return compiler->counters().hits >= 1 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
