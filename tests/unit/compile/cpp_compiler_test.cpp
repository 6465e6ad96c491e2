// Tests of the C++ compiler's decisions, with a fake process runner.

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_cpp_source = "int f() { return 1; }\n";

/// Answers compilations; all other commands (--version, -###) succeed without output.
class FakeProcessRunner final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token) override {
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    if (std::find(request.command.begin(), request.command.end(), "-shared") == request.command.end()) {
      outcome.standard_output = "fake compiler 1.0\n";
      return outcome;
    }
    last = request;
    // What kgen-sandbox does first.
    const auto report = std::find(request.command.begin(), request.command.end(), "--report");
    REQUIRE(report != request.command.end());
    if (!sandbox_says.empty()) write_file_atomic(*(report + 1), sandbox_says).value();
    return answer(request);
  }
  ProcessRequest last;
  std::string sandbox_says = "isolation 703\n";
  std::function<Result<ProcessOutcome>(const ProcessRequest&)> answer = [](const ProcessRequest&) {
    return ProcessOutcome{};
  };
};

class CppBench {
 public:
  CppBench() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {
    make_directories(directory_.path() / "abi/kernelgen").value();
    write_file_atomic(directory_.path() / "abi/kernelgen/abi.h", "/* header */\n").value();
    compiler_ = make_cpp_compiler(options(), runner).value();
  }
  [[nodiscard]] CppCompilerOptions options() const {
    return {.compiler = "/bin/sh",
            .abi_dir = (directory_.path() / "abi").string(),
            .output_dir = (directory_.path() / "out").string(),
            .sandbox = "/bin/sh",
            .environment = std::map<std::string, std::string>{
                {"PATH", "/usr/bin:/bin"}, {"CPATH", "/inc"}, {"MY_API_KEY", "secret"}, {"SHELL", "/bin/sh"}}};
  }
  Result<CompileOutcome> compile(const std::string& source = k_cpp_source) {
    return compiler_->compile({.candidate = make_candidate(Target::Cpp, source)}, {});
  }
  CompileFailed failed(const std::string& source = k_cpp_source) {
    auto outcome = compile(source).value();
    REQUIRE(std::holds_alternative<CompileFailed>(outcome));
    return std::get<CompileFailed>(outcome);
  }
  /// Lets the compiler end with this exit code and log.
  void refuse(int code, const std::string& log) {
    runner.answer = [=](const ProcessRequest&) {
      ProcessOutcome outcome;
      outcome.exit_code = code;
      outcome.standard_error = log;
      return outcome;
    };
  }
  /// Lets the compiler write this output.
  void succeed(const std::string& output) {
    runner.answer = [=](const ProcessRequest& request) -> Result<ProcessOutcome> {
      write_file_atomic(fs::path(request.working_directory) / "candidate.so", output).value();
      ProcessOutcome outcome;
      outcome.exit_code = 0;
      return outcome;
    };
  }
  [[nodiscard]] std::size_t files_in_output() const {
    const auto all = fs::recursive_directory_iterator(directory_.path() / "out");
    return static_cast<std::size_t>(
        std::count_if(fs::begin(all), fs::end(all), [](const auto& entry) { return entry.is_regular_file(); }));
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  FakeProcessRunner runner;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<KernelCompiler> compiler_;
};

}  // namespace

TEST_CASE("an artifact is published read-only under its content", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.succeed("binary");
  const auto first = std::get<Compiled>(bench.compile().value()).artifact;
  CHECK(read_file(first.path).value() == "binary");
  CHECK((fs::status(first.path).permissions() & fs::perms::owner_write) == fs::perms::none);
  CHECK(first.candidate_id == make_candidate(Target::Cpp, k_cpp_source).id);
  CHECK(std::get<Compiled>(bench.compile("int other() {}").value()).artifact.path == first.path);
  CHECK(bench.files_in_output() == 1);  // the private build directories are gone
}

