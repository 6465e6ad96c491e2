// The sandbox against hostile sources and misbehaving compilers.

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "exec/sandbox.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

constexpr const char* k_secret = "a-secret-of-the-user";

/// A directory used as $HOME: outside of every folder that a compiler may read, and with a secret in it.
class Home {
 public:
  Home() : directory_(TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-home-").value()) {
    // A string literal, so that an include of it would compile.
    write_file_atomic(secret(), "\"" + std::string(k_secret) + "\"\n").value();
    fs::create_directories(path() / "work");
  }
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  [[nodiscard]] fs::path secret() const { return path() / "id_rsa"; }
  [[nodiscard]] CppCompilerOptions options(const std::string& compiler = "c++") const {
    auto environment = current_environment();
    environment["HOME"] = path().string();
    return {.compiler = compiler,
            .flags = {"-std=c++20"},
            .abi_dir = KERNELGEN_SOURCE_DIR "/include/kernelgen/abi",
            .output_dir = (path() / "cache").string(),
            .sandbox = KERNELGEN_SANDBOX,
            .environment = std::move(environment)};
  }
  CompileOutcome compile(const std::string& source, const std::string& compiler = "c++") {
    return make_cpp_compiler(options(compiler), *runner)
        .value()
        ->compile({.candidate = make_candidate(Target::Cpp, source)}, {})
        .value();
  }
  fs::path script(const std::string& body) {
    const fs::path file = path() / "fake-c++";
    write_file_atomic(file, "#!/bin/sh\n" + body + "\n", {.mode = 0755}).value();
    return file;
  }
  /// Runs a shell script in the sandbox; it may write to `work`.
  Result<SandboxedOutcome> sandboxed(const std::string& body, SandboxView view = {},
                                     std::chrono::milliseconds timeout = 20s, std::stop_token stop = {}) {
    view.writable = (path() / "work").string();
    return run_sandboxed(KERNELGEN_SANDBOX, view, (path() / "report").string(),
                         {.command = {"/bin/sh", "-c", body},
                          .environment = {{"PATH", "/usr/bin:/bin"}, {"HOME", path().string()}},
                          .timeout = timeout},
                         *runner, std::move(stop));
  }

  std::unique_ptr<ProcessRunner> runner = make_process_runner();

 private:
  TemporaryDirectory directory_;
};

const CompileReport& report_of(const CompileOutcome& outcome) {
  const auto* compiled = std::get_if<Compiled>(&outcome);
  return compiled != nullptr ? compiled->report : std::get<CompileFailed>(outcome).report;
}

bool leaks(const CompileOutcome& outcome) {
  if (report_of(outcome).log.find(k_secret) != std::string::npos) return true;
  const auto* compiled = std::get_if<Compiled>(&outcome);
  return compiled != nullptr && read_file(compiled->artifact.path).value().find(k_secret) != std::string::npos;
}

/// Without namespaces, the files stay visible, and the report says so.
bool has_private_files(const std::string& isolation) {
  return isolation == "full" || isolation.find("no private file system") == std::string::npos;
}

/// Whether a process with this word on its command line is alive.
bool is_running(const std::string& word) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto command = read_file(entry.path() / "cmdline");
    if (command && command->find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a source cannot include a secret by any path", "[compile][sandbox][process]") {
  Home home;
  const std::string secret = home.secret().string();
  const std::vector<std::string> sources{
      "const char* x =\n#include \"" + secret + "\"\n;",
      "const char* x =\n#include \"../../../../" + home.secret().filename().string() + "\"\n;",
      "const char* x =\n#include \"/proc/self/cwd/../../../../id_rsa\"\n;",
      "const char* x =\n#include \"/proc/self/root" + secret + "\"\n;",
      "asm(\".data\\n.incbin \\\"" + secret + "\\\"\");\nint x;",
      "asm(\".include \\\"" + secret + "\\\"\");\nint x;",
      "#if __has_include(\"" + secret + "\")\n#error a-secret-of-the-user is there\n#endif\n;",
  };
  for (const auto& source : sources) {
    INFO(source);
    const auto outcome = home.compile(source);
    REQUIRE_FALSE(report_of(outcome).isolation.empty());
    if (!has_private_files(report_of(outcome).isolation)) return;
    INFO(report_of(outcome).log);
    CHECK_FALSE(leaks(outcome));
  }
  // The same include works where the file is visible, so the test would notice a leak.
  auto options = home.options();
  options.toolchain_paths = {secret};
  const auto seen = make_cpp_compiler(options, *home.runner)
                        .value()
                        ->compile({.candidate = make_candidate(Target::Cpp, sources.front())}, {})
                        .value();
  CHECK(leaks(seen));
}

