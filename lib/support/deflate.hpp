#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Compresses bytes (zlib format, RFC 1950; browsers call it "deflate"). Fails only without memory.
[[nodiscard]] Result<std::string> deflate_bytes(std::string_view bytes);

}  // namespace v0
}  // namespace kernelgen
