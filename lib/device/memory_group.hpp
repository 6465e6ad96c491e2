#pragma once

/// \file
/// A control group that limits the memory of processes together: what each of them maps, their files in memory, and
/// what the kernel keeps for them.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <utility>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// A control group below or beside this process's own. Move-only; the destructor removes it, which requires that its
/// processes have ended.
class MemoryGroup {
 public:
  /// Makes a group that may hold `bytes`. Unavailable, with the reason, where this process may make none. `root` holds
  /// proc/ and sys/.
  [[nodiscard]] static Result<MemoryGroup> make(std::uint64_t bytes, const std::filesystem::path& root = "/");
  MemoryGroup(MemoryGroup&& other) noexcept;
  MemoryGroup& operator=(MemoryGroup&& other) noexcept;
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;
  ~MemoryGroup();

  /// Moves a process into the group, and with it the processes that it starts from now on. Memory that it has already
  /// stays where it is.
  [[nodiscard]] Result<void> add(pid_t process) const;
  /// True if a process was ended because the group had no memory left.
  [[nodiscard]] bool has_run_out() const;

 private:
  MemoryGroup(std::filesystem::path directory, UniqueFd lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::filesystem::path directory_;
  UniqueFd lock_;
};

}  // namespace v0
}  // namespace kernelgen
