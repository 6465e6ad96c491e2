#pragma once

/// \file
/// Zygote: a Python process that has imported what is slow and forks a fresh copy of itself on request.

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

/// Which Python, and what it runs.
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

/// Limit of a zygote's imports: torch on a slow network file system takes minutes.
inline constexpr std::chrono::milliseconds k_import_timeout{300'000};

/// What a fresh copy is for.
struct ForkOptions {
  /// A directory that the copy may write to, for what candidates build; empty: none.
  std::string builds{};
  /// It only builds there, and never sees a device.
  bool builder = false;
};

/// What the zygote said of itself when it was ready.
struct ZygoteFacts {
  std::string python;
  std::string torch;
  std::string triton;
};

/// Started at once, ready some seconds later. Thread-safe.
class Zygote {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Zygote>> start(ZygoteOptions options);

  /// Waits for the imports. MissingTool with what Python said when they failed.
  [[nodiscard]] Result<ZygoteFacts> wait_ready(std::chrono::milliseconds timeout, const std::stop_token& stop);
  /// A fresh copy that owns `fds`; they are numbered as in the request. Gives its pid; it belongs to the caller's
  /// process if that is a child subreaper.
  [[nodiscard]] Result<pid_t> fork(std::span<const int> fds, const ForkOptions& options = {});
  /// The last line that it or its children wrote to standard error; empty when there is none.
  [[nodiscard]] std::string last_words() const { return log_.last_line(); }

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
