// Tests of the command line, key and errors of the compiler for HipKittens candidates, with a fake process runner.

#include <algorithm>
#include <filesystem>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

/// hipcc, which answers questions with nothing and compiles with a given log.
class FakeHipcc final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    if (std::find(request.command.begin(), request.command.end(), "-shared") == request.command.end()) return outcome;
    last = request.command;
    const auto report = std::find(last.begin(), last.end(), "--report");
    write_file_atomic(*(report + 1), "isolation 703\n").value();
    if (log.empty()) write_file_atomic(fs::path(request.working_directory) / "candidate.so", "binary").value();
    outcome.exit_code = log.empty() ? 0 : 1;
    outcome.standard_error = log;
    return outcome;
  }

  std::vector<std::string> last;
  std::string log;
};

class KittensBench {
 public:
  KittensBench() {
    for (const char* file : {"abi/kernelgen/abi.h", "rocm/bin/hipcc", "checkout/include/kittens.cuh"}) {
      make_directories((path() / file).parent_path()).value();
      write_file_atomic(path() / file, file, {.mode = 0755}).value();
    }
    options.root = (path() / "checkout").string();
    options.hip.hipcc = (path() / "rocm/bin/hipcc").string();
    options.hip.architecture = "gfx942";
    options.hip.abi_dir = (path() / "abi").string();
    options.hip.output_dir = (path() / "out").string();
    options.hip.sandbox = "/bin/sh";
    options.hip.environment = std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"}};
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  [[nodiscard]] fs::path header() const { return path() / "checkout/include/kittens.cuh"; }
  Result<CompileOutcome> compile(Target target = Target::Hipkittens) { return make()->compile(request(target), {}); }
  Result<CompileKey> key() { return make()->key(request(Target::Hipkittens), {}); }
  [[nodiscard]] bool command_has(const std::string& word) const {
    return std::find(hipcc.last.begin(), hipcc.last.end(), word) != hipcc.last.end();
  }
  /// The errors of the key and of the compilation, which are equal.
  Error refusal() {
    const auto refused = compile();
    const auto no_key = key();
    REQUIRE_FALSE(refused);
    REQUIRE_FALSE(no_key);
    CHECK(no_key.error().message == refused.error().message);
    CHECK(hipcc.last.empty());
    return refused.error();
  }

  HipkittensCompilerOptions options;
  FakeHipcc hipcc;

 private:
  static CompileRequest request(Target target) {
    return {.candidate = make_candidate(target, "#include \"kittens.cuh\"\nint x;\n")};
  }
  std::unique_ptr<KernelCompiler> make() { return make_hipkittens_compiler(options, hipcc).value(); }

  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
};

}  // namespace

TEST_CASE("a HipKittens candidate is compiled with the checkout and the macro of its architecture",
          "[compile][hipkittens]") {
  KittensBench bench;
  for (const auto& [architecture, macro] :
       {std::pair("gfx942", "-DKITTENS_CDNA3"), std::pair("gfx950", "-DKITTENS_CDNA4")}) {
    INFO(architecture);
    bench.options.hip.architecture = architecture;
    const auto compiled = std::get<Compiled>(bench.compile().value());
    CHECK(compiled.artifact.target == Target::Hipkittens);
    for (const auto& word :
         {std::string(macro), std::string("-std=c++20"), std::string("candidate.hip"),
          "--offload-arch=" + std::string(architecture), "-I" + bench.header().parent_path().string()}) {
      INFO(word);
      CHECK(bench.command_has(word));
    }
    // The sandbox lets the compiler read the headers, and no more of the checkout.
    CHECK(bench.command_has(bench.header().parent_path().string()));
    CHECK_FALSE(bench.command_has(bench.options.root));
  }
}

TEST_CASE("the checkout of HipKittens may be named by a variable", "[compile][hipkittens]") {
  KittensBench bench;
  (*bench.options.hip.environment)["HIPKITTENS_ROOT"] = std::exchange(bench.options.root, "");
  REQUIRE(bench.compile());
  CHECK(bench.command_has("-I" + bench.header().parent_path().string()));
}