TEST_CASE("a published artifact that was changed is written anew", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.succeed("binary");
  const auto path = std::get<Compiled>(bench.compile().value()).artifact.path;
  REQUIRE(write_file_atomic(path, "evil"));
  (void)bench.compile();
  CHECK(read_file(path).value() == "binary");
}

TEST_CASE("the command is an argument vector in a private directory with a clean environment",
          "[compile][cpp_compiler]") {
  CppBench bench;
  bench.succeed("binary");
  (void)bench.compile();
  const auto& last = bench.runner.last;
  CHECK(last.command.front() == "/bin/sh");
  CHECK(last.working_directory.find("out/builds/build-") != std::string::npos);
  CHECK(last.environment.at("LC_ALL") == "C");
  CHECK(last.environment.at("CPATH") == "/inc");
  CHECK(last.environment.at("TMPDIR") == last.working_directory);
  CHECK(last.environment.count("MY_API_KEY") == 0);
  CHECK(last.environment.count("SHELL") == 0);
  CHECK(last.limits.address_space_bytes.has_value());
  CHECK(last.limits.file_size_bytes.has_value());
}

TEST_CASE("sources that are no code are the outcome Syntax", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(1, "candidate.cpp:1:1: error: 'Sorry' does not name a type\n");
  CHECK(bench.failed("").outcome.to_class() == "syntax:empty");
  CHECK(bench.failed(" \n\t").outcome.to_class() == "syntax:empty");
  CHECK(bench.failed(std::string("int x;\0", 7)).outcome.to_class() == "syntax:not_text");
  CHECK(bench.failed("int \xFF;").outcome.to_class() == "syntax:not_text");
  CHECK(bench.failed(std::string(9u << 20, ' ') + ";").outcome.to_class() == "syntax:too_large");
  CHECK(bench.failed("Sorry, I cannot write that kernel").outcome.to_class() == "syntax:not_code");
}

TEST_CASE("a refusal has its class, first error and log", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(1, "candidate.cpp:3:5: error: \x1b[31m'foo' was not declared in this scope\n");
  const auto failed = bench.failed();
  CHECK(failed.outcome.to_class() == "compile:undeclared_identifier");
  CHECK(failed.outcome.message == "candidate.cpp:3: 'foo' was not declared in this scope");
  CHECK(failed.report.diagnostics.size() == 1);
  CHECK(failed.report.log.find('\x1b') == std::string::npos);
  CHECK_FALSE(failed.report.log_truncated);
  CHECK_FALSE(failed.report.command.empty());
}

TEST_CASE("a compiler that succeeds without output is a refusal", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(0, "candidate.cpp: nothing to do\n");
  CHECK(bench.failed().outcome.to_class() == "compile:other");
}

TEST_CASE("an output that is a link is no output", "[compile][cpp_compiler]") {
  CppBench bench;
  REQUIRE(write_file_atomic(bench.path() / "secret", "not the compiler's"));
  bench.runner.answer = [&](const ProcessRequest& request) {
    fs::create_symlink(bench.path() / "secret", fs::path(request.working_directory) / "candidate.so");
    ProcessOutcome outcome;
    outcome.exit_code = 0;
    outcome.standard_error = "candidate.cpp: done\n";
    return outcome;
  };
  CHECK(bench.failed().outcome.to_class() == "compile:other");
  CHECK(bench.files_in_output() == 0);
}

