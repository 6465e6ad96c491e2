#pragma once

#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// "0.1.0": the version of the library that is loaded, which may be newer than these headers.
[[nodiscard]] std::string_view version();

}  // namespace v0
}  // namespace kernelgen
