#include "bench/processor_sampler.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

/// A supervisor that ends with its runner's exit code, and the runner, which counts until SIGUSR1 comes.
struct Processes {
  pid_t supervisor = 0;
  pid_t runner = 0;
};

Processes start() {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  Processes started;
  started.supervisor = ::fork();
  if (started.supervisor == 0) {
    const pid_t runner = ::fork();
    if (runner == 0) {
      ::signal(SIGUSR1, [](int) { ::_exit(7); });
      for (volatile unsigned i = 0;;) i = i + 1;
    }
    int status = 0;
    if (::write(pipe[1], &runner, sizeof runner) != sizeof runner || ::waitpid(runner, &status, 0) != runner)
      ::_exit(1);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 2);
  }
  REQUIRE(::read(pipe[0], &started.runner, sizeof started.runner) == sizeof started.runner);
  ::close(pipe[0]);
  ::close(pipe[1]);
  return started;
}

}  // namespace

TEST_CASE("a process is sampled from outside, and goes on", "[bench][processor_sampler]") {
  const auto processes = start();
  ProcessorSampler sampler(processes.runner);
  std::this_thread::sleep_for(100ms);
  sampler.stop();
  CHECK(sampler.could_trace());
  CHECK(sampler.samples().size() >= 3);
  const auto code = read_code_mappings(processes.runner);
  CHECK(code.size() > 3);
  for (const auto& one : sampler.samples())
    CHECK(std::any_of(code.begin(), code.end(), [&](const auto& mapping) {
      return mapping.begin <= one.instruction && one.instruction < mapping.end;
    }));
  // A signal reaches it while it is sampled, and its end its parent.
  ProcessorSampler again(processes.runner);
  std::this_thread::sleep_for(10ms);
  ::kill(processes.runner, SIGUSR1);
  std::this_thread::sleep_for(100ms);
  again.stop();
  int status = 0;
  REQUIRE(::waitpid(processes.supervisor, &status, 0) == processes.supervisor);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 7);
}
