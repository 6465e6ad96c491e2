#include "support/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "support/clock.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::steady_clock;

/// A lock file holds three short lines.
constexpr std::size_t k_max_holder_bytes = 1000;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return sanitize_line(name.data(), name.size());
}

/// "process 4711 on node7, since 2025-01-31T12:00:00.000Z"; empty when the file says nothing, because its holder is
/// still writing it or is an older version.
std::string describe_holder(const std::filesystem::path& file) {
  const auto text = read_file(file, k_max_holder_bytes);
  const auto holder = text ? read_lock_holder(*text) : std::nullopt;
  return holder ? fmt::format(" (process {} on {}, since {})", holder->pid, holder->host, holder->since) : "";
}

Error in_use(const LockFileRequest& request) {
  return {ErrorCode::Busy,
          request.resource + " is in use by another kgen" + describe_holder(request.file) + "; " + request.advice};
}

}  // namespace

Result<bool> try_lock(int fd, std::string_view name, LockKind kind) {
  const int operation = (kind == LockKind::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (::flock(fd, operation) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno == ENOLCK || errno == EOPNOTSUPP)
      return Error{ErrorCode::Unsupported, "cannot lock " + std::string(name) +
                                               ": the file system has no locks; use a directory on another one, or let "
                                               "its administrator enable them"};
    if (errno != EINTR) return errno_error(errno, "cannot lock " + std::string(name));
  }
  return true;
}

Result<bool> wait_for_lock(int fd, std::string_view name, steady_clock::time_point deadline,
                           const std::stop_token& stop, std::chrono::milliseconds poll) {
  // flock() can wait by itself, but neither with a deadline nor with a stop token.
  while (true) {
    KERNELGEN_TRY(const bool locked, try_lock(fd, name));
    if (locked) return true;
    const auto now = steady_clock::now();
    if (now >= deadline) return false;
    if (!sleep_until(std::min<steady_clock::time_point>(now + poll, deadline), stop))
      return Error{ErrorCode::Cancelled, "cancelled while waiting for " + std::string(name)};
  }
}

void unlock(int fd) { ::flock(fd, LOCK_UN); }

std::optional<LockHolder> read_lock_holder(std::string_view text) {
  LockHolder holder;
  for (const auto line : split_lines(text)) {
    const auto blank = line.find(' ');
    if (blank == line.npos) continue;
    const auto name = line.substr(0, blank);
    const auto value = line.substr(blank + 1);
    if (name == "pid") std::from_chars(value.data(), value.data() + value.size(), holder.pid);
    if (name == "host") holder.host = sanitize_line(value, k_max_holder_bytes);
    if (name == "since") holder.since = sanitize_line(value, k_max_holder_bytes);
  }
  if (holder.pid <= 0 || holder.host.empty() || holder.since.empty()) return std::nullopt;
  return holder;
}

Result<LockFile> LockFile::acquire(const LockFileRequest& request) {
  const std::string name = request.file.string();
  UniqueFd fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.valid()) return errno_error(errno, "cannot open the lock " + name);
  KERNELGEN_TRY(const bool locked, wait_for_lock(fd.get(), name, steady_clock::now() + request.wait, {}));
  if (!locked) return in_use(request);
  const auto since = utc_iso8601(std::chrono::system_clock::now());
  const std::string text = fmt::format("pid {}\nhost {}\nsince {}\n", ::getpid(), host_name(), since);
  LockFile lock(std::move(fd));
  // The lock holds without its text: a full disk only makes messages less precise.
  if (::ftruncate(lock.fd_.get(), 0) == 0) static_cast<void>(write_all(lock.fd_.get(), text, name));
  return lock;
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  if (this != &other) {
    release();
    fd_ = std::move(other.fd_);
  }
  return *this;
}

void LockFile::release() noexcept {
  if (!fd_.valid()) return;
  // A lock that is free must not name a holder.
  [[maybe_unused]] const int ignored = ::ftruncate(fd_.get(), 0);
  fd_.reset();
}

}  // namespace v0
}  // namespace kernelgen
