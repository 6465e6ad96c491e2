#include <algorithm>
#include <array>
#include <string>

#include "detect/cursor.hpp"
#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::array<std::string_view, 22> k_python_operators{"**=", "//=", "<<=", ">>=", "...", "**", "//", "<<",
                                                              ">>",  "<=",  ">=",  "==",  "!=",  "->", ":=", "+=",
                                                              "-=",  "*=",  "/=",  "%=",  "@=",  "&="};

bool is_string_prefix(std::string_view name) {
  constexpr std::string_view k_letters = "rRbBuUfF";
  return name.size() <= 2 &&
         std::all_of(name.begin(), name.end(), [&](char c) { return k_letters.find(c) != k_letters.npos; });
}

class PythonLexer {
 public:
  PythonLexer(std::string_view text, int first_line) : cursor_(text, first_line) {
    tokens_.list.reserve(text.size() / k_bytes_per_token);
  }

  Tokens run() && {
    while (!cursor_.done()) {
      if (at_line_start_)
        indentation();
      else
        step();
    }
    end_line();
    for (; indents_.size() > 1; indents_.pop_back()) add(TokenKind::Dedent, {}, cursor_.line());
    match_brackets(tokens_);
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string_view text, int line) { tokens_.list.push_back({kind, text, line}); }

  void end_line() {
    if (!tokens_.list.empty() && tokens_.list.back().kind != TokenKind::Newline &&
        tokens_.list.back().kind != TokenKind::Dedent && tokens_.list.back().kind != TokenKind::Indent)
      add(TokenKind::Newline, {}, cursor_.line());
  }

  void indentation() {
    constexpr std::size_t k_tab = 8;
    std::size_t width = 0;
    for (; cursor_.peek() == ' ' || cursor_.peek() == '\t' || cursor_.peek() == '\f'; cursor_.advance())
      width = cursor_.peek() == '\t' ? (width / k_tab + 1) * k_tab : width + 1;
    const char c = cursor_.peek();
    if (c == '#') cursor_.advance_to("\n");
    if (c == '#' || c == '\n' || c == '\r') return cursor_.advance();
    at_line_start_ = false;
    if (cursor_.done()) return;
    if (width > indents_.back()) {
      indents_.push_back(width);
      add(TokenKind::Indent, {}, cursor_.line());
    }
    for (; width < indents_.back(); indents_.pop_back()) add(TokenKind::Dedent, {}, cursor_.line());
  }

  void step() {
    const char c = cursor_.peek();
    if (c == '\n') {
      if (depth_ == 0) {
        end_line();
        at_line_start_ = true;
      }
      return cursor_.advance();
    }
    if (c == '\\') return cursor_.advance(cursor_.peek(1) == '\r' ? 3 : 2);
    if (c == ' ' || c == '\t' || c == '\r' || c == '\f') return cursor_.advance();
    if (c == '#') return cursor_.advance_to("\n");
    token(c);
  }

  void token(char c) {
    const std::size_t start = cursor_.at();
    const int line = cursor_.line();
    if (c == '"' || c == '\'') return string(c, line, false);
    if (is_name_start(c)) {
      cursor_.advance_while(is_name_part);
      const auto name = cursor_.since(start);
      const bool quote = cursor_.peek() == '"' || cursor_.peek() == '\'';
      if (quote && is_string_prefix(name)) return string(cursor_.peek(), line, name.find_first_of("rR") != name.npos);
      return add(TokenKind::Name, name, line);
    }
    if (is_digit(c) || (c == '.' && is_digit(cursor_.peek(1)))) {
      cursor_.advance_number();
      return add(TokenKind::Number, cursor_.since(start), line);
    }
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    add(TokenKind::Operator, cursor_.advance_operator(k_python_operators), line);
  }

  /// `line` is the line where the text between the quotes begins, from which inline sources count theirs.
  void string(char quote, int line, bool raw) {
    const std::string triple(3, quote);
    if (!cursor_.starts_with(triple)) return add(TokenKind::String, cursor_.quoted(quote), line);
    cursor_.advance(3);
    const std::size_t start = cursor_.at();
    while (!cursor_.done() && !cursor_.starts_with(triple)) cursor_.advance(!raw && cursor_.peek() == '\\' ? 2 : 1);
    add(TokenKind::String, cursor_.since(start), line);
    cursor_.advance(3);
  }

  Cursor cursor_;
  Tokens tokens_{.syntax = Syntax::Python};
  std::vector<std::size_t> indents_{0};
  int depth_ = 0;
  bool at_line_start_ = true;
};

}  // namespace

Tokens lex_python(std::string_view text, int first_line) { return PythonLexer(text, first_line).run(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
