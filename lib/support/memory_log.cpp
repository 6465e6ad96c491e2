#include "support/memory_log.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "support/errno_error.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_last_line_bytes = 2000;

}  // namespace

Result<MemoryLog> MemoryLog::create() {
  UniqueFd fd(::memfd_create("kernelgen-log", MFD_CLOEXEC));
  // In append mode, a helper and its children do not overwrite each other's lines.
  if (!fd.valid() || ::fcntl(fd.get(), F_SETFL, O_APPEND) != 0)
    return errno_error(errno, "cannot make a log in memory");
  return MemoryLog(std::move(fd));
}

std::string MemoryLog::last_line() const {
  const auto size = ::lseek(fd_.get(), 0, SEEK_END);
  if (size <= 0) return {};
  const auto kept = std::min<off_t>(size, k_last_line_bytes);
  std::string tail(static_cast<std::size_t>(kept), '\0');
  const auto count = ::pread(fd_.get(), tail.data(), tail.size(), size - kept);
  tail.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  const auto lines = split_lines(trim(tail));
  return lines.empty() ? std::string() : sanitize_line(lines.back(), k_last_line_bytes);
}

}  // namespace v0
}  // namespace kernelgen
