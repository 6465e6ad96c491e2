#pragma once

#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Escapes what means something in HTML and SVG, in text and in attributes.
[[nodiscard]] inline std::string escape_markup(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace v0
}  // namespace kernelgen
