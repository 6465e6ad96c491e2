#include "support/shared_directory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/random_id.hpp"

namespace kernelgen {
inline namespace v0 {
namespace fs = std::filesystem;
namespace {

std::chrono::nanoseconds modified(const struct stat& info) {
  return std::chrono::seconds(info.st_mtim.tv_sec) + std::chrono::nanoseconds(info.st_mtim.tv_nsec);
}

/// True after success, false for a missing file, or the error.
Result<bool> done_unless_missing(int result, const std::string& what) {
  if (result == 0) return true;
  if (errno == ENOENT) return false;
  return errno_error(errno, what);
}

}  // namespace

std::string SharedDirectory::what(const char* verb, const std::string& name) const {
  return "cannot " + std::string(verb) + " " + (path_ / name).string();
}

Result<SharedDirectory> SharedDirectory::open(const fs::path& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return errno_error(errno, "cannot open the directory " + path.string());
  return SharedDirectory(std::move(fd), path);
}

Result<std::vector<std::string>> SharedDirectory::names() const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(path_, error); !error && entry != fs::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return errno_error(error.value(), "cannot list " + path_.string());
  return names;
}

Result<std::optional<FileStatus>> SharedDirectory::status(const std::string& name) const {
  struct stat info {};
  if (::fstatat(fd_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::optional<FileStatus>{};
    return errno_error(errno, what("look at", name));
  }
  if (!S_ISREG(info.st_mode)) return std::optional<FileStatus>{};
  return std::optional<FileStatus>{FileStatus{info.st_ino, info.st_size, modified(info)}};
}

Result<std::optional<std::string>> SharedDirectory::read(const std::string& name, std::size_t max_bytes) const {
  // Without O_NONBLOCK, opening a named pipe in place of the file would block.
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ELOOP) return std::optional<std::string>{};
    return errno_error(errno, what("read", name));
  }
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return errno_error(errno, what("read", name));
  if (!S_ISREG(info.st_mode)) return std::optional<std::string>{};
  auto content = read_all(fd.get(), max_bytes, (path_ / name).string());
  if (!content) return std::move(content).error();
  return std::optional<std::string>{*std::move(content)};
}

Result<bool> SharedDirectory::rename(const std::string& from, const std::string& to) const {
  return done_unless_missing(::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()), what("rename", from));
}

Result<bool> SharedDirectory::remove(const std::string& name) const {
  return done_unless_missing(::unlinkat(fd_.get(), name.c_str(), 0), what("remove", name));
}

Result<bool> SharedDirectory::touch(const std::string& name) const {
  // Without explicit times, a network file system takes its server's time.
  return done_unless_missing(::utimensat(fd_.get(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW), what("touch", name));
}

Result<std::chrono::nanoseconds> SharedDirectory::now() const {
  const std::string name = ".now-" + random_hex(8);
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno_error(errno, what("write", name));
  struct stat info {};
  const bool told = ::futimens(fd.get(), nullptr) == 0 && ::fstat(fd.get(), &info) == 0;
  const int error = errno;
  ::unlinkat(fd_.get(), name.c_str(), 0);
  if (!told) return errno_error(error, what("ask for the time in", name));
  return modified(info);
}

}  // namespace v0
}  // namespace kernelgen
