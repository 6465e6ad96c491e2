#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/exec/process.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

ProcessRequest misbehave(std::vector<std::string> arguments) {
  ProcessRequest request;
  request.command = {KERNELGEN_MISBEHAVE};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  request.environment = {{"PATH", "/usr/bin:/bin"}};
  request.timeout = 20s;
  return request;
}

ProcessOutcome run(const ProcessRequest& request) { return make_process_runner()->run(request, {}).value(); }

Error failure(const ProcessRequest& request) {
  auto result = make_process_runner()->run(request, {});
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

/// Whether the process has ended; it may still be a zombie that its new parent has not reaped yet.
bool is_gone(pid_t pid) {
  for (int i = 0; i < 100; ++i) {
    if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
    const auto stat = read_file("/proc/" + std::to_string(pid) + "/stat");
    if (!stat || stat.has_value() == false) return true;
    const std::string text = Result<std::string>(stat).value();
    if (text.find(") Z ") != std::string::npos) return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

TEST_CASE("exit codes come back", "[exec][process]") {
  CHECK(run(misbehave({"exit", "0"})).success());
  const auto outcome = run(misbehave({"exit", "7"}));
  CHECK(outcome.exit_code == 7);
  CHECK_FALSE(outcome.signal);
  CHECK(outcome.to_line() == "exit 7");
  CHECK(outcome.duration > 0ns);
  CHECK_FALSE(has_children());
}

TEST_CASE("a program that kills itself is reported with its signal", "[exec][process]") {
  const auto outcome = run(misbehave({"kill-self", std::to_string(SIGUSR2)}));
  CHECK(outcome.signal == SIGUSR2);
  CHECK_FALSE(outcome.exit_code);
  CHECK(outcome.to_line() == "signal 12 (SIGUSR2)");
}

TEST_CASE("stdout and stderr are kept apart", "[exec][process]") {
  const auto outcome = run(misbehave({"both"}));
  CHECK(outcome.standard_output == "out");
  CHECK(outcome.standard_error == "err");
  CHECK_FALSE(outcome.output_truncated);
}

TEST_CASE("a program that ignores TERM is killed after the grace", "[exec][process]") {
  auto request = misbehave({"ignore-term"});
  request.timeout = 300ms;
  request.grace = 100ms;
  const auto started = std::chrono::steady_clock::now();
  const auto outcome = run(request);
  const auto took = std::chrono::steady_clock::now() - started;
  CHECK(outcome.timed_out);
  CHECK(outcome.signal == SIGKILL);
  CHECK_FALSE(outcome.success());
  CHECK(outcome.standard_output == "ready\n");
  CHECK(took >= 400ms);
  CHECK(took < 3s);
  CHECK(outcome.to_line().find("timed out after 0.") == 0);
}

TEST_CASE("a program that obeys TERM ends by it", "[exec][process]") {
  auto request = misbehave({"sleep"});
  request.timeout = 50ms;
  request.grace = 10s;
  const auto outcome = run(request);
  CHECK(outcome.timed_out);
  CHECK(outcome.signal == SIGTERM);
  CHECK(outcome.duration < 3s);
}

TEST_CASE("a stopped program does not escape its deadline", "[exec][process]") {
  auto request = misbehave({"stop-self"});
  request.timeout = 100ms;
  const auto outcome = run(request);
  CHECK(outcome.timed_out);
  CHECK(outcome.duration < 5s);
}

TEST_CASE("a flood of 50 MB is drained and capped", "[exec][process]") {
  auto request = misbehave({"flood", "50000000"});
  request.max_output_bytes = 1000;
  const auto outcome = run(request);
  CHECK(outcome.success());
  CHECK(outcome.standard_output == std::string(1000, 'x'));
  CHECK(outcome.standard_error.size() == 1000);
  CHECK(outcome.output_truncated);
}

TEST_CASE("an endless flood does not outlive its deadline", "[exec][process]") {
  auto request = misbehave({"flood", "1000000000000"});
  request.timeout = 200ms;
  const auto outcome = run(request);
  CHECK(outcome.timed_out);
  CHECK(outcome.duration < 5s);
}

TEST_CASE("an orphan that holds the pipe is not waited for", "[exec][process]") {
  for (const char* mode : {"leave-child", "leave-daemon"}) {
    const auto started = std::chrono::steady_clock::now();
    const auto outcome = run(misbehave({mode}));
    CHECK(outcome.success());
    CHECK(outcome.standard_output == "left\n");
    CHECK(std::chrono::steady_clock::now() - started < 3s);
  }
}

TEST_CASE("what a program forks and leaves in its group is killed", "[exec][process]") {
  const auto outcome = run(misbehave({"child-pid"}));
  REQUIRE(outcome.success());
  const pid_t child = std::stoi(outcome.standard_output);
  CHECK(is_gone(child));
}

TEST_CASE("standard input arrives whole", "[exec][process]") {
  auto request = misbehave({"echo"});
  request.standard_input = std::string(3'000'000, 'i') + "end";
  CHECK(run(request).standard_output == *request.standard_input);
  request.standard_input = "";
  CHECK(run(request).standard_output.empty());
  request.standard_input.reset();
  CHECK(run(request).standard_output.empty());
}

TEST_CASE("a program that never reads its input ends normally", "[exec][process]") {
  auto request = misbehave({"exit", "3"});
  request.standard_input = std::string(3'000'000, 'i');
  CHECK(run(request).exit_code == 3);
  request.command = misbehave({"close-stdin"}).command;
  CHECK(run(request).exit_code == 0);
}

TEST_CASE("a missing program is MissingTool with its name", "[exec][process]") {
  auto request = misbehave({});
  request.command = {"no-such-program-here"};
  auto error = failure(request);
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.message == "cannot run no-such-program-here: not found on the PATH (/usr/bin:/bin)");
  request.command = {"/no/such/program"};
  error = failure(request);
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.message == "cannot run /no/such/program: no such program");
}

TEST_CASE("a file that is not executable is PermissionDenied", "[exec][process]") {
  auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  REQUIRE(write_file_atomic(directory.path() / "tool", "#!/bin/sh\n"));
  auto request = misbehave({});
  request.command = {(directory.path() / "tool").string()};
  CHECK(failure(request).code == ErrorCode::PermissionDenied);
  request.command = {"tool"};
  request.environment["PATH"] = directory.path().string();
  const auto error = failure(request);
  CHECK(error.code == ErrorCode::PermissionDenied);
  CHECK(error.message == "cannot run tool: found on the PATH but not executable");
}

TEST_CASE("a script without its interpreter, and a file that is no program", "[exec][process]") {
  auto directory = TemporaryDirectory::create(fs::temp_directory_path(), "kernelgen-test-").value();
  auto request = misbehave({});
  request.command = {(directory.path() / "tool").string()};
  REQUIRE(write_file_atomic(directory.path() / "tool", "#!/no/such/interpreter\n", {.mode = 0755}));
  auto error = failure(request);
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.message.find("interpreter") != std::string::npos);
  REQUIRE(write_file_atomic(directory.path() / "tool", "neither script nor program", {.mode = 0755}));
  error = failure(request);
  CHECK(error.code == ErrorCode::MissingTool);
  CHECK(error.message.find("not a program for this machine") != std::string::npos);
}

