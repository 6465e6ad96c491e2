#pragma once

/// \file
/// Locks between processes. Only this file calls flock(2): the kernel releases such a lock when its process ends in any
/// way, so that no lock outlives its holder.

#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

enum class LockKind {
  Exclusive,  ///< excludes every other lock
  Shared,     ///< excludes exclusive locks only
};

/// Locks an open file without waiting. False when another descriptor, perhaps of this process, holds a conflicting
/// lock. The lock ends when the last copy of the descriptor closes. `name` is for messages.
[[nodiscard]] Result<bool> try_lock(int fd, std::string_view name, LockKind kind = LockKind::Exclusive);

/// The same, but tries again every `poll` until it succeeds or `deadline` has passed; false at the deadline. Cancelled
/// when stopped.
[[nodiscard]] Result<bool> wait_for_lock(int fd, std::string_view name, std::chrono::steady_clock::time_point deadline,
                                         const std::stop_token& stop,
                                         std::chrono::milliseconds poll = std::chrono::milliseconds{5});

/// Releases the lock before its descriptor closes.
void unlock(int fd);

/// The process that holds a lock file.
struct LockHolder {
  int pid = 0;
  std::string host;
  /// UTC, ISO 8601.
  std::string since;
};

/// Reads the content of a lock file; nothing when it names no holder.
[[nodiscard]] std::optional<LockHolder> read_lock_holder(std::string_view text);

/// How to take a lock file.
struct LockFileRequest {
  /// Created when missing, and never removed: removing it would let two processes lock two files of one name.
  std::filesystem::path file;
  /// The resource that the lock protects, and the user's remedy while it is taken. Both are for the message.
  std::string resource;
  std::string advice;
  /// Time to wait for another holder.
  std::chrono::milliseconds wait{0};
};

/// A file that one process at a time locks, and that names this process. The destructor releases the lock.
class LockFile {
 public:
  /// Busy, naming the holder, when another process does not release it in time.
  [[nodiscard]] static Result<LockFile> acquire(const LockFileRequest& request);

  LockFile(LockFile&& other) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  ~LockFile() { release(); }

 private:
  explicit LockFile(UniqueFd fd) : fd_(std::move(fd)) {}
  void release() noexcept;

  UniqueFd fd_;
};

}  // namespace v0
}  // namespace kernelgen