TEST_CASE("a link in the build folder leads nowhere", "[compile][sandbox][process]") {
  Home home;
  const auto secret = home.secret().string();
  const auto reading =
      home.compile("int x;", home.script("ln -s " + secret + " link; cat link >&2; exit 1; #").string());
  const auto publishing = home.compile(
      "int x; // candidate.cpp", home.script("ln -s " + secret + " candidate.so; echo candidate.cpp: done").string());
  if (!has_private_files(report_of(reading).isolation)) return;
  CHECK_FALSE(leaks(reading));
  CHECK(std::holds_alternative<CompileFailed>(publishing));
}

TEST_CASE("only the build folder and /tmp take files, and the results are not to be seen", "[exec][sandbox][process]") {
  Home home;
  write_file_atomic(home.path() / "result.json", "{}").value();
  const auto run = home.sandboxed("touch here /tmp/there && ls " + home.path().string() + "; touch " +
                                  home.path().string() + "/above" +
                                  "; for place in /usr /etc / /dev /opt; do touch $place/written 2>/dev/null && echo "
                                  "written $place; done; ls /root /home; "
                                  "pwd; echo $HOME $TMPDIR")
                       .value();
  if (!has_private_files(run.isolation)) return;
  const std::string work = (home.path() / "work").string();
  CHECK(run.process.standard_output == "work\n" + work + "\n/tmp " + work + "\n");
  CHECK(fs::exists(home.path() / "work/here"));
  // These files were written to the private /tmp.
  CHECK_FALSE(fs::exists("/tmp/there"));
  CHECK_FALSE(fs::exists(home.path() / "above"));
}

TEST_CASE("a toolkit elsewhere is visible where it lies, through its links", "[exec][sandbox][process]") {
  Home home;
  fs::create_directories(home.path() / "toolkit-12/bin");
  fs::create_directories(home.path() / "toolkit-12/include");
  write_file_atomic(home.path() / "toolkit-12/include/toolkit.h", "header\n").value();
  write_file_atomic(home.path() / "toolkit-12/bin/cc", "#!/bin/sh\ncat $(dirname $0)/../include/toolkit.h\n",
                    {.mode = 0755})
      .value();
  fs::create_directory_symlink("toolkit-12", home.path() / "toolkit");
  fs::create_directories(home.path() / "bin");
  fs::create_symlink("../toolkit/bin/cc", home.path() / "bin/cc");
  const auto program = (home.path() / "bin/cc").string();
  const auto folders = toolchain_folders(program, home.path().string());
  // Its own folder's parent is the home, which stays hidden.
  CHECK(folders == std::vector<std::string>{program, (home.path() / "toolkit-12/bin/cc").string(),
                                            (home.path() / "toolkit-12").string()});
  const auto run =
      home.sandboxed(program + " ; " + home.path().string() + "/toolkit-12/bin/cc; ls -A " + home.path().string(),
                     {.readable = folders})
          .value();
  if (!has_private_files(run.isolation)) return;
  INFO(run.process.standard_error);
  CHECK(run.process.standard_output == "header\nbin\ntoolkit\ntoolkit-12\nwork\n");
}

TEST_CASE("a hidden folder stays hidden in a readable one", "[exec][sandbox][process]") {
  Home home;
  const fs::path shared = home.path() / "shared";
  fs::create_directories(shared / "results");
  fs::create_directories(shared / "tool");
  write_file_atomic(shared / "results/secret", k_secret).value();
  write_file_atomic(shared / "results/visible", "yes\n").value();
  const auto run = home.sandboxed("cd " + shared.string() + " && ls -A . results; cat results/*",
                                  {.readable = {shared.string(), (shared / "results/visible").string()},
                                   .hidden = {(shared / "results").string()}})
                       .value();
  if (!has_private_files(run.isolation)) return;
  CHECK(run.process.standard_output == ".:\nresults\ntool\n\nresults:\nvisible\nyes\n");
}

TEST_CASE("there is no network in the sandbox", "[exec][sandbox][process]") {
  Home home;
  auto python = find_program("python3", {{"PATH", "/usr/bin:/bin"}});
  if (!python) return;
  const auto run =
      home.sandboxed(
              *python +
              " -c 'import socket\ntry:\n  socket.socket(); print(\"open\")\nexcept OSError as e: print(e.errno)'")
          .value();
  CHECK(run.process.standard_output == "1\n");  // EPERM
}

TEST_CASE("what a compiler leaves behind ends with it", "[compile][sandbox][process]") {
  Home home;
  const auto run = home.sandboxed("setsid sleep 4711 & (setsid sleep 4711 &) ; sleep 0.05; exit 3").value();
  CHECK(run.process.exit_code == 3);
  CHECK_FALSE(is_running(std::string("sleep\0004711", 10)));
  const auto late = home.sandboxed("trap '' TERM; setsid sleep 4712 & sleep 4712", {}, 200ms).value();
  CHECK(late.process.timed_out);
  CHECK_FALSE(is_running(std::string("sleep\0004712", 10)));
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  CHECK(home.sandboxed("setsid sleep 4713 & sleep 4713", {}, 20s, source.get_token()).error().code ==
        ErrorCode::Cancelled);
  CHECK_FALSE(is_running(std::string("sleep\0004713", 10)));
}

