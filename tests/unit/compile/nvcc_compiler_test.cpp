// Tests of nvcc's command line, key and answers, with a fake process runner.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "compile/cuda_toolkit.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_cuda_source = "__global__ void k() {}\n";
constexpr const char* k_used =
    "ptxas info    : Compiling entry function '_Z1kv' for 'sm_90a'\n"
    "ptxas info    : Function properties for _Z1kv\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n";

/// nvcc --version, --dryrun, its host compiler, and compilations in the sandbox.
class FakeProcesses final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    const auto has = [&](const char* word) {
      return std::find(request.command.begin(), request.command.end(), word) != request.command.end();
    };
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    if (has("-shared")) {
      last = request;
      const auto report = std::find(request.command.begin(), request.command.end(), "--report");
      write_file_atomic(*(report + 1), "isolation 703\n").value();
      return answer(request);
    }
    ++questions;
    if (has("--dryrun")) outcome.standard_error = dry_run;
    if (has("--version")) outcome.standard_output = version;
    return outcome;
  }

  int questions = 0;
  ProcessRequest last;
  std::string version = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n";
  std::string dry_run;
  std::function<Result<ProcessOutcome>(const ProcessRequest&)> answer;
};

class NvccBench {
 public:
  NvccBench() {
    for (const char* file : {"abi/kernelgen/abi.h", "cuda/bin/ptxas", "cuda/nvvm/bin/cicc", "bin/g++"}) {
      make_directories((path() / file).parent_path()).value();
      write_file_atomic(path() / file, file, {.mode = 0755}).value();
    }
    write_file_atomic(path() / "bin/nvcc", "wrapper", {.mode = 0755}).value();
    runner.dry_run = "#$ _HERE_=x\n#$ TOP=" + (path() / "cuda/bin/..").string() + "\n#$ INCLUDES=\"-I/x\"\n#$ " +
                     (path() / "bin/g++").string() + " -D__CUDA_ARCH__=750 -E\n";
    succeed();
  }
  [[nodiscard]] NvccCompilerOptions options() const {
    return {.nvcc = (path() / "bin/nvcc").string(),
            .architecture = "sm_90",
            .abi_dir = (path() / "abi").string(),
            .output_dir = (path() / "out").string(),
            .sandbox = "/bin/sh",
            .environment = std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"},
                                                              {"NVCC_APPEND_FLAGS", "-w"},
                                                              {"CUDA_VISIBLE_DEVICES", "0"},
                                                              {"MY_API_KEY", "secret"}}};
  }
  Result<CompileOutcome> compile(const NvccCompilerOptions& options) {
    return make_nvcc_compiler(options, runner)
        .value()
        ->compile({.candidate = make_candidate(Target::Cuda, k_cuda_source)}, {});
  }
  Result<CompileKey> key(const NvccCompilerOptions& options) {
    return make_nvcc_compiler(options, runner)
        .value()
        ->key({.candidate = make_candidate(Target::Cuda, k_cuda_source)}, {});
  }
  void succeed() {
    runner.answer = [](const ProcessRequest& request) -> Result<ProcessOutcome> {
      write_file_atomic(fs::path(request.working_directory) / "candidate.so", "binary").value();
      ProcessOutcome outcome;
      outcome.exit_code = 0;
      outcome.standard_error = k_used;
      return outcome;
    };
  }
  void refuse(const std::string& log) {
    runner.answer = [=](const ProcessRequest&) {
      ProcessOutcome outcome;
      outcome.exit_code = 1;
      outcome.standard_error = log;
      return outcome;
    };
  }
  [[nodiscard]] bool command_has(const std::string& word) const {
    const auto& command = runner.last.command;
    return std::find(command.begin(), command.end(), word) != command.end();
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  FakeProcesses runner;

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
};

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a CUDA candidate becomes a shared object for one architecture", "[compile][nvcc]") {
  NvccBench bench;
  const auto compiled = std::get<Compiled>(bench.compile(bench.options()).value());
  CHECK(read_file(compiled.artifact.path).value() == "binary");
  CHECK(compiled.artifact.target == Target::Cuda);
  REQUIRE(compiled.report.kernels.size() == 1);
  CHECK(compiled.report.kernels[0].name == "k()");
  for (const char* word : {"arch=compute_90a,code=sm_90a", "candidate.cu", "-lineinfo", "-O3", "-z,defs", "-v"}) {
    INFO(word);
    CHECK(bench.command_has(word));
  }
  // What nvcc reads lies where its dry run says.
  CHECK(bench.command_has(fs::canonical(bench.path() / "cuda").string()));
  CHECK(bench.command_has((bench.path() / "bin/g++").string()));
  CHECK(bench.command_has(bench.path().string()));
  CHECK(bench.runner.last.environment.at("NVCC_APPEND_FLAGS") == "-w");
  CHECK(bench.runner.last.environment.count("MY_API_KEY") == 0);
  CHECK(bench.runner.last.environment.count("CUDA_VISIBLE_DEVICES") == 0);
}

