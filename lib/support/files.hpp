#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Whether a file must survive a power cut. Content-addressed caches need not, because they check hashes when they
/// read.
enum class Durability { Sync, Rename };

/// How a file is written.
struct WriteOptions {
  mode_t mode = 0644;
  Durability durability = Durability::Sync;
};

/// Default limit of read_file().
inline constexpr std::size_t k_max_file_bytes = 256u << 20;

/// Reads a whole file. InvalidArgument for a directory, and for a file of more than `max_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t max_bytes = k_max_file_bytes);

/// Replaces a file so that readers see either the old content or all of the new one: writes a temporary file in the
/// same directory and renames it. NoSpace when the disk is full; the old file is then untouched and the temporary one
/// is removed.
[[nodiscard]] Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view content,
                                             WriteOptions options = {});

/// Writes a new file with a name that ends with `name` into `directory` (empty: the system's temporary directory),
/// readable by its owner only: a last resort for content that must not be lost. Returns its path.
[[nodiscard]] Result<std::filesystem::path> write_fallback_file(const std::filesystem::path& directory,
                                                                std::string_view name, std::string_view content);

/// Checks that `path` can be written by creating and removing a file beside it; its parent directories are created. The
/// error is that of writing.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& path);

/// Creates the directory and its parents; fine when it exists.
[[nodiscard]] Result<void> make_directories(const std::filesystem::path& path);

/// Writes everything, through short writes and interruptions. `name` is for the message.
[[nodiscard]] Result<void> write_all(int fd, std::string_view content, std::string_view name);

/// Reads to the end of the file. More than `max_bytes` is InvalidArgument. `name` is for the message.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t max_bytes, std::string_view name);

/// A private directory (mode 0700) that the destructor removes with its contents. Move-only.
class TemporaryDirectory {
 public:
  /// Creates it below `parent`, which is created when missing; the name starts with `prefix`.
  [[nodiscard]] static Result<TemporaryDirectory> create(const std::filesystem::path& parent, std::string_view prefix);

  TemporaryDirectory(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory& operator=(TemporaryDirectory&& other) noexcept;
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  explicit TemporaryDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  void remove() noexcept;
  std::filesystem::path path_;
};

}  // namespace v0
}  // namespace kernelgen
