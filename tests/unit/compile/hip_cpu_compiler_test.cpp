// Tests of the compiler that builds HIP for the processor: its choice among compilers, and its errors. Nothing is
// compiled.

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/clang_search.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Compilers that answer as they are told.
class FakeCompilers final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    const auto& command = request.command;
    if (has_word(command, "-fsyntax-only")) {
      ++probes;
      if (probe_hangs) {
        outcome.exit_code.reset();
        outcome.timed_out = true;
        return outcome;
      }
      outcome.exit_code = suited.contains(fs::path(command.front()).filename().string()) ? 0 : 1;
    } else if (has_word(command, "--version")) {
      outcome.standard_output = "version of " + fs::path(command.front()).filename().string() + "\n";
    } else if (has_word(command, "-shared")) {
      last = command;
      write_file_atomic(*(std::find(last.begin(), last.end(), "--report") + 1), "isolation 703\n").value();
      if (log.empty()) write_file_atomic(fs::path(request.working_directory) / "candidate.so", "binary").value();
      outcome.exit_code = log.empty() ? 0 : 1;
      outcome.standard_error = log;
    }
    return outcome;
  }

  /// Names of compilers that take clang's vectors.
  std::set<std::string> suited;
  bool probe_hangs = false;
  int probes = 0;
  std::vector<std::string> last;
  std::string log;
};

constexpr const char* k_plain = "__global__ void k(float* x) { x[0] = 1; }\n";
constexpr const char* k_vectors =
    "typedef float v4 __attribute__((ext_vector_type(4)));\n__global__ void k(v4* x) {}\n";

class HipCpuBench {
 public:
  HipCpuBench() {
    for (const char* file : {"abi/kernelgen/abi.h", "hip/hip/hip_runtime.h"}) add(file);
    add("bin/c++");
    options = {.headers_dir = (path() / "hip").string(),
               .abi_dir = (path() / "abi").string(),
               .output_dir = (path() / "out").string(),
               .sandbox = "/bin/sh",
               .environment = std::map<std::string, std::string>{{"PATH", (path() / "bin").string()}}};
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  void add(const std::string& file) {
    make_directories((path() / file).parent_path()).value();
    write_file_atomic(path() / file, file, {.mode = 0755}).value();
  }
  Result<CompileOutcome> compile(const std::string& source) {
    return make()->compile({.candidate = make_candidate(Target::Hip, source)}, {});
  }
  std::string key() { return make()->key({.candidate = make_candidate(Target::Hip, k_plain)}, {}).value().text; }
  /// The name of the compiler that is started.
  std::string used() {
    REQUIRE(compile(k_plain));
    const auto flag = std::find(compilers.last.begin(), compilers.last.end(), options.flags.front());
    REQUIRE(flag != compilers.last.end());
    return fs::path(*(flag - 1)).lexically_relative(path()).string();
  }
  /// Like the refusal of a source by the compiler.
  CompileFailed refused(const std::string& source, const std::string& log) {
    compilers.log = log;
    return std::get<CompileFailed>(compile(source).value());
  }

  HipCpuCompilerOptions options;
  FakeCompilers compilers;

 private:
  std::unique_ptr<KernelCompiler> make() { return make_hip_cpu_compiler(options, compilers).value(); }

  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
};

}  // namespace

TEST_CASE("hip for the CPU is built by a clang++ that takes all of it", "[compile][hip]") {
  HipCpuBench bench;
  bench.compilers.suited = {"clang++", "clang++-15", "clang++-19"};
  SECTION("clang++ of the PATH") {
    for (const char* name : {"bin/clang++", "bin/clang++-19"}) bench.add(name);
    CHECK(bench.used() == "bin/clang++");
  }
  SECTION("the newest, where clang++ is an old one") {
    bench.compilers.suited.erase("clang++");
    for (const char* name : {"bin/clang++", "bin/clang++-15", "bin/clang++-19"}) bench.add(name);
    CHECK(bench.used() == "bin/clang++-19");
  }
  SECTION("that of ROCM_PATH before all others") {
    for (const char* name : {"bin/clang++", "rocm/llvm/bin/clang++"}) bench.add(name);
    bench.options.environment->emplace("ROCM_PATH", (bench.path() / "rocm").string());
    CHECK(bench.used() == "rocm/llvm/bin/clang++");
  }
  SECTION("flags that only g++ knows are left out") {
    fs::create_symlink(bench.path() / "bin/clang++-19", bench.path() / "bin/clang++");
    bench.add("bin/clang++-19");
    CHECK(bench.used() == "bin/clang++");
    CHECK_FALSE(has_word(bench.compilers.last, "-fno-reorder-blocks"));
    // It would warn, and the warning would be the first diagnostic.
    CHECK_FALSE(has_word(bench.compilers.last, "-fmax-errors=50"));
  }
}

TEST_CASE("without such a clang++, the C++ compiler builds hip for the CPU", "[compile][hip]") {
  HipCpuBench bench;
  CHECK(bench.used() == "bin/c++");
  bench.add("bin/clang++");
  CHECK(bench.used() == "bin/c++");
  CHECK(has_word(bench.compilers.last, "-fno-reorder-blocks"));
  bench.add("bin/g++-13");
  bench.options.other_compiler = "g++-13";
  CHECK(bench.used() == "bin/g++-13");
}

TEST_CASE("a compiler of hip for the CPU that is named is used", "[compile][hip]") {
  HipCpuBench bench;
  bench.compilers.suited = {"clang++"};
  bench.add("bin/clang++");
  bench.options.compiler = "c++";
  CHECK(bench.used() == "bin/c++");
}

