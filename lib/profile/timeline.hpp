#pragma once

/// \file
/// What kernelgen_profile writes: the kernels of a call, or why there are none.

#include <string_view>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// A profile without counters; Profile::unavailable is set when the module failed. MissingTool, MissingDevice and
/// InvalidTask when the process said so; Protocol for what is no timeline.
[[nodiscard]] Result<Profile> parse_timeline(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
