#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// Identity, size and time of a regular file; two are equal as long as the file is not written in between.
struct FileStatus {
  ino_t inode = 0;
  off_t size = 0;
  /// Modification time by the file system's clock, since its epoch. Only to be compared with SharedDirectory::now().
  std::chrono::nanoseconds modified{0};
  bool operator==(const FileStatus&) const = default;
};

/// An open directory that other processes, perhaps on other machines, change meanwhile. A missing file is a normal
/// result, not an error; symbolic links and other non-regular files count as missing.
///
/// It is opened anew for each step, which makes network file systems ask their server, and shows when the directory is
/// gone.
class SharedDirectory {
 public:
  /// NotFound when the directory is gone.
  [[nodiscard]] static Result<SharedDirectory> open(const std::filesystem::path& path);

  [[nodiscard]] Result<std::vector<std::string>> names() const;
  [[nodiscard]] Result<std::optional<FileStatus>> status(const std::string& name) const;
  /// Reads a file. InvalidArgument for more than `max_bytes`.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name, std::size_t max_bytes) const;

  /// Renames a file. False when it is missing.
  [[nodiscard]] Result<bool> rename(const std::string& from, const std::string& to) const;
  [[nodiscard]] Result<bool> remove(const std::string& name) const;
  /// Sets a file's modification time to now, by the clock of the file system. False when it is missing.
  [[nodiscard]] Result<bool> touch(const std::string& name) const;
  /// The current time of that clock. Creates a file for a moment.
  [[nodiscard]] Result<std::chrono::nanoseconds> now() const;

 private:
  SharedDirectory(UniqueFd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] std::string what(const char* verb, const std::string& name) const;

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace v0
}  // namespace kernelgen