TEST_CASE("an architecture gets its own instructions where it has some", "[compile][nvcc]") {
  NvccBench bench;
  auto options = bench.options();
  const std::pair<const char*, const char*> cases[] = {{"sm_75", "arch=compute_75,code=sm_75"},
                                                       {"sm_89", "arch=compute_89,code=sm_89"},
                                                       {"sm_90a", "arch=compute_90a,code=sm_90a"},
                                                       {"sm_100", "arch=compute_100a,code=sm_100a"},
                                                       {"sm_100f", "arch=compute_100f,code=sm_100f"}};
  for (const auto& [architecture, flag] : cases) {
    options.architecture = architecture;
    REQUIRE(bench.compile(options));
    INFO(architecture);
    CHECK(bench.command_has(flag));
  }
  for (const char* wrong : {"", "sm_", "sm_9", "90", "gfx942", "sm_90x", "sm_90aa", "sm_1000", "sm_90 -Xcompiler"}) {
    options.architecture = wrong;
    INFO(wrong);
    const auto made = make_nvcc_compiler(options, bench.runner);
    REQUIRE_FALSE(made);
    CHECK(made.error().code == ErrorCode::InvalidArgument);
  }
}

TEST_CASE("the key names everything that makes the artifact", "[compile][nvcc]") {
  NvccBench bench;
  const auto key = bench.key(bench.options()).value();
  for (const char* line :
       {"cuda.version Cuda compilation tools, release 13.0, V13.0.88\n", "cuda.ptxas ", "cuda.cicc ", "cuda.driver ",
        "environment.NVCC_APPEND_FLAGS -w\n", "host.driver ",
        "flags -O3 -std=c++17 -lineinfo -gencode arch=compute_90a,code=sm_90a\n", "target cuda\n", "abi.header "}) {
    INFO(key.text);
    CHECK(holds(key.text, line));
  }
  CHECK(key.digest.size() == 64);
  auto other = bench.options();
  other.architecture = "sm_80";
  CHECK(bench.key(other).value().digest != key.digest);
  write_file_atomic(bench.path() / "cuda/bin/ptxas", "another").value();
  CHECK(bench.key(bench.options()).value().digest != key.digest);
}

TEST_CASE("nvcc is asked once, until one of its files changes", "[compile][nvcc]") {
  NvccBench bench;
  CudaToolkit toolkit((bench.path() / "bin/nvcc").string(), {}, bench.runner);
  CHECK(toolkit.facts({}).value().release == std::pair(13, 0));
  CHECK(bench.runner.questions == 2);
  REQUIRE(toolkit.facts({}));
  CHECK(bench.runner.questions == 2);
  bench.runner.version = "Cuda compilation tools, release 12.8, V12.8.61\n";
  write_file_atomic(bench.path() / "cuda/nvvm/bin/cicc", "replaced").value();
  CHECK(toolkit.facts({}).value().release == std::pair(12, 8));
}

TEST_CASE("an nvcc that explains nothing has no key, and still compiles", "[compile][nvcc]") {
  NvccBench bench;
  bench.runner.dry_run = "nvcc fatal : no\n";
  const auto key = bench.key(bench.options());
  REQUIRE_FALSE(key);
  CHECK(key.error().code == ErrorCode::Unavailable);
  CHECK(std::holds_alternative<Compiled>(bench.compile(bench.options()).value()));
}

