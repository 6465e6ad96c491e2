#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <vector>

#include <kernelgen/exec/process.hpp>

#include "exec/leader.hpp"
#include "exec/spawn.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// An orphan outside the group may hold a pipe for ever; what was in it when the leader ended is there at once.
constexpr std::chrono::milliseconds k_drain{50};

/// The parent's end of one output stream: keeps the beginning, reads and drops the rest.
class Capture {
 public:
  explicit Capture(std::size_t cap) : cap_(cap) {}

  /// The child's end.
  Result<UniqueFd> open() {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
    reading_.reset(ends[0]);
    UniqueFd writing(ends[1]);
    // Only our end: the child's shares no flags with it, and must block.
    if (::fcntl(reading_.get(), F_SETFL, O_NONBLOCK) != 0) return errno_error(errno, "cannot set up a pipe");
    return writing;
  }

  [[nodiscard]] int fd() const { return reading_.get(); }
  [[nodiscard]] bool open_still() const { return reading_.valid(); }
  [[nodiscard]] bool truncated() const { return truncated_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

  /// Reads what is there, but not for ever: a flood must not keep the caller from its deadline.
  void pump(std::vector<char>& buffer) {
    for (int round = 0; round < 16 && reading_.valid(); ++round) {
      const ssize_t count = ::read(reading_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        reading_.reset();
        return;
      }
      const auto size = static_cast<std::size_t>(count);
      const std::size_t kept = std::min(size, cap_ - text_.size());
      text_.append(buffer.data(), kept);
      truncated_ = truncated_ || kept < size;
    }
  }

 private:
  UniqueFd reading_;
  std::string text_;
  std::size_t cap_;
  bool truncated_ = false;
};

/// A file in memory: no pipe that could fill up, no writer that could meet SIGPIPE, nothing to wait for.
Result<UniqueFd> make_input(const std::string& text) {
  UniqueFd fd(::memfd_create("stdin", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return errno_error(errno, "cannot make standard input");
  KERNELGEN_CHECK(write_all(fd.get(), text, "standard input"));
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return errno_error(errno, "cannot rewind standard input");
  return fd;
}

/// One process from start to end.
class Run {
 public:
  explicit Run(const ProcessRequest& request)
      : request_(request), out_(request.max_output_bytes), err_(request.max_output_bytes), buffer_(1u << 16) {}

  Result<ProcessOutcome> operator()(std::stop_token stop);

 private:
  Result<Spawned> start();
  void watch(Leader& leader, int stop_fd);
  void drain();
  bool next_step(const Leader& leader);

  enum class Phase { Running, Terminating, Killing };

  const ProcessRequest& request_;
  Capture out_;
  Capture err_;
  std::vector<char> buffer_;
  Phase phase_ = Phase::Running;
  Clock::time_point next_;
  bool timed_out_ = false;
  bool cancelled_ = false;
};

Result<Spawned> Run::start() {
  KERNELGEN_TRY(auto out, out_.open());
  KERNELGEN_TRY(auto err, err_.open());
  std::vector<InheritedDescriptor> descriptors{{out.get(), 1}, {err.get(), 2}};
  UniqueFd input;
  if (request_.standard_input) {
    KERNELGEN_TRY(input, make_input(*request_.standard_input));
    descriptors.push_back({input.get(), 0});
  }
  return spawn_process({.command = request_.command,
                        .environment = request_.environment,
                        .working_directory = request_.working_directory,
                        .limits = request_.limits},
                       descriptors);
}

/// What is due at `next_`. False when nothing more can be done.
bool Run::next_step(const Leader& leader) {
  switch (phase_) {
    case Phase::Running:
      leader.signal_group(SIGTERM);
      leader.signal_group(SIGCONT);  // a stopped process takes the signal only when it goes on
      phase_ = Phase::Terminating;
      next_ = Clock::now() + request_.grace;
      return true;
    case Phase::Terminating:
      leader.signal_group(SIGKILL);
      phase_ = Phase::Killing;
      next_ = Clock::now() + k_kill_patience;
      return true;
    case Phase::Killing:
      return false;
  }
  return false;
}

/// Returns once the leader has ended, or when even KILL did not end it.
void Run::watch(Leader& leader, int stop_fd) {
  while (!leader.ended()) {
    const auto now = Clock::now();
    if (now >= next_) {
      if (phase_ == Phase::Running) timed_out_ = true;
      if (!next_step(leader)) return;
      continue;
    }
    pollfd watched[4] = {{out_.fd(), POLLIN, 0},
                         {err_.fd(), POLLIN, 0},
                         {leader.pidfd(), POLLIN, 0},
                         {cancelled_ ? -1 : stop_fd, POLLIN, 0}};
    const int timeout = poll_timeout(next_);
    ::poll(watched, 4, leader.pidfd() >= 0 ? timeout : std::min(timeout, k_poll_without_pidfd_ms));
    if (watched[0].revents != 0) out_.pump(buffer_);
    if (watched[1].revents != 0) err_.pump(buffer_);
    if (watched[3].revents != 0 && !cancelled_) {
      cancelled_ = true;
      if (phase_ == Phase::Running) next_step(leader);
    }
  }
}

void Run::drain() {
  const auto until = Clock::now() + k_drain;
  while (out_.open_still() || err_.open_still()) {
    pollfd watched[2] = {{out_.fd(), POLLIN, 0}, {err_.fd(), POLLIN, 0}};
    if (Clock::now() >= until || ::poll(watched, 2, poll_timeout(until)) == 0) return;
    if (watched[0].revents != 0) out_.pump(buffer_);
    if (watched[1].revents != 0) err_.pump(buffer_);
  }
}

Result<ProcessOutcome> Run::operator()(std::stop_token stop) {
  const Error cancelled{
      ErrorCode::Cancelled, "cancelled: " + (request_.command.empty() ? std::string() : request_.command.front()), {}};
  if (stop.stop_requested()) return cancelled;
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return errno_error(errno, "cannot make an event descriptor");

  const auto started = Clock::now();
  next_ = started + std::min(request_.timeout, k_forever);
  KERNELGEN_TRY(auto spawned, start());
  Leader leader(std::move(spawned));
  {
    std::stop_callback on_stop(stop, [fd = wake.get()] { ::eventfd_write(fd, 1); });
    watch(leader, wake.get());
  }
  if (!leader.ended())
    return Error{ErrorCode::Unavailable, "cannot end " + request_.command.front() + ": it survived SIGKILL", {}};
  leader.reap();
  const auto ended = Clock::now();
  drain();
  if (cancelled_) return cancelled;

  const ExitStatus status = *leader.status();
  if (!status.exit_code && !status.signal)
    return Error{ErrorCode::Unavailable,
                 "the exit status of " + request_.command.front() +
                     " was taken by the surrounding program: it ignores SIGCHLD or waits for all children",
                 {}};
  ProcessOutcome outcome;
  outcome.exit_code = status.exit_code;
  outcome.signal = status.signal;
  outcome.timed_out = timed_out_;
  outcome.output_truncated = out_.truncated() || err_.truncated();
  outcome.standard_output = out_.take();
  outcome.standard_error = err_.take();
  outcome.duration = ended - started;
  return outcome;
}

class SystemProcessRunner final : public ProcessRunner {
 public:
  Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) override {
    return Run(request)(std::move(stop));
  }
};

}  // namespace

std::unique_ptr<ProcessRunner> make_process_runner() { return std::make_unique<SystemProcessRunner>(); }

}  // namespace v0
}  // namespace kernelgen
