// The code in prompts: it compiles like candidates do, and the recurrence described as correct is correct.

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

/// The fenced blocks of a template. Their code has no tags, so models see the text of the file.
std::vector<std::string> blocks_of(const std::string& name) {
  const auto text = read_file(KERNELGEN_SOURCE_DIR "/lib/prompt/templates/" + name + ".mustache").value();
  std::vector<std::string> blocks;
  for (auto& block : find_fences(text).blocks) blocks.push_back(std::move(block.content));
  return blocks;
}

/// The block of a template that contains this text.
std::string block_with(const std::string& name, const std::string& part) {
  std::vector<std::string> found;
  for (auto& block : blocks_of(name))
    if (block.find(part) != block.npos) found.push_back(std::move(block));
  INFO(part);
  REQUIRE(found.size() == 1);
  return found.front();
}

const std::string k_recurrence = "partials/recurrence_example";

/// Enough of a GPU to run kernels with one thread per block: blocks are threads, and the grid's barrier is a real one.
/// Without a cooperative launch, blocks may as well run one after the other, in any order.
const std::string k_device = R"(
#include <pthread.h>
#include <cmath>
#include <thread>
#include <vector>
#define __global__
#define __hip_atomic_load(pointer, order, scope) __atomic_load_n_float(pointer)
#define __hip_atomic_store(pointer, value, order, scope) (*(pointer) = (value))
struct Index { int x; };
static thread_local Index blockIdx, threadIdx;
static Index blockDim{1};
static pthread_barrier_t whole_grid;
static float __atomic_load_n_float(const float* pointer) { return *pointer; }
static float __ldcg(const float* pointer) { return *pointer; }
static void __syncthreads() {}
namespace cooperative_groups {
struct grid_group { void sync() const { pthread_barrier_wait(&whole_grid); } };
static grid_group this_grid() { return {}; }
}
)";
const std::string k_launches = R"(
extern "C" void together(const float* weights, float* states, int units, int steps) {
  pthread_barrier_init(&whole_grid, nullptr, static_cast<unsigned>(units));
  std::vector<std::jthread> blocks;
  for (int i = 0; i < units; ++i)
    blocks.emplace_back([=] {
      blockIdx.x = i;
      recur(weights, states, units, steps);
    });
}
)";
const std::string k_launches_in_order = R"(
extern "C" void in_order(const float* weights, float* state, int units, int steps) {
  for (blockIdx.x = 0; blockIdx.x < units; ++blockIdx.x) recur_wrong(weights, state, units, steps);
}
extern "C" void in_reverse_order(const float* weights, float* state, int units, int steps) {
  for (blockIdx.x = units - 1; blockIdx.x >= 0; --blockIdx.x) recur_wrong(weights, state, units, steps);
}
)";

/// A small recurrence and its result, computed step by step in double.
struct Steps {
  static constexpr int k_units = 37;
  static constexpr int k_steps = 7;

  Steps() {
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = 0.4f * std::sin(static_cast<float>(7 * i));
    for (int t = 0; t < k_steps; ++t) {
      auto next = expected;
      for (int i = 0; i < k_units; ++i) {
        double sum = 0;
        for (int k = 0; k < k_units; ++k) sum += weights[i * k_units + k] * expected[k];
        next[i] = std::tanh(sum);
      }
      expected = next;
    }
  }

  [[nodiscard]] double error_of(const float* state) const {
    double worst = 0;
    for (int i = 0; i < k_units; ++i) worst = std::max(worst, std::abs(state[i] - expected[i]));
    return worst;
  }

  std::vector<float> weights = std::vector<float>(k_units * k_units);
  std::vector<float> first = std::vector<float>(k_units, 0.5f);
  std::vector<double> expected = std::vector<double>(k_units, 0.5);
};

/// Bound of a correct kernel's error; a kernel that mixes steps exceeds it.
constexpr double k_right = 1e-4;
constexpr double k_wrong = 1e-2;

template <class Function>
Function* load(const std::string& path, const char* name) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  INFO((library == nullptr ? ::dlerror() : ""));
  REQUIRE(library != nullptr);
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  REQUIRE(function != nullptr);
  return function;
}

class ExampleBench {
 public:
  /// Returns the path of the shared object.
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

TEST_CASE("the example of the kernel ABI compiles and is understood as a reply", "[compile][prompt][process]") {
  ExampleBench bench;
  const auto blocks = blocks_of("examples/cpp");
  REQUIRE(blocks.size() == 1);
  bench.compile(blocks.front());
  CHECK(extract_code({.text = "```cpp\n" + blocks.front() + "```\n"}, Target::Cpp).code == blocks.front());
}

TEST_CASE("the Python examples define what a reply must define", "[prompt][process]") {
  for (const auto& [name, target] : {std::pair{"triton", Target::Triton}, std::pair{"torch", Target::Torch}}) {
    const auto blocks = blocks_of(std::string("examples/") + name);
    REQUIRE_FALSE(blocks.empty());
    for (const auto& block : blocks)
      CHECK(extract_code({.text = "```python\n" + block + "```\n"}, target).code == block);
  }
}

TEST_CASE("of the recurrences in C++, the right one is right and the wrong one wrong", "[compile][prompt][process]") {
  ExampleBench bench;
  const std::string head = "#include <cmath>\n#include <cstdint>\nusing std::int64_t;\n";
  const auto right = bench.compile(head + "extern \"C\" " + block_with(k_recurrence, "const float* recur("));
  const auto wrong =
      bench.compile(head + "extern \"C\" " + block_with(k_recurrence, "float* state, int64_t units, int64_t steps"));
  auto* recur = load<const float*(const float*, float**, std::int64_t, std::int64_t, int)>(right, "recur");
  auto* recur_wrong = load<void(const float*, float*, std::int64_t, std::int64_t, int)>(wrong, "recur_wrong");
  const Steps task;
  for (const int threads : {1, 2, 3}) {
    auto first = task.first;
    std::vector<float> second(first.size(), NAN);
    std::array<float*, 2> buffers{first.data(), second.data()};
    CHECK(task.error_of(recur(task.weights.data(), buffers.data(), Steps::k_units, Steps::k_steps, threads)) < k_right);
  }
  // With one thread there is no race, but the steps are mixed all the same.
  auto state = task.first;
  recur_wrong(task.weights.data(), state.data(), Steps::k_units, Steps::k_steps, 1);
  CHECK(task.error_of(state.data()) > k_wrong);
}

TEST_CASE("of the recurrences for GPUs, the right ones are right in any order and the wrong one in none",
          "[compile][prompt][process]") {
  ExampleBench bench;
  using Launch = void(const float*, float*, int, int);
  const Steps task;
  for (const std::string part : {"__ldcg(", "__hip_atomic_load("}) {
    INFO(part);
    auto* together = load<Launch>(bench.compile(k_device + block_with(k_recurrence, part) + k_launches), "together");
    auto states = task.first;
    states.resize(2 * states.size(), NAN);
    together(task.weights.data(), states.data(), Steps::k_units, Steps::k_steps);
    CHECK(task.error_of(states.data() + Steps::k_steps % 2 * Steps::k_units) < k_right);
  }
  const auto wrong =
      bench.compile(k_device + block_with(k_recurrence, "__global__ void recur_wrong") + k_launches_in_order);
  for (const char* order : {"in_order", "in_reverse_order"}) {
    INFO(order);
    auto state = task.first;
    load<Launch>(wrong, order)(task.weights.data(), state.data(), Steps::k_units, Steps::k_steps);
    CHECK(task.error_of(state.data()) > k_wrong);
  }
}
