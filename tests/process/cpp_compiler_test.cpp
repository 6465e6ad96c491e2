// The C++ compiler with real processes: short scripts that pretend to be one, and the real one.

#include <dlfcn.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/compile/local_compiler.hpp>

#include "compile/toolchain.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_source = R"(
#include <kernelgen/abi.h>
#include <cmath>
KGEN_API int answer(void) { return KGEN_ABI_VERSION > 0 ? 42 : 0; }
)";

class Bench {
 public:
  Bench() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value()) {}

  [[nodiscard]] CppCompilerOptions options(const std::string& compiler) const {
    return {.compiler = compiler,
            .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
            .output_dir = (directory_.path() / "out").string(),
            .sandbox = KERNELGEN_SANDBOX};
  }
  /// Makes a compiler from a shell script.
  std::unique_ptr<KernelCompiler> script(const std::string& body) {
    const fs::path path = directory_.path() / "fake-c++";
    write_file_atomic(path, "#!/bin/sh\n" + body + "\n", {.mode = 0755}).value();
    return make_cpp_compiler(options(path.string()), *runner).value();
  }
  std::unique_ptr<KernelCompiler> real(const std::string& compiler = "c++") {
    return make_cpp_compiler(options(compiler), *runner).value();
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }

  std::unique_ptr<ProcessRunner> runner = make_process_runner();

 private:
  TemporaryDirectory directory_;
};

CompileRequest request(const std::string& source = k_source, std::chrono::milliseconds timeout = 60s) {
  return {.candidate = make_candidate(Target::Cpp, source), .timeout = timeout};
}

CompileFailed failed(KernelCompiler& compiler, const CompileRequest& what) {
  auto outcome = compiler.compile(what, {}).value();
  REQUIRE(std::holds_alternative<CompileFailed>(outcome));
  return std::get<CompileFailed>(outcome);
}

int call_answer(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto* function = reinterpret_cast<int (*)()>(::dlsym(library, "answer"));
  REQUIRE(function != nullptr);
  const int answer = function();
  ::dlclose(library);
  return answer;
}

}  // namespace

TEST_CASE("a compiler that hangs is ended at its deadline", "[compile][process]") {
  Bench bench;
  auto compiler = bench.script("trap '' TERM; while :; do sleep 1; done");
  const auto started = std::chrono::steady_clock::now();
  CHECK(failed(*compiler, request(k_source, 200ms)).outcome.to_class() == "timeout:build");
  CHECK(std::chrono::steady_clock::now() - started < 5s);
}

TEST_CASE("a compiler that is killed has crashed", "[compile][process]") {
  Bench bench;
  auto compiler = bench.script("kill -KILL $$");
  CHECK(failed(*compiler, request()).outcome.to_class() == "compile:compiler_crashed");
}

TEST_CASE("a compiler that floods its log is capped", "[compile][process]") {
  Bench bench;
  auto compiler =
      bench.script("head -c 20000000 /dev/zero | tr '\\0' x >&2; echo 'candidate.cpp:1:1: error: late' >&2; exit 1");
  const auto outcome = failed(*compiler, request());
  CHECK(outcome.outcome.to_class() == "compile:other");
  CHECK(outcome.report.log_truncated);
  CHECK(outcome.report.log.size() <= (256u << 10) + 100);
  CHECK(outcome.report.log.ends_with("\n[cut: only the first 256 KiB are kept]\n"));
}

TEST_CASE("a compiler that is cancelled leaves nothing behind", "[compile][process]") {
  Bench bench;
  auto compiler = bench.script("sleep 20");
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  auto outcome = compiler->compile(request(), source.get_token());
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == ErrorCode::Cancelled);
  CHECK(fs::is_empty(bench.path() / "out/builds"));
}

TEST_CASE("a compiler that was replaced has another key", "[compile][process]") {
  Bench bench;
  auto compiler = bench.script("echo one");
  const auto first = compiler->key(request(), {}).value();
  CHECK(first.text.find("compiler.version one\n") != std::string::npos);
  CHECK(compiler->key(request(), {}).value().digest == first.digest);
  (void)bench.script("echo two!");
  CHECK(compiler->key(request(), {}).value().digest != first.digest);
}

TEST_CASE("the real compiler makes a shared object that can be loaded", "[compile][process]") {
  Bench bench;
  auto cache = make_caching_compiler(bench.real(), {.directory = (bench.path() / "cache").string()}).value();
  const auto compiled = std::get<Compiled>(cache->compile(request(), {}).value());
  CHECK(call_answer(compiled.artifact.path) == 42);
  CHECK(compiled.report.duration > 0ns);
  const auto release = version_in_key(bench.real()->key(request(), {}).value().text);
  CHECK_FALSE(release.empty());
  CHECK(compiled.report.compiler == release);
  const auto again = std::get<Compiled>(cache->compile(request(), {}).value());
  CHECK(again.report.cache == "hit");
  CHECK(again.report.compiler == release);
  CHECK(call_answer(again.artifact.path) == 42);
}

TEST_CASE("a C source compiles as C", "[compile][process]") {
  Bench bench;
  auto what =
      request("#include <kernelgen/abi.h>\nKGEN_API int answer(void) { int* class = 0; return class ? 0 : 42; }\n");
  auto compiler = bench.real();
  CHECK(failed(*compiler, what).outcome.kind == OutcomeKind::Compile);
  what.candidate = make_candidate(Target::Cpp, Language::C, what.candidate.source);
  CHECK(call_answer(std::get<Compiled>(compiler->compile(what, {}).value()).artifact.path) == 42);
}