TEST_CASE("without any compiler, hip for the CPU says what to install", "[compile][hip]") {
  HipCpuBench bench;
  fs::remove(bench.path() / "bin/c++");
  const auto refused = bench.compile(k_plain);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK_THAT(refused.error().message, Catch::Contains("install a C++ compiler"));
}

TEST_CASE("the key of a hip build names the compiler", "[compile][hip]") {
  HipCpuBench bench;
  CHECK_THAT(bench.key(), Catch::Contains("compiler.version version of c++\n"));
  bench.compilers.suited = {"clang++-15"};
  bench.add("bin/clang++-15");
  CHECK_THAT(bench.key(), Catch::Contains("compiler.version version of clang++-15\n"));
}

TEST_CASE("a hip kernel that only clang takes is not to blame where only g++ is there", "[compile][hip]") {
  HipCpuBench bench;
  bench.compilers.log = "candidate.hip:1:1: error: could not convert something\n";
  const auto refused = bench.compile(k_vectors);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK(refused.error().message ==
        "this hip kernel uses ext_vector_type, which clang has and " + (bench.path() / "bin/c++").string() +
            " does not: install clang 15 or newer (Debian and Ubuntu: apt install clang-15), "
            "or ROCm");
}

TEST_CASE("a hip kernel that no compiler takes is refused", "[compile][hip]") {
  HipCpuBench bench;
  SECTION("by g++, without words of clang") {
    const auto failed = bench.refused(k_plain, "candidate.hip:1:1: error: 'y' was not declared in this scope\n");
    CHECK(failed.outcome.to_class() == "compile:undeclared_identifier");
  }
  SECTION("by clang++, with words of clang") {
    bench.compilers.suited = {"clang++"};
    bench.add("bin/clang++");
    const auto failed = bench.refused(k_vectors, "candidate.hip:1:1: error: use of undeclared identifier 'y'\n");
    CHECK(failed.outcome.to_class() == "compile:undeclared_identifier");
  }
  SECTION("by g++, because the CPU does not execute it") {
    const auto failed = bench.refused(
        k_vectors,
        "candidate.hip:2:1: error: static assertion failed: __builtin_amdgcn_mfma_f32_4x4x1f32 is not executed on the "
        "CPU: this kernel needs an AMD GPU\n");
    CHECK(failed.outcome.to_class() == "compile:unsupported");
  }
}

TEST_CASE("what the CPU does not execute is named in the words of neither compiler", "[compile][hip]") {
  HipCpuBench bench;
  const std::string told = "__builtin_amdgcn_x is not executed on the CPU: this kernel needs an AMD GPU";
  for (const auto& log : {"error: static assertion failed: " + told,
                          "error: static_assert failed due to requirement 'kgen_hip::k_never<int>' \"" + told + "\"",
                          "error: static assertion failed due to requirement 'kgen_hip::k_never<int>': " + told}) {
    INFO(log);
    const auto failed = bench.refused(k_plain, "candidate.hip:1:9: " + log + "\n");
    CHECK(failed.outcome.to_class() == "compile:unsupported");
    CHECK(failed.outcome.message == "candidate.hip:1: " + told);
  }
  const auto other = bench.refused(k_plain, "candidate.hip:1:9: error: #error it is not executed on the CPU\n");
  CHECK(other.outcome.message == "candidate.hip:1: #error it is not executed on the CPU");
}

TEST_CASE("libraries that a compiler of hip for the CPU lacks are no fault of the kernel", "[compile][hip]") {
  HipCpuBench bench;
  const auto [log, advice] = GENERATE(table<std::string, std::string>(
      {{"/usr/bin/ld: cannot find -lstdc++: No such file or directory\n", "install that library of the compiler"},
       {"ld.lld: error: unable to find library -lm\n", "install that library of the compiler"},
       {"ld: /tmp/x.o: undefined reference to `__truncdfhf2'\n", "install libgcc 12 or newer"}}));
  bench.compilers.log = log;
  const auto refused = bench.compile(k_plain);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK_THAT(refused.error().message, Catch::Contains(advice));
}

TEST_CASE("a compiler is asked once for clang's vectors", "[compile][hip]") {
  HipCpuBench bench;
  bench.compilers.suited = {"clang++"};
  bench.add("bin/clang++");
  const auto clang = (bench.path() / "bin/clang++").string();
  ClangSearch search(*bench.options.environment, bench.compilers);
  CHECK(search.find({}).value() == clang);
  CHECK(search.find({}).value() == clang);
  CHECK(bench.compilers.probes == 1);
  SECTION("until its file is replaced") {
    bench.compilers.suited.clear();
    fs::remove(clang);
    bench.add("bin/clang++");
    write_file_atomic(clang, "an older one", {.mode = 0755}).value();
    CHECK_FALSE(search.find({}).value());
  }
  SECTION("but again if it did not answer in time") {
    bench.add("bin/clang++-19");
    bench.compilers.probe_hangs = true;
    const auto other = (bench.path() / "bin/clang++-19").string();
    CHECK_FALSE(search.takes_vectors(other, {}).value());
    bench.compilers.probe_hangs = false;
    bench.compilers.suited = {"clang++-19"};
    CHECK(search.takes_vectors(other, {}).value());
  }
}

TEST_CASE("a search for clang++ ends when it is cancelled", "[compile][hip]") {
  HipCpuBench bench;
  bench.add("bin/clang++");
  ClangSearch search(*bench.options.environment, bench.compilers);
  std::stop_source stop;
  stop.request_stop();
  const auto found = search.find(stop.get_token());
  REQUIRE_FALSE(found);
  CHECK(found.error().code == ErrorCode::Cancelled);
}
