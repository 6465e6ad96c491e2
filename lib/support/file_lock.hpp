#pragma once

/// \file
/// Locks between processes. flock(2) is called here and nowhere else: the kernel releases such a lock when its process
/// ends, however it ends, so that no lock outlives its holder.

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

/// Locks an open file without waiting. False when a lock of another descriptor, perhaps of this process, is in the way.
/// The lock ends when the last copy of the descriptor closes. `name` is for messages.
[[nodiscard]] Result<bool> try_lock(int fd, std::string_view name, LockKind kind = LockKind::Exclusive);

/// The same, but asks again every `poll` until the lock is there or `deadline` has passed; false at the deadline.
/// Cancelled when stopped.
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

/// What a lock file says of its holder; nothing when it says nothing that can be read.
[[nodiscard]] std::optional<LockHolder> read_lock_holder(std::string_view text);

/// How to take a lock file.
struct LockFileRequest {
  /// Made when missing, and never removed: removing it would let two processes hold two files of one name.
  std::filesystem::path file;
  /// What the lock protects, and what its user can do while it is taken. Both are for the message.
  std::string resource;
  std::string advice;
  /// How long to wait for another holder.
  std::chrono::milliseconds wait{0};
};

/// A file that one process at a time holds, and that says which one. Releases it at the end of its life.
class LockFile {
 public:
  /// Busy, naming the holder, when another one does not release it in time.
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
