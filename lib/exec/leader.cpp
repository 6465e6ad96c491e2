#include "exec/leader.hpp"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace kernelgen {
inline namespace v0 {

int poll_timeout(std::chrono::steady_clock::time_point until) {
  using namespace std::chrono;
  const auto left = ceil<milliseconds>(until - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

Leader::Leader(Leader&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)), status_(other.status_) {}

Leader::~Leader() {
  if (pid_ > 0 && !status_) destroy();
}

bool Leader::ended() const {
  if (status_) return true;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) return info.si_pid != 0;
  return errno == ECHILD;
}

void Leader::signal_group(int signal) const {
  if (status_ || pid_ <= 0) return;
  // A group that is not there yet: the child's own setpgid comes before exec, which spawn_process has seen.
  ::kill(-pid_, signal);
}

void Leader::reap() {
  if (status_) return;
  siginfo_t info{};
  // Without a zombie the number may already belong to somebody else, whom we must not kill.
  const bool ours = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (ours) ::kill(-pid_, SIGKILL);
  int wait_status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(pid_, &wait_status, 0);
  } while (reaped < 0 && errno == EINTR);
  status_ = reaped == pid_ ? exit_status_from_wait(wait_status) : ExitStatus{};
}

bool Leader::wait(std::chrono::steady_clock::time_point deadline) const {
  while (!ended()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    pollfd watched{pidfd_.get(), POLLIN, 0};
    const int timeout = poll_timeout(deadline);
    ::poll(&watched, 1, pidfd_.valid() ? timeout : std::min(timeout, k_poll_without_pidfd_ms));
  }
  return true;
}

bool Leader::destroy() {
  if (status_) return true;
  signal_group(SIGKILL);
  if (!wait(std::chrono::steady_clock::now() + k_kill_patience)) return false;
  reap();
  return true;
}

}  // namespace v0
}  // namespace kernelgen
