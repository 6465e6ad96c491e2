#pragma once

/// \file
/// Drives kgen-runner directly by its protocol, without the worker: starts it in a sandbox of its own, and checks at
/// the end that no process was left.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/runner/runner_protocol.h"

namespace kgen_test {

using namespace std::chrono_literals;

/// Elements of x, layer.w and y. 4000 bytes each: the tensors begin 64 bytes into their pages and leave 32 bytes of
/// padding.
inline constexpr std::size_t k_count = 1000;

struct LaunchOptions {
  std::vector<std::string> arguments;
  /// Makes unshare fail, as on machines that refuse namespaces.
  bool refuse_namespaces = false;
};

/// Memory shared with the runner. Owns its descriptor.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes);
  explicit SharedMemory(std::string_view text);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] char* data() const { return data_; }

 private:
  int fd_ = -1;
  char* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The job that the candidates of tests/data/candidates expect.
[[nodiscard]] std::string job_text(int threads = 2, int slots = 1);
inline constexpr std::size_t k_slot_bytes = 12288;
/// Slots for which an arena has room.
inline constexpr std::size_t k_most_slots = 3;
/// The same job on a device.
[[nodiscard]] std::string device_job_text(const std::string& uuid, int slots = 1);

class Runner {
 public:
  explicit Runner(LaunchOptions options = {});
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// Nothing when no packet arrives in time, or the runner is gone.
  [[nodiscard]] std::optional<kgen_reply> receive(std::chrono::milliseconds timeout = 20s);
  bool send(std::uint16_t op, std::vector<std::uint64_t> arguments = {}, const std::vector<int>& fds = {});
  bool send_bytes(const void* bytes, std::size_t size, const std::vector<int>& fds = {});
  [[nodiscard]] std::optional<kgen_reply> ask(std::uint16_t op, std::vector<std::uint64_t> arguments = {},
                                              const std::vector<int>& fds = {});
  /// Sends JOB and LOAD for a candidate of tests/data/candidates, by name.
  [[nodiscard]] std::optional<kgen_reply> load(const std::string& candidate, int threads = 2);
  /// Sends LOAD for a candidate with another job and more descriptors after the arena.
  [[nodiscard]] std::optional<kgen_reply> load(const std::string& candidate, const std::string& job,
                                               const std::vector<int>& more_fds);
  /// Sends JOB with these descriptors and LOAD with that of the code; returns the first reply that is not OK, or
  /// LOAD's.
  [[nodiscard]] std::optional<kgen_reply> load_code(const std::vector<int>& job_fds, int code_fd);
  /// Sends LOAD, PREPARE and RUN; returns the reply of the first step that is not OK, or of RUN.
  [[nodiscard]] std::optional<kgen_reply> evaluate(const std::string& candidate, std::uint64_t flags = 0);
  /// The wait status that the supervisor reports.
  [[nodiscard]] std::optional<int> wait_status(std::chrono::milliseconds timeout = 20s);
  /// Kills the supervisor and waits for every process of this runner; false if some stayed.
  [[nodiscard]] bool kill_and_reap();

  [[nodiscard]] float* x(std::size_t slot = 0) const;
  [[nodiscard]] float* w() const { return w_of(arena_.data()); }
  [[nodiscard]] float* y(std::size_t slot = 0) const;
  /// Places of the tensors in any arena of this job.
  [[nodiscard]] static float* x_of(char* arena);
  [[nodiscard]] static float* w_of(char* arena);
  [[nodiscard]] static float* y_of(char* arena);
  [[nodiscard]] int supervisor() const { return supervisor_; }
  [[nodiscard]] const kgen_reply& hello() const { return hello_; }
  [[nodiscard]] std::chrono::nanoseconds startup() const { return startup_; }
  [[nodiscard]] bool has(std::uint64_t isolation) const { return (hello_.arg[1] & isolation) == isolation; }

 private:
  SharedMemory arena_;
  int control_ = -1;
  int status_ = -1;
  int supervisor_ = -1;
  std::uint64_t sequence_ = 0;
  kgen_reply hello_{};
  std::chrono::nanoseconds startup_{};
};

[[nodiscard]] std::string text_of(const kgen_reply& reply);
/// Waits until this process has no children at all (it is a subreaper). False if some are left.
[[nodiscard]] bool reap_everything(std::chrono::milliseconds timeout = 5s);

}  // namespace kgen_test
