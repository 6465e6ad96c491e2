#pragma once

#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// "0.1.0": the version of the library that is loaded, which may be newer than these headers.
[[nodiscard]] std::string_view version();

}  // namespace v0
}  // namespace kernelgen
