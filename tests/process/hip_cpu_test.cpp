// HIP on the CPU: the real C++ compiler, and kernels that check themselves or fail on purpose.

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include <kernelgen/compile/local_compiler.hpp>

#include "compile/clang_search.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_headers = KERNELGEN_HIP_CPU;

class HipBench {
 public:
  HipBench() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {}

  [[nodiscard]] HipCpuCompilerOptions options() const {
    return {.headers_dir = k_headers,
            .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
            .output_dir = (directory_.path() / "out").string(),
            .sandbox = KERNELGEN_SANDBOX};
  }
  CompileOutcome compile(const std::string& source, int lanes = 64, const std::string& driver = "") {
    auto chosen = options();
    chosen.compiler = driver;
    auto compiler = make_hip_cpu_compiler(chosen, *runner).value();
    return compiler
        ->compile(
            {.candidate = make_candidate(Target::Hip, source), .extra_flags = {hip_wave_flag(lanes)}, .timeout = 120s},
            {})
        .value();
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  std::unique_ptr<ProcessRunner> runner = make_process_runner();

 private:
  TemporaryDirectory directory_;
};

std::string kernels(const std::string& name) {
  return read_file(KERNELGEN_SOURCE_DIR "/tests/process/hip/kernels/" + name, 1u << 20).value();
}

/// A compiled source of kernels, loaded into this process.
class Loaded {
 public:
  Loaded(HipBench& bench, const std::string& name, int lanes, const std::string& driver = "") {
    const auto outcome = bench.compile(kernels(name), lanes, driver);
    if (const auto* failed = std::get_if<CompileFailed>(&outcome)) FAIL(failed->report.log);
    library_ = ::dlopen(std::get<Compiled>(outcome).artifact.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library_ != nullptr);
  }
  Loaded(const Loaded&) = delete;
  Loaded& operator=(const Loaded&) = delete;
  ~Loaded() { ::dlclose(library_); }

  int call(const char* name) {
    auto* function = reinterpret_cast<int (*)()>(::dlsym(library_, name));
    REQUIRE(function != nullptr);
    return function();
  }
  /// The message of a launch that fails.
  std::string failure(const char* name) {
    auto* function = reinterpret_cast<void (*)(char*)>(::dlsym(library_, name));
    REQUIRE(function != nullptr);
    std::string message(1000, '\0');
    function(message.data());
    return message.c_str();
  }

