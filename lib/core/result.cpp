#include <kernelgen/core/result.hpp>

#include "core/enum_names.hpp"

namespace kernelgen {
inline namespace v0 {
std::string_view to_string(ErrorCode code) { return names_of<ErrorCode>.name(code); }
std::optional<ErrorCode> parse_error_code(std::string_view name) { return names_of<ErrorCode>.find(name); }

std::string Error::to_line() const {
  std::string line;
  for (auto step = context.rbegin(); step != context.rend(); ++step) line += *step + ": ";
  return line + message;
}

BadResult::BadResult(Error error) : std::runtime_error(error.to_line()), error_(std::move(error)) {}

}  // namespace v0
}  // namespace kernelgen