TEST_CASE("a missing working directory is NotFound", "[exec][process]") {
  auto request = misbehave({"exit", "0"});
  request.working_directory = "/no/such/directory";
  const auto error = failure(request);
  CHECK(error.code == ErrorCode::NotFound);
  CHECK(error.message.find("in directory /no/such/directory") != std::string::npos);
}

TEST_CASE("requests that cannot work are InvalidArgument", "[exec][process]") {
  auto request = misbehave({});
  request.command.clear();
  CHECK(failure(request).code == ErrorCode::InvalidArgument);
  request = misbehave({std::string("zero\0byte", 9)});
  CHECK(failure(request).code == ErrorCode::InvalidArgument);
  request = misbehave({});
  request.environment["A=B"] = "x";
  CHECK(failure(request).code == ErrorCode::InvalidArgument);
}

TEST_CASE("a stop request ends the program and is Cancelled", "[exec][process]") {
  std::stop_source source;
  std::jthread stopper([&] {
    std::this_thread::sleep_for(100ms);
    source.request_stop();
  });
  auto request = misbehave({"ignore-term"});
  const auto started = std::chrono::steady_clock::now();
  auto result = make_process_runner()->run(request, source.get_token());
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::Cancelled);
  CHECK(std::chrono::steady_clock::now() - started < 5s);
  CHECK_FALSE(has_children());
  // A run that is stopped before it begins ends the same way.
  CHECK(make_process_runner()->run(misbehave({"exit", "0"}), source.get_token()).error().code == ErrorCode::Cancelled);
}

TEST_CASE("the child gets the given environment and nothing else", "[exec][process]") {
  ::setenv("KERNELGEN_TEST_LEAK", "1", 1);
  auto request = misbehave({"environment"});
  request.environment = {{"A", "1"}, {"B", "two words"}};
  CHECK(run(request).standard_output == "A=1\nB=two words\n");
  ::unsetenv("KERNELGEN_TEST_LEAK");
}

TEST_CASE("the child has three descriptors, its own group and plain signals", "[exec][process]") {
  const int leak = ::open("/dev/null", O_RDONLY);  // not close-on-exec, as in many programs
  REQUIRE(leak >= 0);
  auto previous = std::signal(SIGPIPE, SIG_IGN);
  CHECK(run(misbehave({"descriptors"})).standard_output == "0\n1\n2\n");
  CHECK(run(misbehave({"signals"})).standard_output == "default open\n");
  std::signal(SIGPIPE, previous);
  ::close(leak);
  const auto ids = run(misbehave({"pid"})).standard_output;
  CHECK(ids.substr(0, ids.find(' ')) + "\n" == ids.substr(ids.find(' ') + 1));
  auto request = misbehave({"argv0"});
  request.environment["PATH"] = fs::path(KERNELGEN_MISBEHAVE).parent_path().string();
  request.command[0] = "misbehave";
  CHECK(run(request).standard_output == "misbehave\n");
}

