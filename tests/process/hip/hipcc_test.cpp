// The real hipcc, in the sandbox. Without a device, the results are inspected, not run.

#include <filesystem>
#include <optional>
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
  CHECK(refused.error().message.find("this ROCm does not know gfx9ff; set ROCM_PATH to a newer ROCm") !=
        std::string::npos);
}

TEST_CASE("what hipcc lacks is known before anything is compiled", "[hip]") {
  Bench bench;
  const auto hipcc = find_hipcc("", current_environment()).value();
  const auto check = [&](const char* architecture, const std::map<std::string, std::string>& more) {
    auto environment = clean_environment(current_environment());
    for (const auto& [name, value] : more) environment[name] = value;
    const auto done = bench.runner->run(
        {.command = hipcc_check(hipcc, architecture), .environment = environment, .timeout = 60s}, {});
    const auto problem = explain_hipcc(done.value().standard_error, architecture);
    return problem ? problem->what : std::string("nothing");
  };
  CHECK(check("gfx90a", {}) == "nothing");
  CHECK(check("gfx9ff", {}) == "this ROCm does not know gfx9ff");
  // Variables of AMD's compilers; each version knows one of them.
  CHECK(check("gfx90a", {{"HIP_DEVICE_LIB_PATH", "/nonexistent"}, {"DEVICE_LIB_PATH", "/nonexistent"}}) ==
        "it has no device libraries");
  const auto version = bench.runner->run(
      {.command = {hipcc, "--version"}, .environment = clean_environment(current_environment()), .timeout = 60s}, {});
  CHECK(parse_rocm_release(version.value().standard_output).first >= 5);
}

