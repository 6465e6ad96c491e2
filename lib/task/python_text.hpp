#pragma once

/// \file
/// A task's Python source as lines and words: enough to read a reference by its structure. Accepts any text.

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A statement, or the head of one. A bracketed part may span several lines of the file.
struct Line {
  std::size_t indent = 0;
  std::string_view text;
  /// 1-based, in the file.
  int number = 0;
};

/// A word with the characters right before and after it.
struct Word {
  std::string_view text;
  char before = ' ';
  char after = ' ';
};

[[nodiscard]] bool is_word(char c);

template <std::size_t N>
[[nodiscard]] bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Replaces the contents of strings and comments by blanks; line ends stay.
[[nodiscard]] std::string code_only(std::string_view text);

/// The lines that are not empty. They point into `code`, which code_only() gave.
[[nodiscard]] std::vector<Line> lines_of(std::string_view code);

/// The lines of a method of a class, without its head; empty when there is none.
[[nodiscard]] std::vector<Line> method_of(const std::vector<Line>& lines, std::string_view class_name,
                                          std::string_view method);

/// The words of a text, in order.
[[nodiscard]] std::vector<Word> words_of(std::string_view text);

/// Position of an assignment's "=", or of the "=" in its "+="; npos for other lines.
[[nodiscard]] std::size_t assignment(std::string_view line);

/// Splits a text at commas outside brackets, and trims the parts.
[[nodiscard]] std::vector<std::string_view> split_arguments(std::string_view text);

/// One past the bracket that closes the one at `open`; the end of the text when there is none.
[[nodiscard]] std::size_t end_of_brackets(std::string_view text, std::size_t open);

}  // namespace v0
}  // namespace kernelgen