TEST_CASE("the sandbox ends as its program did", "[exec][sandbox][process]") {
  Home home;
  CHECK(home.sandboxed("exit 0").value().process.exit_code == 0);
  CHECK(home.sandboxed("exit 42").value().process.exit_code == 42);
  CHECK(home.sandboxed("kill -SEGV $$").value().process.signal == SIGSEGV);
  CHECK(home.sandboxed("kill -KILL $$").value().process.signal == SIGKILL);
  const auto run = home.sandboxed("echo out; echo error >&2").value();
  CHECK(run.process.standard_output == "out\n");
  CHECK(run.process.standard_error == "error\n");
  CHECK_FALSE(fs::exists(home.path() / "report"));
}

TEST_CASE("a program that cannot be started in the sandbox is MissingTool", "[exec][sandbox][process]") {
  Home home;
  const auto start = [&](const std::string& helper, const std::string& program) {
    return run_sandboxed(helper, {}, (home.path() / "report").string(), {.command = {program}}, *home.runner, {})
        .error();
  };
  CHECK(start(KERNELGEN_SANDBOX, "/no/such/program").code == ErrorCode::MissingTool);
  CHECK(start(KERNELGEN_SANDBOX, "/no/such/program").message ==
        "cannot start /no/such/program in the sandbox: No such file or directory");
  const auto missing = start("/no/kgen-sandbox", "/bin/true");
  CHECK(missing.code == ErrorCode::MissingTool);
  CHECK(missing.message.find("/no/kgen-sandbox") != std::string::npos);
}

TEST_CASE("a deadline during the start of the sandbox is no failure of the sandbox", "[exec][sandbox][process]") {
  Home home;
  // The signal of the deadline may end the helper's child first, and the helper then reports ECHILD.
  const auto helper = home.script("echo failed sandbox 10 >\"$2\"; sleep 60");
  const auto run = run_sandboxed(
      helper.string(), {}, (home.path() / "report").string(),
      {.command = {"/bin/true"}, .environment = {{"PATH", "/usr/bin:/bin"}}, .timeout = 500ms}, *home.runner, {});
  REQUIRE(run.has_value());
  CHECK(run->process.timed_out);
  CHECK(run->isolation.empty());
}

TEST_CASE("without namespaces a compiler still compiles, and the report names what is missing",
          "[compile][sandbox][process]") {
  Home home;
  // A helper that makes unshare fail for the sandbox, as some containers do.
  const fs::path refusing = home.path() / "refusing";
  write_file_atomic(refusing, "#!/bin/sh\nexec " KERNELGEN_REFUSE_NAMESPACES " " KERNELGEN_SANDBOX " \"$@\"\n",
                    {.mode = 0755})
      .value();
  auto options = home.options();
  options.sandbox = refusing.string();
  auto compiler = make_cpp_compiler(options, *home.runner).value();
  const auto outcome = compiler->compile({.candidate = make_candidate(Target::Cpp, "int x;")}, {}).value();
  REQUIRE(std::holds_alternative<Compiled>(outcome));
  const auto missing = fmt::format(
      "no user namespace, no private file system, no pid namespace, no network namespace, no ipc namespace{}",
      ::geteuid() == 0 ? ", no user besides root" : "");
  const auto isolation = report_of(outcome).isolation;
  // The second on a kernel without Landlock.
  CHECK((isolation == fmt::format("partial: {}, but Landlock", missing) ||
         isolation == fmt::format("weak: {}", missing)));
  // Processes that the program left end, too, because the supervisor becomes the parent of orphans.
  const auto run = run_sandboxed(
      refusing.string(), {}, (home.path() / "report").string(),
      {.command = {"/bin/sh", "-c", "setsid sleep 4714 & sleep 0.05"}, .environment = {{"PATH", "/usr/bin:/bin"}}},
      *home.runner, {});
  REQUIRE(run.has_value());
  CHECK_FALSE(is_running(std::string("sleep\0004714", 10)));
}

TEST_CASE("the sandbox costs a compilation little", "[compile][sandbox][process]") {
  Home home;
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  std::vector<double> plain;
  std::vector<double> boxed;
  for (int i = 0; i < 15; ++i) {
    plain.push_back(
        std::chrono::duration<double, std::milli>(home.runner->run({.command = {"/bin/true"}}, {}).value().duration)
            .count());
    boxed.push_back(
        std::chrono::duration<double, std::milli>(home.sandboxed("exec /bin/true").value().process.duration).count());
  }
  WARN("a program alone " << median(plain) << " ms, in the sandbox " << median(boxed) << " ms");
  // Far above the 5 ms of an idle machine, so that only a defect exceeds it.
  CHECK(median(boxed) < 250);
}
