#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Whether a file must survive a power cut. Content-addressed caches check hashes when they read, so they need not.
enum class Durability { Sync, Rename };

/// How a file is written.
struct WriteOptions {
  mode_t mode = 0644;
  Durability durability = Durability::Sync;
};

/// The largest file that read_file takes unless told otherwise.
inline constexpr std::size_t k_max_file_bytes = 256u << 20;

/// The whole file. A directory is InvalidArgument; so is a file of more than `max_bytes`.
[[nodiscard]] Result<std::string> read_file(const std::filesystem::path& path,
                                            std::size_t max_bytes = k_max_file_bytes);

/// Readers see the old content or all of the new one: a temporary file in the same directory, renamed.
/// NoSpace when the disk is full; the old file is then untouched and the temporary one is gone.
[[nodiscard]] Result<void> write_file_atomic(const std::filesystem::path& path, std::string_view content,
                                             WriteOptions options = {});

/// Writes a file under a new name that ends with `name` into `directory` (empty: the system's temporary directory),
/// readable by its owner only: a last resort for what must not be lost. The path of the file.
[[nodiscard]] Result<std::filesystem::path> write_fallback_file(const std::filesystem::path& directory,
                                                                std::string_view name, std::string_view content);

/// Whether `path` can be written, told by making and removing a file beside it; its parent directories are made. The
/// error is that of writing.
[[nodiscard]] Result<void> check_writable(const std::filesystem::path& path);

/// Makes the directory and its parents; fine when it is there.
[[nodiscard]] Result<void> make_directories(const std::filesystem::path& path);

/// Writes everything, through short writes and interruptions. `name` is for the message.
[[nodiscard]] Result<void> write_all(int fd, std::string_view content, std::string_view name);

/// Reads to the end of the file. More than `max_bytes` is InvalidArgument. `name` is for the message.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t max_bytes, std::string_view name);

/// A private directory (mode 0700) that goes away, with what is in it, at the end of its life. Move-only.
class TemporaryDirectory {
 public:
  /// Below `parent`, which is made when missing; the name starts with `prefix`.
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
