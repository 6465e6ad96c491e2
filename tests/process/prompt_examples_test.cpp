// The code that prompts show: it compiles as candidates do, and the recurrence that is called right is right.

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/prompt/reply_reader.hpp>

#include "prompt/reply_text.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// The fenced blocks of a template. Their code holds no tags, so the text of the file is what models see.
std::vector<std::string> blocks_of(const std::string& name) {
  const auto text = read_file(KERNELGEN_SOURCE_DIR "/lib/prompt/templates/" + name + ".mustache").value();
  std::vector<std::string> blocks;
  for (auto& block : find_fences(text).blocks) blocks.push_back(std::move(block.content));
  return blocks;
}

class Bench {
 public:
  /// The path of the shared object.
  std::string compile(const std::string& source) {
    auto outcome = compiler_->compile({.candidate = make_candidate(Target::Cpp, source), .timeout = 60s}, {}).value();
    if (const auto* failed = std::get_if<CompileFailed>(&outcome)) FAIL(failed->report.log);
    return std::get<Compiled>(outcome).artifact.path;
  }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  std::unique_ptr<ProcessRunner> runner_ = make_process_runner();
  std::unique_ptr<KernelCompiler> compiler_ =
      make_cpp_compiler({.compiler = "c++",
                         .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
                         .output_dir = (directory_.path() / "out").string(),
                         .sandbox = KERNELGEN_SANDBOX},
                        *runner_)
          .value();
};

}  // namespace

TEST_CASE("the example of the kernel ABI compiles and is understood as a reply", "[prompt][process]") {
  Bench bench;
  const auto blocks = blocks_of("examples/cpp");
  REQUIRE(blocks.size() == 1);
  bench.compile(blocks.front());
  CHECK(extract_code({.text = "```cpp\n" + blocks.front() + "```\n"}, Target::Cpp).code == blocks.front());
}

TEST_CASE("the Python examples define what a reply must define", "[prompt][process]") {
  for (const auto& [name, target] : {std::pair{"triton", Target::Triton}, std::pair{"torch", Target::Torch}}) {
    const auto blocks = blocks_of(std::string("examples/") + name);
    REQUIRE(blocks.size() == 1);
    CHECK(extract_code({.text = "```python\n" + blocks.front() + "```\n"}, target).code == blocks.front());
  }
}

TEST_CASE("the recurrence that prompts call right gives the sequential result", "[prompt][process]") {
  Bench bench;
  const auto blocks = blocks_of("partials/recurrence_example");
  REQUIRE(blocks.size() == 2);
  const auto path = bench.compile("#include <cmath>\n#include <cstdint>\nusing std::int64_t;\n" + blocks[0] +
                                  "extern \"C\" " + blocks[1]);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto* recur = reinterpret_cast<const float* (*)(const float*, float**, std::int64_t, std::int64_t, int)>(
      ::dlsym(library, "recur"));
  REQUIRE(recur != nullptr);

  constexpr std::int64_t k_units = 37;
  constexpr std::int64_t k_steps = 25;
  std::vector<float> weights(k_units * k_units);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.2f * std::sin(static_cast<float>(7 * i));
  std::vector<double> state(k_units, 0.5);
  for (std::int64_t t = 0; t < k_steps; ++t) {
    auto next = state;
    for (std::int64_t i = 0; i < k_units; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < k_units; ++k) sum += weights[i * k_units + k] * state[k];
      next[i] = std::tanh(sum);
    }
    state = next;
  }
  for (const int threads : {1, 2, 3}) {
    std::vector<float> first(k_units, 0.5f);
    std::vector<float> second(k_units, NAN);
    std::array<float*, 2> buffers{first.data(), second.data()};
    const float* last = recur(weights.data(), buffers.data(), k_units, k_steps, threads);
    double worst = 0;
    for (std::int64_t i = 0; i < k_units; ++i) worst = std::max(worst, std::abs(last[i] - state[i]));
    CHECK(worst < 1e-4);
  }
}
