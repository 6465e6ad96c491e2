#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// True for well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// Replaces every byte that is not UTF-8 by U+FFFD.
[[nodiscard]] std::string to_utf8(std::string_view text);

/// Makes hostile text safe to store and show: bytes that are not UTF-8 become U+FFFD; terminal escape sequences and
/// control characters other than newline and tab are removed; at most `max_bytes`, cut between characters and marked
/// "...".
[[nodiscard]] std::string sanitize_text(std::string_view text, std::size_t max_bytes);

/// The same in one line: runs of whitespace become one space.
[[nodiscard]] std::string sanitize_line(std::string_view text, std::size_t max_bytes);

[[nodiscard]] inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}
/// The next position from `from` on where `word` stands between characters that belong to no identifier; npos: none.
[[nodiscard]] std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);
[[nodiscard]] inline bool has_word(std::string_view text, std::string_view word) {
  return find_word(text, word) != text.npos;
}
[[nodiscard]] std::string_view trim(std::string_view text);
/// The text behind the mark with which some editors begin a file in UTF-8.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
/// Parts between separators, empty ones included: "a,,b" has three.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ends; the last one may lack its end.
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);
/// The results are views of the text, so the text must not be a temporary.
template <std::same_as<std::string> Text>
void split(Text&& text, char separator) = delete;
template <std::same_as<std::string> Text>
void split_lines(Text&& text) = delete;

/// Replaces everything outside [A-Za-z0-9_.\[\]-] by %XX.
[[nodiscard]] std::string percent_encode(std::string_view text);
/// Decodes %XX. Nothing when a % is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// Lower-case hexadecimal digits.
[[nodiscard]] std::string hex_encode(std::string_view bytes);

/// Joins names as in "a, b or c".
[[nodiscard]] std::string list_alternatives(std::span<const std::string> names);

/// Number of insertions, deletions and replacements that turn one name into the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// A hint such as "; did you mean relu, gelu?" with at most three known names that are close to a wrong one, the
/// closest first. Empty when none is close.
[[nodiscard]] std::string did_you_mean(std::string_view wrong, std::span<const std::string> known);

}  // namespace v0
}  // namespace kernelgen
