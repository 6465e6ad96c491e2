// How long the detector takes for a megabyte of source. Prints a table; asserts nothing.
//
//   detector CORPUS_DIRECTORY      tests/data/detect
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <kernelgen/detect/persistent_detector.hpp>

namespace {

double milliseconds(const std::string& source, kernelgen::Target target) {
  const auto detector = kernelgen::make_persistent_detector();
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const auto start = std::chrono::steady_clock::now();
    (void)detector->inspect(source, target);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  std::map<kernelgen::Target, std::string> sources;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (const auto target = kernelgen::guess_target(entry.path().string(), text)) sources[*target] += text + '\n';
  }
  std::printf("%-12s %10s %10s   goal: 1 MB in 100 ms\n", "target", "KB", "ms");
  for (const auto& [target, text] : sources) {
    for (const std::size_t size : {std::size_t{1} << 18, std::size_t{1} << 20}) {
      std::string source;
      while (source.size() < size) source += text;
      std::printf("%-12s %10zu %10.1f\n", std::string(kernelgen::to_string(target)).c_str(), source.size() >> 10,
                  milliseconds(source, target));
    }
  }
  return 0;
}