 private:
  void* library_ = nullptr;
};

CompileFailed refused_by(const std::string& driver, const std::string& kernel) {
  HipBench bench;
  const auto outcome = bench.compile("#include <hip/hip_runtime.h>\n" + kernel, 64, driver);
  REQUIRE(std::holds_alternative<CompileFailed>(outcome));
  return std::get<CompileFailed>(outcome);
}
CompileFailed refused(const std::string& kernel) { return refused_by("", kernel); }

bool contains_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("the CPU executes hip kernels with both sizes of wavefronts", "[compile][hip]") {
  const int lanes = GENERATE(64, 32);
  HipBench bench;
  Loaded loaded(bench, "sound.hip", lanes);
  CHECK(loaded.call("wave_size") == lanes);
  for (const char* name : {"vector_add", "lds_reduction", "tiled_matmul", "dynamic_lds", "shuffles", "lanes",
                           "data_parallel_moves", "divergence", "cooperative_tiles", "atomics", "sixteen_bits",
                           "symbols", "grid_barrier", "blocks_that_count", "block_votes", "forms"}) {
    INFO(name);
    CHECK(loaded.call(name) == 0);
  }
}

TEST_CASE("the CPU executes hip kernels that g++ builds", "[compile][hip]") {
  HipBench bench;
  Loaded loaded(bench, "sound.hip", 64, "c++");
  for (const char* name : {"lds_reduction", "shuffles", "divergence", "grid_barrier", "block_votes"}) {
    INFO(name);
    CHECK(loaded.call(name) == 0);
  }
}

TEST_CASE("the CPU executes hip kernels with vectors of clang, or says that clang is missing", "[compile][hip]") {
  HipBench bench;
  const auto source = kernels("vectors.hip");
  auto clang = ClangSearch(current_environment(), *bench.runner).find({}).value();
  const std::string other = "c++";
  if (clang) {
    Loaded loaded(bench, "vectors.hip", 64, *clang);
    CHECK(loaded.call("swizzles") == 0);
    CHECK(loaded.call("half_vectors") == 0);
    CHECK(loaded.call("lds_of_vectors") == 0);
  }
  if (clang == find_program(other, current_environment()).value()) return;
  auto chosen = bench.options();
  chosen.compiler = other;
  const auto refused = make_hip_cpu_compiler(chosen, *bench.runner)
                           .value()
                           ->compile({.candidate = make_candidate(Target::Hip, source), .timeout = 120s}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK(contains_text(refused.error().message, "this hip kernel uses ext_vector_type, which clang has"));
  CHECK(contains_text(refused.error().message, "install clang 15 or newer"));
}

TEST_CASE("a hip launch that cannot end says why", "[compile][hip]") {
  HipBench bench;
  Loaded loaded(bench, "failing.hip", 64);
  const auto check = [&](const char* name, const char* expected) {
    const auto message = loaded.failure(name);
    INFO(name << ": " << message);
    CHECK(contains_text(message, expected));
    CHECK(loaded.call("works_again") == 64);
  };
  check("divergent_barrier",
        "threads of a block wait at different barriers: thread 31 in line 26, thread 32 in line 28");
  check("missed_barrier",
        "50 of 64 threads wait at the barrier in line 37, and the others never come (14 have returned)");
  check("missed_grid_barrier", "4 of 8 threads wait at the barrier of the grid in line 44");
  check("grid_barrier_without_cooperation", "a grid is synchronized in a launch that is not cooperative");
  check("mask_with_absent_lanes", "the mask names lane 8 of a wavefront, which does not come here");
  check("endless_wait", "all threads wait for memory to change");
  check("trap", "the kernel called a trap");
  check("launch_in_a_kernel", "a kernel cannot launch a kernel");
}

TEST_CASE("a hip launch beyond the limits of a device is refused", "[compile][hip]") {
  HipBench bench;
  Loaded loaded(bench, "failing.hip", 64);
  CHECK(contains_text(loaded.failure("too_much_static_lds"), "a block uses 80000 bytes of LDS"));
  CHECK(loaded.failure("much_lds_in_several_kernels").empty());
  CHECK(contains_text(loaded.failure("too_much_dynamic_lds"), "70000 bytes of dynamic LDS"));
  CHECK(contains_text(loaded.failure("too_many_threads"), "a block of 2048 threads"));
  CHECK(contains_text(loaded.failure("empty_grid"), "a grid of (0, 1, 1) blocks"));
}

TEST_CASE("mistakes that luck may hide on a device show on the CPU", "[compile][hip]") {
  HipBench bench;
  Loaded loaded(bench, "failing.hip", 64);
  CHECK(loaded.call("missing_barrier") > 0);
  CHECK(loaded.call("missing_barrier_that_order_hides") > 0);
  CHECK(loaded.call("uninitialized_lds") == 32);
  CHECK(loaded.call("value_of_an_absent_lane") == 16);
}

TEST_CASE("matrix instructions and assembly are refused in one line", "[compile][hip]") {
  const std::string driver = GENERATE("", "c++");
  const auto refused = [&](const std::string& kernel) { return refused_by(driver, kernel); };
  const auto matrix = refused(
      "typedef float v4 __attribute__((ext_vector_type(4)));\n"
      "__global__ void k(float* x) { v4 a = {}; a = __builtin_amdgcn_mfma_f32_16x16x4f32(x[0], x[1], a, 0, 0, 0); }\n");
  CHECK(matrix.outcome.to_class() == "compile:unsupported");
  CHECK(
      matrix.outcome.message ==
      "candidate.hip:3: __builtin_amdgcn_mfma_f32_16x16x4f32 is not executed on the CPU: this kernel needs an AMD GPU");
  const auto other = refused(
      "template <class T> __global__ void k(T* x) { x[0] = __builtin_amdgcn_s_getreg(x[1]); }\n"
      "void f(int* x) { k<<<1, 1>>>(x); }\n");
  CHECK(other.outcome.to_class() == "compile:unsupported");
  CHECK(contains_text(other.outcome.message, "candidate.hip:2: __builtin_amdgcn_s_getreg is not executed on the CPU"));
  const auto assembly = refused("__global__ void k() {\n  asm volatile(\"s_nop 0\");\n}\n");
  CHECK(assembly.outcome.to_class() == "compile:unsupported");
  CHECK(contains_text(assembly.outcome.message, "inline assembly of a device is not executed on the CPU"));
  REQUIRE_FALSE(assembly.report.diagnostics.empty());
  CHECK(assembly.report.diagnostics.front().file == "candidate.hip");
  CHECK(assembly.report.diagnostics.front().line == 3);
}

TEST_CASE("hip sources of all kinds compile for the CPU", "[compile][hip]") {
  HipBench bench;
  for (const auto& file : fs::directory_iterator(KERNELGEN_SOURCE_DIR "/tests/data/detect")) {
    if (file.path().extension() != ".hip") continue;
    INFO(file.path());
    const auto source = read_file(file.path(), 1u << 20).value();
    const auto outcome = bench.compile(source);
    const auto* failed = std::get_if<CompileFailed>(&outcome);
    if (!contains_text(source, "__builtin_amdgcn_mfma_")) {
      CHECK(failed == nullptr);
    } else {
      REQUIRE(failed != nullptr);
      CHECK(failed->outcome.to_class() == "compile:unsupported");
      CHECK(contains_text(failed->outcome.message, "__builtin_amdgcn_mfma_"));
    }
  }
}

TEST_CASE("a launch by a void pointer is refused with its reason", "[compile][hip]") {
  const auto failed = refused(
      "__global__ void k(int) {}\nvoid f(void** a) { void* p = (void*)k; (void)hipLaunchKernel(p, dim3(1), dim3(1), a, "
      "0, "
      "nullptr); }\n");
  CHECK(contains_text(failed.outcome.message, "needs the kernel itself, not a void pointer"));
}

TEST_CASE("an error in a hip kernel names the line of its source", "[compile][hip]") {
  const auto failed = refused("__global__ void k(float* x) {\n  x[0] = y;\n}\nvoid f() { k<<<1,\n  2>>>(nullptr); }\n");
  CHECK(failed.outcome.to_class() == "compile:undeclared_identifier");
  CHECK(failed.report.diagnostics.front().line == 3);
  CHECK(failed.report.diagnostics.front().source_line == "x[0] = y;");
}

TEST_CASE("the key of a hip build holds the headers and the size of a wavefront", "[compile][hip]") {
  HipBench bench;
  const auto candidate = make_candidate(Target::Hip, kernels("failing.hip"));
  const auto key = [&](const std::string& headers, int lanes) {
    auto options = bench.options();
    options.headers_dir = headers;
    auto compiler = make_hip_cpu_compiler(options, *bench.runner).value();
    return compiler->key({.candidate = candidate, .extra_flags = {hip_wave_flag(lanes)}}, {}).value().digest;
  };
  CHECK(key(k_headers, 64) == key(k_headers, 64));
  CHECK(key(k_headers, 64) != key(k_headers, 32));
  const auto changed = bench.path() / "headers";
  fs::copy(k_headers, changed, fs::copy_options::recursive);
  CHECK(key(changed.string(), 64) == key(k_headers, 64));
  write_file_atomic(changed / "kgen_hip" / "more.h", "").value();
  CHECK(key(changed.string(), 64) != key(k_headers, 64));
}

TEST_CASE("a compiler of hip for the CPU needs its headers", "[compile][hip]") {
  HipBench bench;
  auto options = bench.options();
  options.headers_dir = bench.path().string();
  const auto made = make_hip_cpu_compiler(options, *bench.runner);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ErrorCode::NotFound);
  options.other_compiler.clear();
  CHECK(make_hip_cpu_compiler(options, *bench.runner).error().code == ErrorCode::InvalidArgument);
}
