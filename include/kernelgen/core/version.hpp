#pragma once

#include <string_view>

#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The version of the loaded library, such as "0.1.0"; it may be newer than these headers.
[[nodiscard]] std::string_view version();

}  // namespace v0
}  // namespace kernelgen
