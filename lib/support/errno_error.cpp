#include "support/errno_error.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace kernelgen {
inline namespace v0 {

ErrorCode error_code_for(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return ErrorCode::NotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::PermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:  // the process's limit of a file's size
      return ErrorCode::NoSpace;
    case EISDIR:
    case EINVAL:
    case ENAMETOOLONG:
    case ELOOP:
      return ErrorCode::InvalidArgument;
    case ETIMEDOUT:
      return ErrorCode::Timeout;
    case EBUSY:
    case ETXTBSY:
      return ErrorCode::Busy;
    case EPIPE:
    case ECONNRESET:
    case ECONNREFUSED:
      return ErrorCode::Unavailable;
    default:
      return ErrorCode::Io;
  }
}

Error errno_error(int error_number, std::string_view what) {
  return Error{
      error_code_for(error_number), std::string(what) + ": " + std::generic_category().message(error_number), {}};
}

}  // namespace v0
}  // namespace kernelgen