TEST_CASE("limits are set, core dumps are off", "[exec][process]") {
  auto request = misbehave({"limits"});
  CHECK(run(request).standard_output.find("\n0\n") != std::string::npos);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  request.limits = {.address_space_bytes = 1u << 30, .file_size_bytes = 1u << 20, .cpu_seconds = 5};
  CHECK(run(request).standard_output == "1073741824\n1048576\n5\n0\n");
  request = misbehave({"allocate", "2000000000"});
  request.limits.address_space_bytes = 1u << 30;
  CHECK(run(request).signal == SIGABRT);
#endif
}

TEST_CASE("no signal handler is installed and no foreign child is waited for", "[exec][process]") {
  const auto handler = [](int signal) {
    struct sigaction action {};
    REQUIRE(::sigaction(signal, nullptr, &action) == 0);
    return action.sa_handler;
  };
  const pid_t mine = ::fork();
  if (mine == 0) ::_exit(42);
  const auto term = handler(SIGTERM);
  for (int i = 0; i < 5; ++i) CHECK(run(misbehave({"exit", "0"})).success());
  CHECK(handler(SIGCHLD) == SIG_DFL);
  CHECK(handler(SIGPIPE) == SIG_DFL);
  CHECK(handler(SIGTERM) == term);
  int status = 0;
  REQUIRE(::waitpid(mine, &status, 0) == mine);
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("a program that ignores SIGCHLD gets a clear error", "[exec][process]") {
  auto previous = std::signal(SIGCHLD, SIG_IGN);
  auto result = make_process_runner()->run(misbehave({"exit", "0"}), {});
  std::signal(SIGCHLD, previous);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == ErrorCode::Unavailable);
  CHECK(result.error().message.find("SIGCHLD") != std::string::npos);
}

TEST_CASE("8 threads run 40 children each, none wrong", "[exec][process]") {
  auto runner = make_process_runner();
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        const int code = (t * 40 + i) % 120;
        auto request = i % 2 == 0 ? misbehave({"exit", std::to_string(code)}) : misbehave({"echo"});
        if (i % 2 != 0) request.standard_input = std::to_string(t * 1000 + i);
        auto outcome = runner->run(request, {});
        const bool right =
            outcome && (i % 2 == 0 ? outcome->exit_code == code : outcome->standard_output == *request.standard_input);
        if (!right) ++wrong;
      }
    });
  threads.clear();
  CHECK(wrong == 0);
  CHECK_FALSE(has_children());
}

#if !defined(__SANITIZE_THREAD__)  // where vfork is a fork
TEST_CASE("a start does not wait for what other threads fork", "[exec][process]") {
  std::atomic<bool> done{false};
  std::vector<pid_t> copies;
  std::jthread forking([&] {
    while (!done && copies.size() < 200) {
      const pid_t copy = ::fork();
      if (copy == 0) {
        // It keeps every open descriptor of this process.
        ::sleep(20);
        ::_exit(0);
      }
      copies.push_back(copy);
      std::this_thread::sleep_for(1ms);
    }
  });
  std::chrono::nanoseconds longest{0};
  for (int i = 0; i < 100; ++i) longest = std::max(longest, run(misbehave({"exit", "0"})).duration);
  done = true;
  forking.join();
  for (const pid_t copy : copies) ::kill(copy, SIGKILL);
  for (const pid_t copy : copies) ::waitpid(copy, nullptr, 0);
  CHECK(longest < 10s);
}
#endif

TEST_CASE("a program is started and awaited where the kernel has no pidfds", "[exec][process]") {
  const pid_t old_kernel = ::fork();
  if (old_kernel == 0) {
    sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{4, rules};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
      ::_exit(1);
    auto request = misbehave({"exit", "7"});
    if (run(request).exit_code != 7) ::_exit(2);
    request = misbehave({"ignore-term"});
    request.timeout = 50ms;
    const auto late = run(request);
    // A slow machine ends it with SIGTERM, before it has asked to ignore that.
    const bool was_ended = late.signal == SIGKILL || late.signal == SIGTERM;
    ::_exit(late.timed_out && was_ended && ::syscall(SYS_pidfd_open, ::getpid(), 0) < 0 ? 0 : 3);
  }
  int status = 0;
  REQUIRE(::waitpid(old_kernel, &status, 0) == old_kernel);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("no descriptor is lost", "[exec][process]") {
  const auto count = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  (void)run(misbehave({"exit", "0"}));
  const auto before = count();
  for (int i = 0; i < 20; ++i) (void)run(misbehave({"both"}));
  auto request = misbehave({});
  request.command = {"/no/such/program"};
  for (int i = 0; i < 5; ++i) (void)failure(request);
  CHECK(count() == before);
}
