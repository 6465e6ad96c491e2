#pragma once

/// \file
/// Text in columns.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Characters of UTF-8.
[[nodiscard]] std::size_t text_width(std::string_view text);
/// Exactly `width` characters: filled up with blanks, or cut and marked "...".
[[nodiscard]] std::string fit_left(std::string_view text, std::size_t width);
/// The same with the blanks in front.
[[nodiscard]] std::string fit_right(std::string_view text, std::size_t width);
/// `text` in lines of at most `width` characters, each behind `indent` blanks. It is broken at blanks; longer words are
/// broken anywhere. Untrusted text loses its control characters. 0: one line.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t indent, std::size_t width);

/// "1.52x", "-" for nothing.
[[nodiscard]] std::string score_text(const std::optional<double>& score);

}  // namespace v0
}  // namespace kernelgen