TEST_CASE("the compiler runs in the sandbox and sees what it was given", "[compile][cpp_compiler][sandbox]") {
  CppBench bench;
  bench.succeed("binary");
  auto options = bench.options();
  options.flags = {"-I/of/the/flags", "--sysroot=/of/a/flag", "-Inot/absolute"};
  options.toolchain_paths = {"/data/toolkit"};
  (*options.environment)["HOME"] = "/home/me";
  (*options.environment)["LIBRARY_PATH"] = "/of/a/variable::/home/me";
  auto compiler = make_cpp_compiler(options, bench.runner).value();
  const auto compiled =
      std::get<Compiled>(compiler->compile({.candidate = make_candidate(Target::Cpp, k_cpp_source)}, {}).value());
  CHECK(compiled.report.isolation == "full");
  CHECK(compiled.report.command.front() == "/bin/sh");
  std::vector<std::string> readable;
  const auto& command = bench.runner.last.command;
  for (std::size_t i = 0; command[i] != "--"; ++i)
    if (command[i] == "--read") readable.push_back(command[i + 1]);
  for (const char* path : {"/of/the/flags", "/of/a/flag", "/data/toolkit", "/inc", "/of/a/variable", "/bin/sh"}) {
    INFO(path);
    CHECK(std::count(readable.begin(), readable.end(), path) >= 1);
  }
  CHECK(std::count(readable.begin(), readable.end(), options.abi_dir) == 1);
  CHECK(std::count(readable.begin(), readable.end(), "/absolute") == 0);
  CHECK(std::count(readable.begin(), readable.end(), "/home/me") == 0);
}

TEST_CASE("isolation mechanisms that are missing are in the report", "[compile][cpp_compiler][sandbox]") {
  CppBench bench;
  bench.refuse(1, "candidate.cpp:3:5: error: no\n");
  bench.runner.sandbox_says = "isolation 544\n";
  CHECK(bench.failed().report.isolation.find("weak: no user namespace") == 0);
}

TEST_CASE("no sandbox is an error, never a compilation without", "[compile][cpp_compiler][sandbox]") {
  CppBench bench;
  auto options = bench.options();
  options.sandbox = "/no/kgen-sandbox";
  const auto missing = make_cpp_compiler(options, bench.runner);
  CHECK(missing.error().code == ErrorCode::MissingTool);
  CHECK(missing.error().message.find("no sandbox program at '/no/kgen-sandbox'") != std::string::npos);
  options.sandbox.clear();
  CHECK(make_cpp_compiler(options, bench.runner).error().code == ErrorCode::MissingTool);

  bench.refuse(127, "");
  bench.runner.sandbox_says = "failed sandbox 11\n";
  CHECK(bench.compile().error().code == ErrorCode::Unavailable);
  bench.runner.sandbox_says = "failed exec 2\n";
  CHECK(bench.compile().error().message == "cannot start /bin/sh in the sandbox: No such file or directory");
  for (const char* nonsense : {"", "isolation", "isolation many", "x"}) {
    bench.runner.sandbox_says = nonsense;
    CHECK(bench.compile().error().code == ErrorCode::Internal);
  }
}

TEST_CASE("a compiler that cannot work in the sandbox is not the candidate's fault",
          "[compile][cpp_compiler][sandbox]") {
  CppBench bench;
  bench.refuse(127, "cc1plus: error while loading shared libraries: libmpfr.so.6: cannot open\n");
  const auto outcome = bench.compile();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == ErrorCode::MissingTool);
  CHECK(outcome.error().message.find("does not work in the sandbox: cc1plus: error while loading") !=
        std::string::npos);
  // A compiler that compiles a correct source works.
  bench.runner.answer = [](const ProcessRequest& request) {
    const fs::path directory = request.working_directory;
    ProcessOutcome ended;
    ended.exit_code = 1;
    ended.standard_error = "internal limit\n";
    if (read_file(directory / "candidate.cpp").value().find("kgen_nothing") == std::string::npos) return ended;
    write_file_atomic(directory / "candidate.so", "binary").value();
    ended.exit_code = 0;
    return ended;
  };
  CHECK(bench.failed().outcome.to_class() == "compile:other");
}

TEST_CASE("a compiler killed by a signal has crashed", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.runner.answer = [](const ProcessRequest&) {
    ProcessOutcome outcome;
    outcome.signal = 9;
    return outcome;
  };
  const auto failed = bench.failed();
  CHECK(failed.outcome.to_class() == "compile:compiler_crashed");
  CHECK(failed.outcome.message == "the compiler ended with signal 9 (SIGKILL)");
}

