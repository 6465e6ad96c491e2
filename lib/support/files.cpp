#include "support/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "support/errno_error.hpp"
#include "support/random_id.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace fs = std::filesystem;
namespace {

/// Removes a half-written file unless it was published.
class FileRemover {
 public:
  explicit FileRemover(std::string path) : path_(std::move(path)) {}
  FileRemover(const FileRemover&) = delete;
  FileRemover& operator=(const FileRemover&) = delete;
  ~FileRemover() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

/// A rename is durable once its directory is synced; a file system that cannot sync is no reason to fail.
void sync_directory(const fs::path& directory) {
  UniqueFd fd(::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) ::fsync(fd.get());
}

}  // namespace

Result<void> write_all(int fd, std::string_view content, std::string_view name) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, "cannot write " + std::string(name));
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> read_all(int fd, std::size_t max_bytes, std::string_view name) {
  std::string content;
  struct stat info {};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
    content.reserve(std::min(static_cast<std::size_t>(info.st_size) + 1, max_bytes + 1));
  std::size_t used = 0;
  while (true) {
    // One byte more than allowed is enough to detect a file that is too large.
    const std::size_t wanted = std::min<std::size_t>(1u << 16, max_bytes + 1 - used);
    content.resize(used + wanted);
    const ssize_t count = ::read(fd, content.data() + used, wanted);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, "cannot read " + std::string(name));
    }
    used += static_cast<std::size_t>(count);
    if (count == 0) break;
    if (used > max_bytes)
      return Error{ErrorCode::InvalidArgument,
                   "cannot read " + std::string(name) + ": larger than " + std::to_string(max_bytes) + " bytes",
                   {}};
  }
  content.resize(used);
  return content;
}

Result<std::string> read_file(const fs::path& path, std::size_t max_bytes) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return errno_error(errno, "cannot read " + path.string());
  return read_all(fd.get(), max_bytes, path.string());
}

Result<void> write_file_atomic(const fs::path& path, std::string_view content, WriteOptions options) {
  const std::string what = "cannot write " + path.string();
  const std::string temporary =
      (path.parent_path() / ("." + path.filename().string().substr(0, 100) + "." + random_hex(6) + ".tmp")).string();
  // Writable for the owner meanwhile, whatever the final mode is.
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error(errno, what);
  FileRemover remover(temporary);
  KERNELGEN_CHECK(write_all(fd.get(), content, path.string()));
  if (::fchmod(fd.get(), options.mode) != 0) return errno_error(errno, what);
  if (options.durability == Durability::Sync && ::fsync(fd.get()) != 0) return errno_error(errno, what);
  // Network file systems report a full disk only here.
  if (::close(fd.release()) != 0) return errno_error(errno, what);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return errno_error(errno, what);
  remover.keep();
  if (options.durability == Durability::Sync) sync_directory(path.parent_path());
  return {};
}

Result<fs::path> write_fallback_file(const fs::path& directory, std::string_view name, std::string_view content) {
  std::error_code error;
  auto path = directory.empty() ? fs::temp_directory_path(error) : directory;
  if (error) return errno_error(error.value(), "there is no temporary directory");
  path /= "kernelgen-" + random_hex(4) + '-' + std::string(name);
  KERNELGEN_CHECK(write_file_atomic(path, content, {.mode = 0600}));
  return path;
}

Result<void> check_writable(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return errno_error(EISDIR, "cannot write " + path.string());
  if (path.has_parent_path()) KERNELGEN_CHECK(make_directories(path.parent_path()));
  const auto probe = (path.parent_path() / (".kernelgen-" + random_hex(6) + ".tmp")).string();
  const UniqueFd fd(::open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error(errno, "cannot write " + path.string());
  ::unlink(probe.c_str());
  return {};
}

Result<void> make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return errno_error(error.value(), "cannot make directory " + path.string());
  return {};
}

Result<TemporaryDirectory> TemporaryDirectory::create(const fs::path& parent, std::string_view prefix) {
  KERNELGEN_CHECK(make_directories(parent));
  std::string name = (parent / (std::string(prefix) + "XXXXXX")).string();
  if (::mkdtemp(name.data()) == nullptr) return errno_error(errno, "cannot make a directory below " + parent.string());
  return TemporaryDirectory(name);
}

TemporaryDirectory::TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryDirectory& TemporaryDirectory::operator=(TemporaryDirectory&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
  }
  return *this;
}

TemporaryDirectory::~TemporaryDirectory() { remove(); }

void TemporaryDirectory::remove() noexcept {
  if (path_.empty()) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace v0
}  // namespace kernelgen
