#include "store/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "support/errno_error.hpp"

namespace kernelgen {
inline namespace v0 {

Result<UniqueFd> open_locked(const std::filesystem::path& file, const std::filesystem::path& resource) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return errno_error(errno, "cannot open " + file.string());
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno == EWOULDBLOCK) return Error{ErrorCode::Busy, resource.string() + " is in use by another kgen"};
  return errno_error(errno, "cannot lock " + file.string());
}

}  // namespace v0
}  // namespace kernelgen