TEST_CASE("a compiler over its time is the outcome Timeout", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.runner.answer = [](const ProcessRequest&) {
    ProcessOutcome outcome;
    outcome.signal = 9;
    outcome.timed_out = true;
    outcome.duration = std::chrono::seconds(3);
    return outcome;
  };
  const auto failed = bench.failed();
  CHECK(failed.outcome.to_class() == "timeout:build");
  CHECK(failed.outcome.message == "the compiler timed out after 3.0 s");
}

TEST_CASE("a candidate that writes 'No space left on device' is not believed", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(1, "candidate.cpp:1:2: error: #error No space left on device\n");
  CHECK(bench.failed().outcome.to_class() == "compile:other");
}

TEST_CASE("a library of the toolchain that is missing is MissingTool", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(1, "/usr/bin/ld: cannot find -lomp: No such file or directory\n");
  auto outcome = bench.compile();
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == ErrorCode::MissingTool);
  CHECK(outcome.error().message.find("-lomp") != std::string::npos);
}

TEST_CASE("a cancelled compilation is the error of the process runner", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.runner.answer = [](const ProcessRequest&) -> Result<ProcessOutcome> {
    return Error{ErrorCode::Cancelled, "cancelled", {}};
  };
  CHECK(bench.compile().error().code == ErrorCode::Cancelled);
  CHECK(bench.files_in_output() == 0);
}

TEST_CASE("a missing compiler says what to install", "[compile][cpp_compiler]") {
  CppBench bench;
  auto options = bench.options();
  options.compiler = "no-such-compiler";
  auto compiler = make_cpp_compiler(options, bench.runner).value();
  const CompileRequest request{.candidate = make_candidate(Target::Cpp, k_cpp_source)};
  auto error = compiler->compile(request, {}).error();
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.message.find("apt install g++") != std::string::npos);
  CHECK(compiler->key(request, {}).error().code == ErrorCode::MissingTool);
}

TEST_CASE("a compiler needs its directories and its header", "[compile][cpp_compiler]") {
  CppBench bench;
  auto options = bench.options();
  options.abi_dir = "/no/such/directory";
  CHECK(make_cpp_compiler(options, bench.runner).error().code == ErrorCode::NotFound);
  options = bench.options();
  options.output_dir.clear();
  CHECK(make_cpp_compiler(options, bench.runner).error().code == ErrorCode::InvalidArgument);
}

TEST_CASE("a C candidate is compiled as C by the same driver", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.succeed("binary");
  auto compiler = make_cpp_compiler(bench.options(), bench.runner).value();
  const CompileRequest c{.candidate = make_candidate(Target::Cpp, Language::C, k_cpp_source)};
  const auto report = std::get<Compiled>(compiler->compile(c, {}).value()).report;
  const auto has = [&](const std::string& word) {
    return std::find(report.command.begin(), report.command.end(), word) != report.command.end();
  };
  CHECK(report.command.front() == "/bin/sh");
  CHECK((has("-x") && has("c") && has("-std=gnu17") && has("candidate.c")));
  CHECK_FALSE(has("-std=c++20"));
  const CompileRequest cpp{.candidate = make_candidate(Target::Cpp, k_cpp_source)};
  CHECK(compiler->key(c, {}).value().digest != compiler->key(cpp, {}).value().digest);
  CHECK(compiler->key(c, {}).value().text.find("language c\n") != std::string::npos);
}

