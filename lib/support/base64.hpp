#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Bytes as base64 text (RFC 4648, with padding).
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// The bytes of a base64 text; nothing when it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
