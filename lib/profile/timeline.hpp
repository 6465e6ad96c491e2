#pragma once

/// \file
/// Reads the output of kernelgen_profile: the kernels of a call, or why there are none.

#include <string_view>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Reads a profile without counters; Profile::unavailable is set when the module failed. MissingTool, MissingDevice and
/// InvalidTask as reported by the process; Protocol for malformed content.
[[nodiscard]] Result<Profile> parse_timeline(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