TEST_CASE("a diagnostic carries the line of the source that it is about", "[compile][cpp_compiler]") {
  CppBench bench;
  bench.refuse(1,
               "candidate.cpp:2:10: error: 'y' was not declared in this scope\n    2 |   return y;\n"
               "/usr/include/math.h:2:1: note: here\ncandidate.cpp:99:1: error: no such line\n");
  const auto failed = bench.failed("int f() {\n  return y;\n}\n");
  REQUIRE(failed.report.diagnostics.size() == 3);
  CHECK(failed.report.diagnostics[0].source_line == "return y;");
  CHECK(failed.report.diagnostics[1].source_line.empty());
  CHECK(failed.report.diagnostics[2].source_line.empty());
  CHECK(failed.outcome.message == "candidate.cpp:2: 'y' was not declared in this scope");
}

TEST_CASE("a log that was cut says so in its last line", "[compile][cpp_compiler]") {
  CppBench bench;
  std::string log;
  while (log.size() < (300u << 10)) log += "candidate.cpp:1:1: warning: again and again\n";
  bench.refuse(1, log + "candidate.cpp:1:2: error: no\n");
  const auto failed = bench.failed();
  CHECK(failed.report.log_truncated);
  CHECK(failed.report.log.size() > (256u << 10));
  CHECK(failed.report.log.ends_with("\n[cut: only the first 256 KiB are kept]\n"));
  bench.refuse(1, "candidate.cpp:1:2: error: no\n");
  CHECK(bench.failed("int g() {;}").report.log == "candidate.cpp:1:2: error: no\n");
}

TEST_CASE("other targets are Unsupported", "[compile][cpp_compiler]") {
  CppBench bench;
  auto compiler = make_cpp_compiler(bench.options(), bench.runner).value();
  const CompileRequest request{.candidate = make_candidate(Target::Cuda, k_cpp_source)};
  CHECK_FALSE(compiler->supports(Target::Cuda));
  CHECK(compiler->compile(request, {}).error().code == ErrorCode::Unsupported);
  CHECK(compiler->key(request, {}).error().code == ErrorCode::Unsupported);
}

TEST_CASE("the key is explainable: sorted lines, and each part changes it", "[compile][cpp_compiler]") {
  CppBench bench;
  auto compiler = make_cpp_compiler(bench.options(), bench.runner).value();
  CompileRequest request{.candidate = make_candidate(Target::Cpp, k_cpp_source)};
  const auto key = compiler->key(request, {}).value();
  INFO(key.text);
  CHECK(key.digest.size() == 64);
  std::string previous;
  std::size_t begin = 0;
  for (auto end = key.text.find('\n'); end != std::string::npos; begin = end + 1, end = key.text.find('\n', begin)) {
    const auto name = key.text.substr(begin, key.text.find(' ', begin) - begin);
    CHECK(previous < name);
    previous = name;
  }
  for (const char* name :
       {"abi.header ", "compiler.driver ", "compiler.version fake compiler 1.0\n", "environment.CPATH /inc\n", "flags ",
        "flags.resolved ", "compiler.assembler ", "compiler.libraries ", "compiler.headers ", "format 2\n",
        "language cpp\n", "source ", "target cpp\n"})
    CHECK(key.text.find(name) != std::string::npos);
  CHECK(compiler->key(request, {}).value().digest == key.digest);

  request.candidate = make_candidate(Target::Cpp, "int g();");
  CHECK(compiler->key(request, {}).value().digest != key.digest);
  request.candidate = make_candidate(Target::Cpp, k_cpp_source);
  request.extra_flags = {"-g"};
  CHECK(compiler->key(request, {}).value().digest != key.digest);
  request.extra_flags.clear();
  auto options = bench.options();
  (*options.environment)["CPATH"] = "/other\nformat 3";
  const auto other = make_cpp_compiler(options, bench.runner).value()->key(request, {}).value();
  CHECK(other.digest != key.digest);
  CHECK(other.text.find("\nformat 3") == std::string::npos);
  REQUIRE(write_file_atomic(fs::path(options.abi_dir) / "kernelgen/abi.h", "/* changed */\n"));
  CHECK(compiler->key(request, {}).value().digest != key.digest);
}
