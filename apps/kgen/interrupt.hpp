#pragma once

#include <stop_token>
#include <thread>

namespace kernelgen::cli {

/// Turns SIGINT, SIGTERM and SIGHUP into a stop request; a second one ends the process at once with exit code 130. A
/// separate thread waits for the signals, so nothing runs inside a signal handler. It must be created before any other
/// thread, because threads inherit the blocked signals.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }

 private:
  void wait_for_signals();

  std::stop_source source_;
  int signal_fd_ = -1;
  int finished_fd_ = -1;
  std::thread waiter_;
};

}  // namespace kernelgen::cli
