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

/// A regular file as somebody sees it; equal as long as nobody writes it.
struct FileLook {
  ino_t inode = 0;
  off_t size = 0;
  /// Modification time as the file system says, since its epoch. Only to be compared with SharedDirectory::now().
  std::chrono::nanoseconds modified{0};
  bool operator==(const FileLook&) const = default;
};

/// A look at the names of a directory that others change meanwhile, perhaps from other machines. What is not there is
/// an answer here, not an error; symbolic links and whatever else is no regular file are not there.
///
/// Opened for each step anew: that makes network file systems ask their server, and tells when the directory is gone.
class SharedDirectory {
 public:
  /// NotFound when it is gone.
  [[nodiscard]] static Result<SharedDirectory> open(const std::filesystem::path& path);

  [[nodiscard]] Result<std::vector<std::string>> names() const;
  [[nodiscard]] Result<std::optional<FileLook>> look(const std::string& name) const;
  /// InvalidArgument for more than `max_bytes`.
  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name, std::size_t max_bytes) const;

  /// False when it is not there.
  [[nodiscard]] Result<bool> rename(const std::string& from, const std::string& to) const;
  [[nodiscard]] Result<bool> remove(const std::string& name) const;
  /// Sets the modification time to now, by the clock of the file system.
  [[nodiscard]] Result<bool> touch(const std::string& name) const;
  /// What that clock says. Makes a file for a moment.
  [[nodiscard]] Result<std::chrono::nanoseconds> now() const;

 private:
  SharedDirectory(UniqueFd fd, std::filesystem::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] std::string what(const char* verb, const std::string& name) const;

  UniqueFd fd_;
  std::filesystem::path path_;
};

}  // namespace v0
}  // namespace kernelgen