TEST_CASE("clang under the name of amdclang++ compiles HIP, and links its runtime", "[hip]") {
  // Debian's hipcc calls this clang, which AMD's packages call amdclang++.
  const fs::path clang = "/usr/bin/clang++-15";
  if (!fs::exists(clang)) SUCCEED("there is no " + clang.string());
  if (!fs::exists(clang)) return;
  Bench bench;
  const auto named = bench.directory.path() / "bin/amdclang++";
  make_directories(named.parent_path()).value();
  fs::create_symlink(clang, named);
  bench.options.hipcc = named.string();
  // Debian's clang does not look where Debian's packages are.
  for (const char* flag : {"--rocm-path=/usr", "--rocm-device-lib-path=/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"})
    bench.options.flags.emplace_back(flag);
  const auto done =
      compiled(bench.compile(k_hip + "__global__ void k(float* x) { x[0] = 1; }\n"
                                     "extern \"C\" int f(float* x) { k<<<1, 1>>>(x); return hipGetLastError(); }"));
  CHECK(read_file(done.artifact.path).value().find("libamdhip64.so") != std::string::npos);
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

namespace {

/// A compiler that knows gfx942: hipcc itself, else a clang++ that Debian has beside an older one.
std::optional<HipccCompilerOptions> options_for_gfx942(const Bench& bench) {
  auto options = bench.options;
  options.architecture = "gfx942";
  options.flags = {"-O3", "-std=c++20"};
  const auto knows = [&] {
    const auto done = make_hipcc_compiler(options, *bench.runner)
                          .value()
                          ->compile({.candidate = make_candidate(Target::Hip, k_hip + "int x;")}, {});
    return done && std::holds_alternative<Compiled>(*done);
  };
  if (knows()) return options;
  for (const char* clang : {"/usr/bin/clang++-19", "/usr/bin/clang++-18", "/usr/bin/clang++-17"}) {
    if (!fs::exists(clang)) continue;
    options.hipcc = clang;
    options.flags = {"-O3", "-std=c++20", "--rocm-path=/usr", "-nogpulib", "-mcode-object-version=4", "--hip-link"};
    // Debian has the bundler that clang needs in another package, of which hipcc brings an older version.
    options.environment = current_environment();
    (*options.environment)["PATH"] = "/usr/lib/llvm-15/bin:" + (*options.environment)["PATH"];
    if (knows()) return options;
  }
  return std::nullopt;
}

const std::string k_tiles =
    "#include \"kittens.cuh\"\n#include <kernelgen/abi.h>\nusing namespace kittens;\n"
    "__global__ void copy(const float* from, float* to) {\n"
    "  rt_fl<32, 32> tile;\n  load(tile, from);\n  store(to, tile);\n}\n"
    "KGEN_EXPORT_ABI_VERSION\n"
    "KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }\n"
    "KGEN_API int kgen_run(void*, const kgen_run_args* args) {\n"
    "  copy<<<1, 64, 0, static_cast<hipStream_t>(args->stream)>>>(static_cast<const "
    "float*>(args->inputs.items[0]->data),\n"
    "                                                             static_cast<float*>(args->outputs.items[0]->data));\n"
    "  return hipGetLastError() != hipSuccess;\n}\n"
    "KGEN_API void kgen_destroy(void*) {}\n";

}  // namespace

TEST_CASE("hipkittens candidates are compiled with the headers of a checkout", "[hip][hipkittens]") {
  Bench bench;
  const auto found = options_for_gfx942(bench);
  if (!found) {
    WARN("skipped: no compiler here knows gfx942");
    return;
  }
  HipkittensCompilerOptions options{.hip = *found, .root = KERNELGEN_SOURCE_DIR "/tests/data/hipkittens"};
  const auto compile = [&](const std::string& source) {
    return make_hipkittens_compiler(options, *bench.runner)
        .value()
        ->compile({.candidate = make_candidate(Target::Hipkittens, source)}, {});
  };
  const auto done = compiled(compile(k_tiles).value());
  const auto object = read_file(done.artifact.path).value();
  CHECK(object.find("kgen_run") != std::string::npos);
  CHECK(object.find("gfx942") != std::string::npos);
  REQUIRE(done.report.kernels.size() == 1);
  CHECK(done.report.kernels[0].name == "copy(float const*, float*)");
  CHECK(done.report.kernels[0].registers > 0);
  CHECK(done.report.kernels[0].accumulation_registers == 0);
  CHECK(done.report.kernels[0].occupancy.value_or(0) > 0);
  // The concept of C++20 refuses what is no whole tile.
  const auto half = failed(compile("#include \"kittens.cuh\"\nkittens::rt_fl<8, 32>* tile;\n").value());
  CHECK(half.outcome.kind == OutcomeKind::Compile);
}

TEST_CASE("a checkout of HipKittens without headers for an architecture is an error", "[hip][hipkittens]") {
  Bench bench;
  const auto found = options_for_gfx942(bench);
  if (!found) {
    WARN("skipped: no compiler here knows gfx942");
    return;
  }
  // The stand-in has headers for CDNA 3 alone, and the compiler reads them before it needs a device library.
  HipkittensCompilerOptions options{.hip = *found, .root = KERNELGEN_SOURCE_DIR "/tests/data/hipkittens"};
  options.hip.flags.push_back("-DKITTENS_CDNA4");
  const auto refused = make_hipkittens_compiler(options, *bench.runner)
                           .value()
                           ->compile({.candidate = make_candidate(Target::Hipkittens, k_tiles)}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK(refused.error().message.find("has no headers for gfx942") != std::string::npos);
}

TEST_CASE("a hipcc that is too old for HipKittens' architectures is told so", "[hip][hipkittens]") {
  Bench bench;
  bench.options.architecture = "gfx950";
  const auto knows = bench.start(k_hip + "int x;");
  HipkittensCompilerOptions options{.hip = bench.options, .root = KERNELGEN_SOURCE_DIR "/tests/data/hipkittens"};
  const auto refused = make_hipkittens_compiler(options, *bench.runner)
                           .value()
                           ->compile({.candidate = make_candidate(Target::Hipkittens, k_tiles)}, {});
  // The stand-in has no headers for gfx950, so either the compiler or the checkout is refused.
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::MissingTool);
  CHECK(refused.error().message.find("gfx950") != std::string::npos);
  if (!knows) CHECK(refused.error().message.find("ROCM_PATH") != std::string::npos);
}
