#pragma once

/// \file
/// Text for terminals: its width, its lines, its colors.

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen::cli {

/// The characters that erase the line of the cursor.
inline constexpr std::string_view k_erase_line = "\r\x1b[K";

inline constexpr std::string_view k_green = "\x1b[32m";
inline constexpr std::string_view k_yellow = "\x1b[33m";
inline constexpr std::string_view k_red = "\x1b[31m";

/// `text` between the escape sequences of a color; unchanged where `use_color` is false.
[[nodiscard]] std::string colored(std::string_view text, std::string_view color, bool use_color);

/// Number of characters in a UTF-8 text.
[[nodiscard]] std::size_t count_characters(std::string_view text);

/// `text` broken at blanks into lines of at most `width` characters; a longer word keeps a line of its own. One line
/// when `width` is 0.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t width);

/// What stands between the pieces of a status.
inline constexpr std::string_view k_separator = " | ";

/// Joins pieces to lines of at most `width` characters; one line when `width` is 0. A piece that does not fit begins a
/// new line, and is cut if it is too long for one.
[[nodiscard]] std::vector<std::string> join_pieces(const std::vector<std::string>& pieces, std::string_view separator,
                                                   std::size_t width);

/// "45 s", "1 min 20 s", "2 h 3 min", "3 d 4 h".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

/// At most `width` characters of UTF-8; a cut text ends in "...".
[[nodiscard]] std::string cut_to_width(std::string_view text, std::size_t width);

}  // namespace kernelgen::cli
