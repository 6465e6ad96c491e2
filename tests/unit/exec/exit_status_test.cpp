#include "exec/exit_status.hpp"

#include <csignal>

#include <kernelgen/exec/process.hpp>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("wait statuses are read", "[exec][exit_status]") {
  CHECK(exit_status_from_wait(3 << 8).to_line() == "exit 3");
  CHECK(exit_status_from_wait(SIGKILL).to_line() == "signal 9 (SIGKILL)");
  CHECK(exit_status_from_wait(SIGSEGV | 0x80).to_line() == "signal 11 (SIGSEGV)");
  CHECK(ExitStatus{}.to_line() == "status unknown");
  CHECK(signal_name(64) == "signal 64");
}

TEST_CASE("a timeout is told before the signal it ended by", "[exec][exit_status]") {
  ProcessOutcome outcome;
  outcome.signal = SIGKILL;
  CHECK(outcome.to_line() == "signal 9 (SIGKILL)");
  outcome.timed_out = true;
  outcome.duration = std::chrono::milliseconds(2040);
  CHECK(outcome.to_line() == "timed out after 2.0 s");
}
