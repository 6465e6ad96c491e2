#pragma once

/// \file
/// Text in columns.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace v0 {

/// Number of characters in UTF-8 text.
[[nodiscard]] std::size_t text_width(std::string_view text);
/// Makes `text` exactly `width` characters: padded with blanks, or cut and marked "...".
[[nodiscard]] std::string fit_left(std::string_view text, std::size_t width);
/// The same with the padding in front.
[[nodiscard]] std::string fit_right(std::string_view text, std::size_t width);
/// Breaks `text` into lines of at most `width` characters, each after `indent` blanks. Breaks at blanks; longer words
/// are broken anywhere. Control characters of untrusted text are removed. 0: one line.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t indent, std::size_t width);

/// Formats a score: "1.52x", "-" for nothing.
[[nodiscard]] std::string score_text(const std::optional<double>& score);

/// Formats an interval with about three digits, because a cut interval would be wrong: "[1.48, 1.56]".
[[nodiscard]] std::string interval_text(const Ratio& ratio);

}  // namespace v0
}  // namespace kernelgen
