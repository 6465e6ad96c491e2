#pragma once

/// \file
/// Zygote: a Python process that has done the slow imports and forks a fresh copy of itself on request.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "exec/child.hpp"
#include "support/frame_channel.hpp"
#include "support/memory_log.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// The Python to start, and the module that it runs.
struct ZygoteOptions {
  /// Looked up on the PATH of `environment`.
  std::string python = "python3";
  /// Its directory is the only addition to the module path.
  std::string python_dir;
  /// "kernelgen_judge" or "kernelgen_runner".
  std::string module;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};

/// Longest time that a zygote's imports may take: torch on a slow network file system takes minutes.
inline constexpr std::chrono::milliseconds k_import_timeout{300'000};

/// Purpose of a fork of the zygote.
struct ForkOptions {
  /// A directory for the builds of candidates, writable for the fork; empty: none.
  std::string builds{};
  /// True: the fork only builds there, and never sees a device.
  bool builder = false;
};

/// The versions that a zygote reports when it is ready.
struct ZygoteFacts {
  std::string python;
  std::string torch;
  std::string triton;
};

/// A running zygote. It is ready some seconds after its start. Thread-safe.
class Zygote {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Zygote>> start(ZygoteOptions options);

  /// Waits for the imports. Errors: MissingTool with Python's message when they failed.
  [[nodiscard]] Result<ZygoteFacts> wait_ready(std::chrono::milliseconds timeout, const std::stop_token& stop);
  /// Forks a process that gets `fds` in this order, and returns its pid. It is a child of the caller's process if that
  /// is a child subreaper.
  [[nodiscard]] Result<pid_t> fork(std::span<const int> fds, const ForkOptions& options = {});
  /// The last line that the zygote or its forks wrote to standard error; empty when there is none.
  [[nodiscard]] std::string last_error_line() const { return log_.last_line(); }

 private:
  Zygote(ZygoteOptions options, ChildProcess process, UniqueFd socket, MemoryLog log);

  ZygoteOptions options_;
  ChildProcess process_;
  FrameChannel channel_;
  MemoryLog log_;
  std::mutex mutex_;
  bool ready_ = false;
  ZygoteFacts facts_;
  std::int64_t next_id_ = 1;
};

}  // namespace v0
}  // namespace kernelgen
