#pragma once

#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// The code for an errno value: ENOENT is NotFound, a full disk or quota is NoSpace.
[[nodiscard]] ErrorCode error_code_for(int error_number);

/// An Error such as "cannot read a/b: No such file or directory" with the fitting code; `what` is "cannot read a/b".
[[nodiscard]] Error errno_error(int error_number, std::string_view what);

}  // namespace v0
}  // namespace kernelgen
