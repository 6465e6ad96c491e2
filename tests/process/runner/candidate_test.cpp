// Candidates' behaviour, and the runner's reports about it.

#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.hpp"
#include "support/catch.hpp"

using namespace kgen_test;

namespace {

/// The runner must have died of that signal, with no process left.
void require_killed_by(Runner& runner, int signal_number) {
  const auto status = runner.wait_status();
  REQUIRE(status);
  REQUIRE(WIFSIGNALED(*status));
  CHECK(WTERMSIG(*status) == signal_number);
  CHECK(runner.kill_and_reap());
}

/// Sends LOAD, PREPARE, RUN and expects a CRASH in the end.
kgen_reply crash_of(Runner& runner, const std::string& candidate) {
  const auto reply = runner.evaluate(candidate);
  REQUIRE(reply);
  CHECK(reply->op == KGEN_OP_CRASH);
  return *reply;
}

}  // namespace

TEST_CASE("an honest candidate is loaded, prepared for two sets, run and destroyed", "[runner][candidate]") {
  Runner runner;
  const auto loaded = runner.load("correct");
  REQUIRE(loaded);
  INFO(text_of(*loaded));
  REQUIRE(loaded->status == KGEN_STATUS_OK);
  for (std::uint64_t set : {1, 2}) {
    const auto prepared = runner.ask(KGEN_OP_PREPARE, {set});
    REQUIRE(prepared);
    INFO(text_of(*prepared));
    REQUIRE(prepared->status == KGEN_STATUS_OK);
    CHECK(prepared->arg[0] == k_count * sizeof(float));
  }
  for (std::uint64_t flags : {0, 1, 2, 3}) {
    std::memset(runner.y(), 0xFF, k_count * sizeof(float));
    const auto ran = runner.ask(KGEN_OP_RUN, {1 + flags % 2, 0, flags});
    REQUIRE(ran);
    INFO(text_of(*ran));
    REQUIRE(ran->status == KGEN_STATUS_OK);
    CHECK(ran->end_ns > ran->start_ns);
    CHECK(ran->end_ns - ran->start_ns < 1'000'000'000);
    CHECK(ran->arg[1] == 1);
    for (std::size_t i = 0; i < k_count; ++i) REQUIRE(runner.y()[i] == 2.0f * static_cast<float>(i));
  }
  for (std::uint64_t set : {1, 2}) CHECK(runner.ask(KGEN_OP_DESTROY, {set})->status == KGEN_STATUS_OK);
  CHECK(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_PROTOCOL);
}

TEST_CASE("a call is repeated to be examined", "[runner][candidate]") {
  Runner runner;
  REQUIRE(runner.load("correct"));
  REQUIRE(runner.ask(KGEN_OP_PREPARE, {1}));
  CHECK(runner.ask(KGEN_OP_EXAMINE, {2, 0, 0})->status == KGEN_STATUS_PROTOCOL);
  const auto once = runner.ask(KGEN_OP_EXAMINE, {1, 0, 0});
  REQUIRE(once);
  CHECK(once->status == KGEN_STATUS_OK);
  CHECK(once->arg[0] == 1);
  constexpr std::uint64_t k_wanted_ns = 5'000'000;
  const auto often = runner.ask(KGEN_OP_EXAMINE, {1, 0, k_wanted_ns});
  REQUIRE(often);
  CHECK(often->arg[0] > 1);
  CHECK(often->end_ns - often->start_ns >= static_cast<std::int64_t>(k_wanted_ns));
  for (std::size_t i = 0; i < k_count; ++i) REQUIRE(runner.y()[i] == 2.0f * static_cast<float>(i));
}

TEST_CASE("a call that fails is not repeated to be examined", "[runner][candidate]") {
  Runner runner;
  REQUIRE(runner.load("fails_with_text"));
  REQUIRE(runner.ask(KGEN_OP_PREPARE, {1}));
  const auto failed = runner.ask(KGEN_OP_EXAMINE, {1, 0, 1'000'000'000});
  REQUIRE(failed);
  CHECK(failed->status != KGEN_STATUS_OK);
  CHECK(failed->arg[0] <= 1);
}

#if defined(KGEN_TEST_HAS_OPENMP)
TEST_CASE("the job's number of threads reaches OpenMP", "[runner][candidate]") {
  for (int threads : {1, 2}) {
    Runner runner;
    REQUIRE(runner.load("openmp", threads)->status == KGEN_STATUS_OK);
    REQUIRE(runner.ask(KGEN_OP_PREPARE, {1})->status == KGEN_STATUS_OK);
    REQUIRE(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_OK);
    CHECK(runner.y()[0] == static_cast<float>(threads));
  }
}

TEST_CASE("between honest calls the process sleeps", "[runner][candidate]") {
  Runner runner;
  REQUIRE(runner.evaluate("openmp")->status == KGEN_STATUS_OK);
  usleep(100'000);
  const auto reply = runner.ask(KGEN_OP_RUN, {1});
  REQUIRE(reply);
  // Waiting threads sleep soon, while spinning ones would use the whole 100 ms.
  CHECK(reply->arg[0] < 10'000'000);
}
#endif

TEST_CASE("missing entry points are named", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("missing_symbol");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_INTERFACE);
  CHECK(text_of(*reply).find("missing kgen_run, kgen_destroy") == 0);
  CHECK(runner.ask(KGEN_OP_RUN, {1})->status == KGEN_STATUS_PROTOCOL);
}

TEST_CASE("an unresolved symbol is named", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("unresolved_symbol");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_IMPORT);
  CHECK(text_of(*reply) == "candidate: undefined symbol: function_that_nobody_defines");
}

TEST_CASE("another ABI version is refused", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("wrong_version");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_INTERFACE);
  CHECK(text_of(*reply) == "kgen_abi_version is 77, this runner speaks 1");
}

TEST_CASE("code that is no shared object is refused", "[runner][candidate]") {
  Runner runner;
  const SharedMemory job{std::string_view(job_text())};
  const SharedMemory arena(12288);
  const SharedMemory code{std::string_view("int main() {}")};
  const auto reply = runner.load_code({job.fd(), arena.fd()}, code.fd());
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_IMPORT);
}

