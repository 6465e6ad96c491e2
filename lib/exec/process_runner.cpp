#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include <kernelgen/exec/process.hpp>

#include "exec/child.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a pipe is read after the leader's end: a program that left the group may hold it open for ever, and what
/// was written before is there at once.
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
  [[nodiscard]] bool is_open() const { return reading_.valid(); }
  [[nodiscard]] bool truncated() const { return truncated_; }
  [[nodiscard]] std::string take() { return std::move(text_); }

  /// Reads what is there, in a limited number of steps, so that a flood cannot keep the caller from its deadline.
  void read_available(std::vector<char>& buffer) {
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

/// Standard input is a file in memory, because a pipe can fill up, and its writer can get SIGPIPE.
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
  Result<ChildProcess> start();
  bool read_while_polling(int pidfd, int stop_fd, int timeout_ms);
  void drain();

  const ProcessRequest& request_;
  Capture out_;
  Capture err_;
  std::vector<char> buffer_;
};

Result<ChildProcess> Run::start() {
  KERNELGEN_TRY(auto out, out_.open());
  KERNELGEN_TRY(auto err, err_.open());
  std::vector<InheritedDescriptor> descriptors{{out.get(), 1}, {err.get(), 2}};
  UniqueFd input;
  if (request_.standard_input) {
    KERNELGEN_TRY(input, make_input(*request_.standard_input));
    descriptors.push_back({input.get(), 0});
  }
  return ChildProcess::spawn({.command = request_.command,
                              .environment = request_.environment,
                              .working_directory = request_.working_directory,
                              .limits = request_.limits},
                             descriptors);
}

/// A PollFunction that takes what the program writes; false when the stop descriptor became readable.
bool Run::read_while_polling(int pidfd, int stop_fd, int timeout_ms) {
  pollfd watched[4] = {{out_.fd(), POLLIN, 0}, {err_.fd(), POLLIN, 0}, {pidfd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
  ::poll(watched, 4, timeout_ms);
  if (watched[0].revents != 0) out_.read_available(buffer_);
  if (watched[1].revents != 0) err_.read_available(buffer_);
  return watched[3].revents == 0;
}

/// Reads what was written before the program ended.
void Run::drain() {
  const auto until = Clock::now() + k_drain;
  while ((out_.is_open() || err_.is_open()) && Clock::now() < until) read_while_polling(-1, -1, poll_timeout(until));
}

Result<ProcessOutcome> Run::operator()(std::stop_token stop) {
  const Error cancelled{
      ErrorCode::Cancelled, "cancelled: " + (request_.command.empty() ? std::string() : request_.command.front()), {}};
  if (stop.stop_requested()) return cancelled;
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return errno_error(errno, "cannot make an event descriptor");

  const auto started = Clock::now();
  KERNELGEN_TRY(auto child, start());
  auto status = [&] {
    const std::stop_callback on_stop(stop, [&] { ::eventfd_write(wake.get(), 1); });
    return child.wait(started + std::min(request_.timeout, k_forever),
                      [&](int pidfd, int ms) { return read_while_polling(pidfd, wake.get(), ms); });
  }();
  const bool ended_by_itself = status.has_value();
  if (!status)
    status = child.terminate(request_.grace, [&](int pidfd, int ms) { return read_while_polling(pidfd, -1, ms); });
  const auto ended = Clock::now();
  if (!status)
    return Error{ErrorCode::Unavailable, "cannot end " + request_.command.front() + ": it survived SIGKILL", {}};
  drain();
  if (!ended_by_itself && stop.stop_requested()) return cancelled;
  if (!status->exit_code && !status->signal)
    return Error{ErrorCode::Unavailable,
                 "the exit status of " + request_.command.front() +
                     " was taken by the surrounding program: it ignores SIGCHLD or waits for all children",
                 {}};
  ProcessOutcome outcome;
  outcome.exit_code = status->exit_code;
  outcome.signal = status->signal;
  outcome.timed_out = !ended_by_itself;
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