TEST_CASE("too much shared memory is a resource, with numbers", "[compile][nvcc]") {
  NvccBench bench;
  bench.refuse("ptxas error   : Entry function '_Z1kv' uses too much shared data (0x493e0 bytes, 0x38c00 max)\n");
  const auto failed = std::get<CompileFailed>(bench.compile(bench.options()).value());
  CHECK(failed.outcome.to_class() == "resource:shared_memory");
  CHECK(failed.outcome.message == "Entry function 'k()' uses too much shared data (300000 bytes, 232448 max)");
}

TEST_CASE("an nvcc that does not work here is no fault of the candidate", "[compile][nvcc]") {
  const std::pair<const char*, const char*> cases[] = {
      {"nvcc fatal   : Unsupported gpu architecture 'compute_90a'\n", "set CUDA_HOME to another one"},
      {"/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version!\n", "NVCC_CCBIN"},
      {"nvcc fatal   : Cannot find compiler 'g++' in PATH\n", "install g++"},
      {"sh: nothing works\n", "nothing works; it reads the folders"},
      {"/usr/bin/ld: cannot find -lcudart_static: No such file or directory\n", "install all of the CUDA toolkit"}};
  for (const auto& [log, remedy] : cases) {
    NvccBench bench;
    bench.refuse(log);
    const auto outcome = bench.compile(bench.options());
    INFO(log);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == ErrorCode::MissingTool);
    CHECK(holds(outcome.error().message, remedy));
  }
}

TEST_CASE("an nvcc whose kernels the driver would not start is no fault of the candidate", "[compile][nvcc]") {
  NvccBench bench;
  auto options = bench.options();
  options.driver_version = 12080;
  for (const auto& error : {bench.compile(options).error(), bench.key(options).error()}) {
    CHECK(error.code == ErrorCode::MissingTool);
    CHECK(error.message ==
          "nvcc is of CUDA 13.0 and newer than the driver, which is for CUDA 12.8: its kernels would not start; "
          "install a "
          "driver for CUDA 13, or set CUDA_HOME to a CUDA 12 toolkit");
  }
  // An older toolkit, one of the same major version, and one of unknown version.
  for (const char* version : {"release 11.8, V11.8.89", "release 12.9, V12.9.86", "none of your business"}) {
    bench.runner.version = version;
    CHECK(bench.compile(options));
  }
}

TEST_CASE("a host compiler can be named", "[compile][nvcc]") {
  NvccBench bench;
  auto options = bench.options();
  options.host_compiler = "/bin/sh";
  REQUIRE(bench.compile(options));
  CHECK(bench.command_has("-ccbin"));
  CHECK(holds(bench.key(options).value().text, "host.compiler /bin/sh\n"));
}

TEST_CASE("nvcc is found where people put it", "[compile][nvcc]") {
  NvccBench bench;
  const auto home = bench.path() / "toolkit";
  make_directories(home / "bin").value();
  write_file_atomic(home / "bin/nvcc", "nvcc", {.mode = 0755}).value();
  CHECK(find_nvcc("", {{"CUDA_HOME", home.string()}, {"PATH", (bench.path() / "bin").string()}}).value() ==
        (home / "bin/nvcc").string());
  CHECK(find_nvcc("", {{"CUDA_PATH", home.string()}, {"CUDA_HOME", "/nonexistent"}}).value() ==
        (home / "bin/nvcc").string());
  CHECK(find_nvcc("", {{"PATH", (bench.path() / "bin").string()}}).value() == (bench.path() / "bin/nvcc").string());
  CHECK(find_nvcc("/some/nvcc", {{"CUDA_HOME", home.string()}}).value() == "/some/nvcc");
  CHECK(find_nvcc("no-such-nvcc", {{"PATH", "/bin"}}).error().code == ErrorCode::MissingTool);
}

TEST_CASE("what nvcc says about itself is read", "[compile][nvcc]") {
  CHECK(parse_cuda_release("Cuda compilation tools, release 12.8, V12.8.61") == std::pair(12, 8));
  CHECK(parse_cuda_release("release x") == std::pair(0, 0));
  CHECK(parse_cuda_release("") == std::pair(0, 0));
  const auto variables = parse_nvcc_variables(
      "#$ _T_=\n#$ TOP=/a/b/..\n#$ _T_=x\n#$ gcc -DA=1 \"x\"\nnoise TOP=/no\n#$ \"$C/cicc\" --a=b\n");
  CHECK(variables == std::map<std::string, std::string>{{"TOP", "/a/b/.."}, {"_T_", "x"}});
}