TEST_CASE("a failure comes with the candidate's text and number", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("fails_with_text");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_FAILED);
  CHECK(reply->detail == 17);
  CHECK(text_of(*reply) == "x has a shape that I cannot handle");
}

TEST_CASE("exceptions are caught and the runner goes on", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("throws");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_EXCEPTION);
  CHECK(text_of(*reply) == "thrown by the candidate");
  runner.x()[0] = 2.0f;
  const auto other = runner.ask(KGEN_OP_RUN, {1});
  REQUIRE(other);
  CHECK(other->status == KGEN_STATUS_EXCEPTION);
  CHECK(text_of(*other) == "threw an object that is no std::exception");
}

// Sanitizers have their own malloc, which ends the process.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("bad_alloc is out of memory", "[runner][candidate]") {
  Runner runner({.arguments = {"--memory-bytes", "1073741824"}});
  const auto reply = runner.evaluate("throws_bad_alloc");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_OUT_OF_MEMORY);
}

TEST_CASE("malloc of 100 GB and writing through the null pointer is out of memory", "[runner][candidate]") {
  Runner runner({.arguments = {"--memory-bytes", "1073741824"}});
  const kgen_reply crash = crash_of(runner, "huge_malloc");
  CHECK(crash.status == KGEN_STATUS_OUT_OF_MEMORY);
  CHECK(crash.arg[1] == std::uint64_t{100} << 30);
  CHECK(text_of(crash).find("after an allocation of 107374182400 bytes was refused") != std::string::npos);
  require_killed_by(runner, SIGSEGV);
}

#endif

TEST_CASE("a workspace that cannot be had", "[runner][candidate]") {
  Runner runner;
  const auto reply = runner.evaluate("huge_workspace");
  REQUIRE(reply);
  CHECK(reply->status == KGEN_STATUS_WORKSPACE);
}

TEST_CASE("writing past an output is named", "[runner][candidate]") {
  Runner runner;
  const kgen_reply crash = crash_of(runner, "past_output");
  CHECK(crash.detail == SIGSEGV);
  CHECK(text_of(crash).find("32 bytes past the end of output 'y'") != std::string::npos);
  require_killed_by(runner, SIGSEGV);
}

