#pragma once

/// \file
/// A position in a text, with its line number, shared by the two lexers.

#include <algorithm>
#include <array>
#include <string_view>

namespace kernelgen {
inline namespace v0 {
namespace detect {

[[nodiscard]] inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Bytes above ASCII belong to names: both languages allow letters of any script.
[[nodiscard]] inline bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || (c & 0x80) != 0;
}
[[nodiscard]] inline bool is_name_part(char c) { return is_name_start(c) || is_digit(c); }

/// Fewer bytes than ordinary source has for each token, comments and spaces included; for reserving memory.
inline constexpr std::size_t k_bytes_per_token = 2;

/// Whether a character is an operator in both languages and begins no longer one.
[[nodiscard]] inline bool stands_alone(char c) {
  return c == '(' || c == ')' || c == '[' || c == ']' || c == '{' || c == '}' || c == ',' || c == ';' || c == '~' ||
         c == '?';
}

class Cursor {
 public:
  Cursor(std::string_view text, int line) : text_(text), line_(line) {}

  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] int line() const { return line_; }
  [[nodiscard]] std::string_view since(std::size_t start) const { return text_.substr(start, at_ - start); }
  [[nodiscard]] bool starts_with(std::string_view prefix) const {
    return text_.compare(at_, prefix.size(), prefix) == 0;
  }

  void advance() {
    if (at_ >= text_.size()) return;
    line_ += text_[at_] == '\n' ? 1 : 0;
    ++at_;
  }
  void advance(std::size_t count) {
    const std::size_t end = std::min(at_ + count, text_.size());
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  /// Moves to the next occurrence of `text`, or to the end.
  void advance_to(std::string_view text) {
    const auto found = text_.find(text, at_);
    advance((found == text_.npos ? text_.size() : found) - at_);
  }
  template <class Wanted>
  void advance_while(Wanted wanted) {
    while (!done() && wanted(text_[at_])) advance();
  }
  /// Skips a number or similar text: digits, letters, points, signs of exponents.
  void advance_number() {
    while (!done() && (is_name_part(peek()) || peek() == '.' || (peek() == '\'' && is_name_part(peek(1))))) {
      const bool exponent = (peek() == 'e' || peek() == 'E' || peek() == 'p') && (peek(1) == '+' || peek(1) == '-');
      advance(exponent ? 2 : 1);
    }
  }
  /// Reads the operator at this position: one of `operators`, longer ones first, or a single character.
  template <std::size_t N>
  std::string_view advance_operator(const std::array<std::string_view, N>& operators) {
    const std::size_t start = at_;
    const char c = peek();
    std::size_t length = (c == '|' || c == '^') && peek(1) == '=' ? 2 : 1;
    for (std::size_t i = stands_alone(c) ? N : 0; i < N; ++i) {
      if (operators[i].front() != c || !starts_with(operators[i])) continue;
      length = operators[i].size();
      break;
    }
    advance(length);
    return since(start);
  }
  /// Moves from an opening quote past the closing one, or to the end of the line. Returns the text between.
  std::string_view quoted(char quote) {
    advance();
    const std::size_t start = at_;
    while (!done() && peek() != quote && peek() != '\n') advance(peek() == '\\' ? 2 : 1);
    const auto text = since(start);
    if (peek() == quote) advance();
    return text;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  int line_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
