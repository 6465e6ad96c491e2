#include <algorithm>
#include <csignal>

#include <kernelgen/exec/child.hpp>

#include "exec/leader.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

struct ChildProcess::State {
  Leader leader;
};

Result<ChildProcess> ChildProcess::spawn(const ChildRequest& request,
                                         const std::vector<InheritedDescriptor>& inherited) {
  KERNELGEN_TRY(auto spawned, spawn_process(request, inherited));
  return ChildProcess(std::unique_ptr<State>(new State{Leader(std::move(spawned))}));
}

ChildProcess::ChildProcess(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChildProcess::ChildProcess(ChildProcess&&) noexcept = default;
ChildProcess& ChildProcess::operator=(ChildProcess&&) noexcept = default;
ChildProcess::~ChildProcess() = default;

int ChildProcess::pid() const { return state_->leader.pid(); }

std::optional<int> ChildProcess::pidfd() const {
  if (state_->leader.pidfd() < 0) return std::nullopt;
  return state_->leader.pidfd();
}

std::optional<ExitStatus> ChildProcess::poll_exit() {
  Leader& leader = state_->leader;
  if (!leader.status() && leader.ended()) leader.reap();
  return leader.status();
}

std::optional<ExitStatus> ChildProcess::wait(std::chrono::steady_clock::time_point deadline) {
  Leader& leader = state_->leader;
  if (!leader.status() && leader.wait(deadline)) leader.reap();
  return leader.status();
}

std::optional<ExitStatus> ChildProcess::terminate(std::chrono::milliseconds grace) {
  Leader& leader = state_->leader;
  leader.signal_group(SIGTERM);
  // One that was stopped gets the signal only when it goes on.
  leader.signal_group(SIGCONT);
  if (!wait(std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(grace, std::chrono::hours(24))))
    leader.destroy();
  return leader.status();
}

void ChildProcess::kill_group() { state_->leader.signal_group(SIGKILL); }

}  // namespace v0
}  // namespace kernelgen
