// How long the detector takes for a megabyte of source, of the corpus and made to be slow. Prints a table; asserts
// nothing. Times are those of the processor, so that a busy machine does not count.
//
//   detector CORPUS_DIRECTORY      tests/data/detect
#include <cstdio>
#include <ctime>
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
    const auto start = std::clock();
    (void)detector->inspect(source, target);
    best = std::min(best, 1000.0 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

/// A text that begins with `start`, repeats `part` for a megabyte and ends with `end`.
struct Hostile {
  const char* name;
  kernelgen::Target target;
  const char* start;
  const char* part;
  const char* end;
};

constexpr const char* k_cuda = "__global__ void k(float* a,float* b,int n){";
constexpr const char* k_loop = "__global__ void k(float* a,float* b,int n){for(int t=0;t<n;++t){";
constexpr const char* k_host = "__global__ void k(float* a,float* b,int n){a[n]=b[n];}int kgen_run(void* s){";
constexpr const char* k_triton = "@triton.jit\ndef k(a, b, n):\n    for t in range(n):\n";

constexpr Hostile k_hostile[] = {
    {"open parentheses", kernelgen::Target::Cuda, k_cuda, "(", ""},
    {"nested calls", kernelgen::Target::Cuda, k_cuda, "f(", ""},
    {"nested braces", kernelgen::Target::Cuda, k_cuda, "{", ""},
    {"nested loops", kernelgen::Target::Cuda, k_cuda, "for(int i=0;i<n;++i)", ";}"},
    {"one expression", kernelgen::Target::Cuda, k_loop, "+a[t]*b[t]", ";}}"},
    {"one loop body", kernelgen::Target::Cuda, k_loop, "a[t]=f(b[t]+a[t-1]);", "}}"},
    {"many loops", kernelgen::Target::Cuda, k_cuda, "for(int i=0;i<n;++i)a[i]=a[i-1]*b[i];", "}"},
    {"chained assignments", kernelgen::Target::Cuda, k_cuda, "a=", "1;}"},
    {"nested assignments", kernelgen::Target::Cuda, k_cuda, "(a=", "1;}"},
    {"launch loops", kernelgen::Target::Cuda, k_host, "for(int i=0;i<n;++i)k<<<n/128,128>>>(a,b,n);", "}"},
    {"open launches", kernelgen::Target::Cuda, k_host, "k<<<n ", ""},
    {"macros in macros", kernelgen::Target::Cuda, "#define A(x) x x\n", "A(A(A(A(A(A(q))))))\n", ""},
    {"open templates", kernelgen::Target::Cuda, k_cuda, "f<a<b<", ""},
    {"quotes", kernelgen::Target::Cuda, k_cuda, "'", ""},
    {"questions", kernelgen::Target::Cuda, k_loop, "b?", ""},
    {"one loop body", kernelgen::Target::Triton, k_triton, "        h = tl.sigmoid(h + tl.load(a + t))\n", ""},
    {"launch loops", kernelgen::Target::Triton,
     "@triton.jit\ndef k(a, b):\n    tl.store(a, tl.load(b))\ndef f(x, h):\n",
     "    for t in range(x):\n        k[(1,)](h, x)\n        h = x\n", ""},
    {"lambdas", kernelgen::Target::Triton, k_triton, "lambda: ", ""},
};

void hostile_table() {
  constexpr std::size_t k_size = std::size_t{1} << 20;
  std::printf("\n%-12s %-24s %10s\n", "target", "a megabyte of", "ms");
  for (const auto& each : k_hostile) {
    std::string source = each.start;
    while (source.size() < k_size) source += each.part;
    source += each.end;
    std::printf("%-12s %-24s %10.1f\n", std::string(kernelgen::to_string(each.target)).c_str(), each.name,
                milliseconds(source, each.target));
  }
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
  hostile_table();
  return 0;
}
