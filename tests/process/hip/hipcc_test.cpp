// The real hipcc, in the sandbox. Without a device, the results are inspected, not run.

#include <filesystem>
#include <string>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/hipcc.hpp"
#include "prompt/reply_text.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct Bench {
  TemporaryDirectory directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-hipcc-").value();
  std::unique_ptr<ProcessRunner> runner = make_process_runner();
  HipccCompilerOptions options{.architecture = "gfx90a",
                               .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
                               .output_dir = (directory.path() / "out").string(),
                               .sandbox = KERNELGEN_SANDBOX};

  Result<CompileOutcome> start(const std::string& source, std::chrono::milliseconds timeout = 300s) {
    return make_hipcc_compiler(options, *runner)
        .value()
        ->compile({.candidate = make_candidate(Target::Hip, source), .timeout = timeout}, {});
  }
  CompileOutcome compile(const std::string& source) { return start(source).value(); }
};

CompileFailed failed(const CompileOutcome& outcome) {
  REQUIRE(std::holds_alternative<CompileFailed>(outcome));
  return std::get<CompileFailed>(outcome);
}

Compiled compiled(const CompileOutcome& outcome) {
  if (const auto* refused = std::get_if<CompileFailed>(&outcome)) FAIL(refused->report.log);
  return std::get<Compiled>(outcome);
}

const std::string k_hip = "#include <hip/hip_runtime.h>\n";

}  // namespace

TEST_CASE("hipcc takes the code that prompts for hip show, and counts what it needs", "[hip][prompt]") {
  Bench bench;
  std::string source;
  for (const auto& block :
       find_fences(read_file(KERNELGEN_SOURCE_DIR "/lib/prompt/templates/examples/hip.mustache").value()).blocks)
    if (block.content.find("kgen_run") != std::string::npos) source += block.content;
  REQUIRE_FALSE(source.empty());
  for (const char* architecture : {"gfx908", "gfx90a", "gfx1030"}) {
    INFO(architecture);
    bench.options.architecture = architecture;
    const auto done = compiled(bench.compile(source));
    REQUIRE(done.report.kernels.size() == 1);
    CHECK(done.report.kernels.front().registers > 0);
    // What it counts is no diagnostic.
    for (const auto& one : done.report.diagnostics) CHECK(one.message.find("Rpass") == std::string::npos);
    const auto object = read_file(done.artifact.path).value();
    CHECK(object.find("kgen_run") != std::string::npos);
    CHECK(object.find(architecture) != std::string::npos);
  }
}

TEST_CASE("what hipcc refuses has its class", "[hip]") {
  const std::pair<const char*, const char*> cases[] = {
      {"compile:undeclared_identifier", "__global__ void k(float* x) { x[0] = foo; }"},
      {"compile:undeclared_identifier",
       "__global__ void k(float* x) { x[0] = __shfl_down_sync(0xffffffff, x[0], 2); }"},
      {"compile:redefinition", "__device__ int f() { return 1; } __device__ int f() { return 2; }"},
      {"compile:no_member", "__global__ void k(float4 v, float* x) { x[0] = v.q; }"},
      {"compile:missing_header", "#include <torch/extension.h>\nint x;"},
      {"compile:type", "__global__ void k(float* x) { int* p = x; }"},
      {"compile:syntax", "__global__ void k(float* x) { x[0] = 1 }"},
      {"compile:link:undefined_symbol", "int missing(); extern \"C\" int f() { return missing(); }"},
      {"syntax:not_code", "I am sorry, but I cannot help with that."},
  };
  Bench bench;
  for (const auto& [expected, source] : cases) {
    INFO(source);
    const auto outcome = failed(bench.compile(k_hip + source));
    INFO(outcome.report.log);
    CHECK(outcome.outcome.to_class() == expected);
    CHECK_FALSE(outcome.outcome.message.empty());
  }
}

TEST_CASE("an architecture that the compiler does not know is told with what helps", "[hip]") {
  Bench bench;
  bench.options.architecture = "gfx9ff";
  const auto refused = bench.start(k_hip + "__global__ void k(float* x) { x[0] = 1; }");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK(refused.error().message.find("gfx9ff") != std::string::npos);
  CHECK(refused.error().message.find("ROCM_PATH") != std::string::npos);
}

TEST_CASE("a text that is no architecture, and a hipcc that is not there, are errors", "[hip]") {
  Bench bench;
  bench.options.architecture = "sm_90";
  CHECK(make_hipcc_compiler(bench.options, *bench.runner).error().code == ErrorCode::InvalidArgument);
  bench.options.architecture = "gfx90a";
  bench.options.hipcc = "/nonexistent/hipcc";
  CHECK(bench.start(k_hip).error().code == ErrorCode::MissingTool);
  // What a variable names and is not there does not hide another hipcc.
  const auto other = find_hipcc("", {{"PATH", "/usr/bin:/bin"}, {"ROCM_PATH", "/nonexistent"}});
  if (fs::exists("/usr/bin/hipcc")) CHECK(other.value() == "/usr/bin/hipcc");
  const auto none = find_hipcc("", {{"PATH", "/nonexistent"}, {"ROCM_PATH", "/nonexistent"}});
  if (fs::exists("/opt/rocm/bin/hipcc")) return;
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::MissingTool);
  CHECK(none.error().message.find("ROCM_PATH") != std::string::npos);
}