TEST_CASE("writing to a null pointer is named", "[runner][candidate]") {
  Runner runner;
  const kgen_reply crash = crash_of(runner, "null_write");
  CHECK(crash.status == KGEN_STATUS_FAILED);
  CHECK(text_of(crash) == "SIGSEGV at address 0x0, a null pointer");
  require_killed_by(runner, SIGSEGV);
}

TEST_CASE("abort is reported", "[runner][candidate]") {
  Runner runner;
  CHECK(crash_of(runner, "aborts").detail == SIGABRT);
  require_killed_by(runner, SIGABRT);
}

TEST_CASE("a stack overflow is reported from the alternate stack", "[runner][candidate]") {
  Runner runner;
  CHECK(crash_of(runner, "overflows_stack").detail == SIGSEGV);
  require_killed_by(runner, SIGSEGV);
}

#if defined(__x86_64__)
TEST_CASE("a division by zero is reported", "[runner][candidate]") {
  Runner runner;
  CHECK(crash_of(runner, "divides_by_zero").detail == SIGFPE);
  require_killed_by(runner, SIGFPE);
}
#endif

TEST_CASE("_exit(0) after a right answer is a death, not a success", "[runner][candidate]") {
  Runner runner;
  CHECK_FALSE(runner.evaluate("exits_zero"));
  const auto status = runner.wait_status();
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(WEXITSTATUS(*status) == 0);
  CHECK(runner.kill_and_reap());
}

TEST_CASE("exit in a static constructor is a death", "[runner][candidate]") {
  Runner runner;
  CHECK_FALSE(runner.load("exits_at_load"));
  const auto status = runner.wait_status();
  REQUIRE(status);
  CHECK(WIFEXITED(*status));
  CHECK(runner.kill_and_reap());
}

TEST_CASE("an endless loop ends with its supervisor", "[runner][candidate]") {
  Runner runner;
  REQUIRE(runner.load("loops_forever")->status == KGEN_STATUS_OK);
  REQUIRE(runner.ask(KGEN_OP_PREPARE, {1})->status == KGEN_STATUS_OK);
  REQUIRE(runner.send(KGEN_OP_RUN, {1}));
  CHECK_FALSE(runner.receive(100ms));
  CHECK(runner.kill_and_reap());
}

TEST_CASE("starting a process kills the runner", "[runner][candidate]") {
  for (const char* candidate : {"forks_in_run", "forks_at_load", "executes"}) {
    INFO(candidate);
    Runner runner;
    CHECK_FALSE(runner.evaluate(candidate));
    require_killed_by(runner, SIGSYS);
  }
}

TEST_CASE("a flood of output costs nothing", "[runner][candidate]") {
  SECTION("without a log") {
    Runner runner;
    const auto reply = runner.evaluate("floods");
    REQUIRE(reply);
    CHECK(reply->status == KGEN_STATUS_OK);
    CHECK(reply->end_ns - reply->start_ns < 1'000'000'000);
  }
  SECTION("with a log without a reader") {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    fcntl(pipe_ends[0], F_SETFD, FD_CLOEXEC);
    {
      Runner runner({.arguments = {"--log", std::to_string(pipe_ends[1])}});
      const auto reply = runner.evaluate("floods");
      REQUIRE(reply);
      CHECK(reply->status == KGEN_STATUS_OK);
      char first = 0;
      CHECK(read(pipe_ends[0], &first, 1) == 1);
      CHECK(first == 'x');
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
}

TEST_CASE("a thread that works on is seen", "[runner][candidate]") {
  Runner runner;
  auto reply = runner.evaluate("background_thread");
  REQUIRE(reply);
  CHECK(reply->arg[1] == 2);
  usleep(50'000);
  reply = runner.ask(KGEN_OP_RUN, {1});
  REQUIRE(reply);
  // The thread works during 50 ms in which the process should be idle. A loaded machine may give the thread less.
  CHECK(reply->arg[0] > 2'000'000);
  CHECK(runner.kill_and_reap());
}
