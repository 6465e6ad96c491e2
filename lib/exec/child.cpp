#include "exec/child.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "support/sleep.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// Milliseconds between two looks at a program where the kernel has no pidfds.
constexpr int k_poll_without_pidfd_ms = 3;
/// How long a killed process may take to end before it is given up: it may be in an uninterruptible sleep.
constexpr std::chrono::seconds k_kill_timeout{10};

/// Looks without reaping, so that the number of the process stays taken. 0: it runs; -1: there is no such child.
pid_t find_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 ? info.si_pid : -1;
}

}  // namespace

int poll_timeout(Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

Result<ChildProcess> ChildProcess::spawn(const ChildRequest& request,
                                         const std::vector<InheritedDescriptor>& inherited) {
  KERNELGEN_TRY(const pid_t pid, spawn_process(request, inherited));
  return ChildProcess(pid);
}

ChildProcess::ChildProcess(pid_t pid) : pid_(pid), pidfd_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), status_(other.status_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  if (this == &other) return *this;
  end();
  pid_ = std::exchange(other.pid_, -1);
  pidfd_ = std::move(other.pidfd_);
  status_ = other.status_;
  return *this;
}

ChildProcess::~ChildProcess() { end(); }

std::optional<int> ChildProcess::pidfd() const { return pidfd_.valid() ? std::optional(pidfd_.get()) : std::nullopt; }

bool ChildProcess::poll_pidfd(int pidfd, int timeout_ms) {
  pollfd watched{pidfd, POLLIN, 0};
  ::poll(&watched, 1, timeout_ms);
  return true;
}

bool ChildProcess::has_ended() const { return status_ || find_ended(pid_) != 0; }

void ChildProcess::signal_group(int signal) const {
  // A reaped leader's number may belong to another program.
  if (!status_ && pid_ > 0) ::kill(-pid_, signal);
}

void ChildProcess::kill_group() const { signal_group(SIGKILL); }

void ChildProcess::reap() {
  if (find_ended(pid_) == pid_) kill_group();
  int wait_status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(pid_, &wait_status, 0);
  } while (reaped < 0 && errno == EINTR);
  status_ = reaped == pid_ ? exit_status_from_wait(wait_status) : ExitStatus{};
}

std::optional<ExitStatus> ChildProcess::poll_exit() {
  if (!status_ && has_ended()) reap();
  return status_;
}

std::optional<ExitStatus> ChildProcess::wait(Clock::time_point deadline, const PollFunction& poll) {
  while (!poll_exit() && Clock::now() < deadline) {
    const int timeout = poll_timeout(deadline);
    if (!poll(pidfd_.get(), pidfd_.valid() ? timeout : std::min(timeout, k_poll_without_pidfd_ms))) return poll_exit();
  }
  return status_;
}

std::optional<ExitStatus> ChildProcess::terminate(std::chrono::milliseconds grace, const PollFunction& poll) {
  signal_group(SIGTERM);
  // A stopped process takes the signal only when it goes on.
  signal_group(SIGCONT);
  if (wait(Clock::now() + std::min(grace, k_forever), poll)) return status_;
  kill_group();
  return wait(Clock::now() + k_kill_timeout, poll);
}

void ChildProcess::end() noexcept {
  if (pid_ <= 0 || status_) return;
  kill_group();
  [[maybe_unused]] const auto ended = wait(Clock::now() + k_kill_timeout);
}

}  // namespace v0
}  // namespace kernelgen
