#include "exec/exit_status.hpp"

#include <sys/wait.h>

#include <cstring>

#include <fmt/format.h>

#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

std::string signal_name(int signal) {
  const char* abbreviation = ::sigabbrev_np(signal);
  return abbreviation == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", abbreviation);
}

ExitStatus exit_status_from_wait(int wait_status) {
  ExitStatus status;
  if (WIFEXITED(wait_status)) status.exit_code = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) status.signal = WTERMSIG(wait_status);
  return status;
}

std::string ExitStatus::to_line() const {
  if (exit_code) return fmt::format("exit {}", *exit_code);
  if (signal && ::sigabbrev_np(*signal) == nullptr) return signal_name(*signal);
  if (signal) return fmt::format("signal {} ({})", *signal, signal_name(*signal));
  return "status unknown";
}

std::string ProcessOutcome::to_line() const {
  if (timed_out) return fmt::format("timed out after {:.1f} s", std::chrono::duration<double>(duration).count());
  return ExitStatus{exit_code, signal}.to_line();
}

}  // namespace v0
}  // namespace kernelgen