TEST_CASE("the option -march=native is spelled out in the key", "[compile][process]") {
  Bench bench;
  const auto key = bench.real()->key(request(), {}).value();
  const auto begin = key.text.find("flags.resolved ");
  REQUIRE(begin != std::string::npos);
  const auto line = key.text.substr(begin, key.text.find('\n', begin) - begin);
  CHECK(line.find("-march=native") == std::string::npos);
  CHECK(line.find("/tmp/") == std::string::npos);
  // A second compiler object computes the key anew, with the same result.
  CHECK(bench.real()->key(request(), {}).value().digest == key.digest);
}

TEST_CASE("what the real compilers refuse has its class", "[compile][process]") {
  const std::pair<const char*, const char*> cases[] = {
      {"compile:undeclared_identifier", "int f() { return missing; }"},
      {"compile:undeclared_identifier", "floot f() { return 1; }"},
      {"compile:redefinition", "int f() { return 1; } int f() { return 2; }"},
      {"compile:no_member", "struct S { int a; }; int f(S s) { return s.b; }"},
      {"compile:missing_header", "#include <no/such/header.h>\nint f();"},
      {"compile:type", "int* f(float* p) { return p; }"},
      {"compile:syntax", "int f() { return 1 }"},
      {"compile:link:undefined_symbol", "int missing(); extern \"C\" int f() { return missing(); }"},
      {"compile:other", "static_assert(sizeof(int) == 77, \"no\");"},
      {"compile:other", "#error no;"},
      {"syntax:not_code", "I am sorry, but I cannot help with that."},
  };
  Bench bench;
  for (const char* name : {"g++", "clang++"}) {
    if (!find_program(name, current_environment())) continue;
    auto options = bench.options(name);
    options.flags = {"-std=c++20"};
    auto compiler = make_cpp_compiler(options, *bench.runner).value();
    for (const auto& [expected, source] : cases) {
      INFO(name << ": " << source);
      const auto outcome = failed(*compiler, request(source));
      INFO(outcome.report.log);
      CHECK(outcome.outcome.to_class() == expected);
      CHECK_FALSE(outcome.outcome.message.empty());
    }
  }
}

TEST_CASE("a candidate cannot read our environment through the compiler", "[compile][process]") {
  Bench bench;
  auto options = bench.options("c++");
  options.environment = current_environment();
  (*options.environment)["KGEN_API_KEY"] = "sekret-value";
  auto compiler = make_cpp_compiler(options, *bench.runner).value();
  for (const char* source :
       {"#include \"/proc/self/environ\"\nint x;", "asm(\".data\\n.incbin \\\"/proc/self/environ\\\"\");\nint x;"}) {
    const auto outcome = compiler->compile(request(source), {}).value();
    const auto* compiled = std::get_if<Compiled>(&outcome);
    const auto& report = compiled != nullptr ? compiled->report : std::get<CompileFailed>(outcome).report;
    CHECK(report.log.find("sekret-value") == std::string::npos);
    if (compiled != nullptr)
      CHECK(read_file(compiled->artifact.path).value().find("sekret-value") == std::string::npos);
  }
}

TEST_CASE("a source that never stops compiling is ended", "[compile][process]") {
  Bench bench;
  // Recursion in constant expressions, which would take far too long.
  const auto what = request(
      "constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
      "constexpr long x = f(80);\nlong g() { return x; }\n",
      500ms);
  auto options = bench.options("c++");
  options.flags = {"-std=c++20", "-fconstexpr-ops-limit=9000000000000"};
  if (!find_program("g++", current_environment())) return;
  options.compiler = "g++";
  auto compiler = make_cpp_compiler(options, *bench.runner).value();
  const auto outcome = failed(*compiler, what);
  CHECK((outcome.outcome.kind == OutcomeKind::Timeout || outcome.outcome.kind == OutcomeKind::Compile));
}

TEST_CASE("many threads compile through one cache, none wrong", "[compile][process]") {
  Bench bench;
  auto cache =
      make_caching_compiler(bench.script("out=; while [ $# -gt 0 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
                                         "[ -n \"$out\" ] && [ \"$out\" != /dev/null ] && cp candidate.cpp \"$out\""),
                            {.directory = (bench.path() / "cache").string()})
          .value();
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const std::string source = "int x" + std::to_string(i) + ";";
        auto outcome = cache->compile(request(source), {});
        const auto* compiled = outcome ? std::get_if<Compiled>(&*outcome) : nullptr;
        if (compiled == nullptr) {
          ++wrong;
          continue;
        }
        auto content = read_file(compiled->artifact.path);
        if (!content || *content != source) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK(cache->counters().misses == 10);
  CHECK(cache->counters().hits == 70);
}

TEST_CASE("the compiler of this machine's evaluations is made in one call, and keeps what it built",
          "[compile][process]") {
  const Bench bench;
  LocalCompilerOptions options;
  options.installation.abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi";
  options.installation.sandbox = KERNELGEN_SANDBOX;
  CHECK(make_local_compiler(options, *bench.runner).error().code == ErrorCode::InvalidArgument);
  options.cache_dir = bench.path() / "cache";
  for (const std::string cache : {"miss", "hit"}) {
    const auto compiler = make_local_compiler(options, *bench.runner).value();
    CHECK(compiler->supports(Target::Cpp));
    const auto outcome = compiler->compile(request(), {}).value();
    REQUIRE(std::holds_alternative<Compiled>(outcome));
    CHECK(std::get<Compiled>(outcome).report.cache == cache);
    CHECK(std::get<Compiled>(outcome).artifact.path.rfind((options.cache_dir / "artifacts").string(), 0) == 0);
  }
}