TEST_CASE("the key of a HipKittens candidate has the headers of the checkout", "[compile][hipkittens]") {
  KittensBench bench;
  const auto before = bench.key().value();
  CHECK(before.text.find("hipkittens.headers ") != std::string::npos);
  write_file_atomic(bench.header(), "changed").value();
  CHECK(bench.key().value().text != before.text);
}

TEST_CASE("without a checkout of HipKittens, the error says what to set", "[compile][hipkittens]") {
  KittensBench bench;
  bench.options.root.clear();
  const auto error = bench.refusal();
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK_THAT(error.message, Catch::StartsWith("no checkout of HipKittens is named: set HIPKITTENS_ROOT"));
}

TEST_CASE("a folder that is no checkout of HipKittens is named", "[compile][hipkittens]") {
  KittensBench bench;
  fs::remove(bench.header());
  const auto error = bench.refusal();
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK_THAT(error.message,
             Catch::StartsWith("there is no include/kittens.cuh in '" + bench.options.root + "': set HIPKITTENS_ROOT"));
}

TEST_CASE("an architecture without tiles of HipKittens is refused with those that have some", "[compile][hipkittens]") {
  KittensBench bench;
  for (const char* architecture : {"gfx90a", "gfx1100"}) {
    bench.options.hip.architecture = architecture;
    const auto error = bench.refusal();
    CHECK(error.code == ErrorCode::UnsuitableDevice);
    CHECK_THAT(error.message, Catch::StartsWith("HipKittens has no tiles for " + std::string(architecture)));
    CHECK_THAT(error.message, Catch::Contains("gfx942 (CDNA 3) and gfx950 (CDNA 4)"));
  }
  bench.options.hip.architecture = "sm_90";
  CHECK(make_hipkittens_compiler(bench.options, bench.hipcc).error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a checkout without headers for the architecture is not the candidate's fault", "[compile][hipkittens]") {
  KittensBench bench;
  bench.hipcc.log = bench.header().string() + ":8:10: fatal error: 'cdna4/includes.cuh' file not found\n";
  const auto refused = bench.compile();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK_THAT(refused.error().message,
             Catch::Contains("has no headers for gfx942 ('cdna4/includes.cuh' file not found)"));
  // One that the candidate includes is.
  bench.hipcc.log = "candidate.hip:1:10: fatal error: 'torch.h' file not found\n";
  const auto outcome = bench.compile().value();
  CHECK(std::get<CompileFailed>(outcome).outcome.to_class() == "compile:missing_header");
}

TEST_CASE("a compiler that is too old for the architecture is not the candidate's fault", "[compile][hipkittens]") {
  KittensBench bench;
  bench.hipcc.log = "clang: error: invalid target ID 'gfx942'; format is a processor name\n";
  const auto refused = bench.compile();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK_THAT(refused.error().message, Catch::Contains("this ROCm does not know gfx942"));
}

TEST_CASE("amdclang++ is told to link HIP's runtime, and hipcc does it by itself", "[compile][hipkittens]") {
  KittensBench bench;
  REQUIRE(bench.compile());
  CHECK_FALSE(bench.command_has("--hip-link"));
  const auto clang = bench.path() / "rocm/lib/llvm/bin/amdclang++";
  make_directories(clang.parent_path()).value();
  write_file_atomic(clang, "clang", {.mode = 0755}).value();
  bench.options.hip.hipcc = clang.string();
  REQUIRE(bench.compile());
  CHECK(bench.command_has("--hip-link"));
  // Headers and device libraries of the toolkit are visible, not only LLVM.
  CHECK(bench.command_has((bench.path() / "rocm").string()));
}

TEST_CASE("the compiler for HipKittens takes no plain HIP", "[compile][hipkittens]") {
  KittensBench bench;
  CHECK(bench.compile(Target::Hip).error().code == ErrorCode::Unsupported);
}
