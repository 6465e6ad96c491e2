#include <sys/wait.h>

#include <array>
#include <csignal>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/exec/child.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

std::string signal_name(int signal) {
  constexpr std::array<std::pair<int, const char*>, 21> k_names{{
      {SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"}, {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"},
      {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGKILL, "SIGKILL"}, {SIGUSR1, "SIGUSR1"},
      {SIGSEGV, "SIGSEGV"}, {SIGUSR2, "SIGUSR2"}, {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
      {SIGCHLD, "SIGCHLD"}, {SIGSTOP, "SIGSTOP"}, {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"},
      {SIGIO, "SIGIO"},
  }};
  for (const auto& [number, name] : k_names)
    if (number == signal) return name;
  return fmt::format("signal {}", signal);
}

ExitStatus exit_status_from_wait(int wait_status) {
  ExitStatus status;
  if (WIFEXITED(wait_status)) status.exit_code = WEXITSTATUS(wait_status);
  if (WIFSIGNALED(wait_status)) status.signal = WTERMSIG(wait_status);
  return status;
}

std::string ExitStatus::to_line() const {
  if (exit_code) return fmt::format("exit {}", *exit_code);
  if (signal) return fmt::format("signal {} ({})", *signal, signal_name(*signal));
  return "status unknown";
}

std::string ProcessOutcome::to_line() const {
  if (timed_out) return fmt::format("timed out after {:.1f} s", std::chrono::duration<double>(duration).count());
  return ExitStatus{exit_code, signal}.to_line();
}

}  // namespace v0
}  // namespace kernelgen
