#include "interrupt.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "exit_codes.hpp"

namespace kernelgen::cli {

Interruption::Interruption() {
  // A closed pipe is an error of a write, not the end of kgen.
  std::signal(SIGPIPE, SIG_IGN);
  // A limit of the size of files is then an error of writing, like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
  finished_fd_ = ::eventfd(0, EFD_CLOEXEC);
  if (signal_fd_ < 0 || finished_fd_ < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  waiter_ = std::thread([this] { wait_for_signals(); });
}

Interruption::~Interruption() {
  const std::uint64_t one = 1;
  // An eventfd takes this without blocking, so the thread always ends.
  [[maybe_unused]] const auto written = ::write(finished_fd_, &one, sizeof one);
  waiter_.join();
  ::close(signal_fd_);
  ::close(finished_fd_);
}

void Interruption::wait_for_signals() {
  std::array<pollfd, 2> waiting{pollfd{signal_fd_, POLLIN, 0}, pollfd{finished_fd_, POLLIN, 0}};
  while (true) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if (waiting[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signal_fd_, &info, sizeof info) != sizeof info) continue;
    if (!source_.request_stop()) ::_exit(static_cast<int>(ExitCode::Interrupted));
  }
}

}  // namespace kernelgen::cli
