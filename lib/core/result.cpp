#include <kernelgen/core/result.hpp>

#include "core/names.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr auto k_error_codes = make_names<ErrorCode>({
    {ErrorCode::InvalidArgument, "invalid_argument"},
    {ErrorCode::NotFound, "not_found"},
    {ErrorCode::PermissionDenied, "permission_denied"},
    {ErrorCode::NoSpace, "no_space"},
    {ErrorCode::Io, "io"},
    {ErrorCode::MissingTool, "missing_tool"},
    {ErrorCode::MissingDevice, "missing_device"},
    {ErrorCode::Timeout, "timeout"},
    {ErrorCode::Cancelled, "cancelled"},
    {ErrorCode::Protocol, "protocol"},
    {ErrorCode::Unavailable, "unavailable"},
    {ErrorCode::Unsupported, "unsupported"},
    {ErrorCode::InvalidTask, "invalid_task"},
    {ErrorCode::Busy, "busy"},
    {ErrorCode::Internal, "internal"},
});

}  // namespace

std::string_view to_string(ErrorCode code) { return k_error_codes.name(code); }

std::string Error::to_line() const {
  std::string line;
  for (auto step = context.rbegin(); step != context.rend(); ++step) line += *step + ": ";
  return line + message;
}

BadResult::BadResult(Error error) : std::runtime_error(error.to_line()), error_(std::move(error)) {}

}  // namespace v0
}  // namespace kernelgen
