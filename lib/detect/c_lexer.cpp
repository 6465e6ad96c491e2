#include <array>
#include <string>

#include "detect/cursor.hpp"
#include "detect/preprocessor.hpp"
#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

constexpr std::array<std::string_view, 25> k_c_operators{"##", "<<<", ">>>", "<<=", ">>=", "...", "->*", "::", "->",
                                                         "++", "--",  "<<",  ">>",  "<=",  ">=",  "==",  "!=", "&&",
                                                         "||", "+=",  "-=",  "*=",  "/=",  "%=",  "&="};

bool ends_line(char c) { return c == '\n' || c == '\r'; }

/// Lexer of the C family. Of `#if` / `#else` it reads the first branch that is not `#if 0`, so that braces stay
/// balanced.
class CLexer {
 public:
  CLexer(std::string_view text, int first_line, bool all_options = false)
      : cursor_(text, first_line), all_options_(all_options) {
    tokens_.list.reserve(text.size() / k_bytes_per_token);
  }

  Tokens run() && {
    while (!cursor_.done()) step();
    tokens_.macro_texts = std::make_shared<std::deque<std::string>>();
    expand_macros(tokens_, macros_);
    match_brackets(tokens_);
    match_angles(tokens_);
    separate_scopes(tokens_);
    return std::move(tokens_);
  }

  /// Returns tokens with unexpanded macros and unmatched brackets.
  std::vector<Token> lex() && {
    while (!cursor_.done()) step();
    return std::move(tokens_.list);
  }

 private:
  void add(TokenKind kind, std::string_view text, int line) {
    if (!skipping()) tokens_.list.push_back({kind, text, line});
  }

  void step() {
    const char c = cursor_.peek();
    if (ends_line(c)) {
      fresh_line_ = true;
      return cursor_.advance();
    }
    if (c == ' ' || c == '\t' || c == '\\') return cursor_.advance();
    if (cursor_.starts_with("//")) return cursor_.advance_while([](char next) { return !ends_line(next); });
    if (cursor_.starts_with("/*")) {
      cursor_.advance(2);
      cursor_.advance_to("*/");
      return cursor_.advance(2);
    }
    if (c == '#' && fresh_line_) return directive();
    fresh_line_ = false;
    token(c);
  }

  void token(char c) {
    const std::size_t start = cursor_.at();
    const int line = cursor_.line();
    if (c == '"' || c == '\'') return add(TokenKind::String, cursor_.quoted(c), line);
    if (is_name_start(c)) {
      cursor_.advance_while(is_name_part);
      const auto name = cursor_.since(start);
      if (cursor_.peek() != '"') return add(TokenKind::Name, name, line);
      if (name.back() == 'R' && name.size() <= 3) return raw_string(line);
      if (name == "L" || name == "u8" || name == "u" || name == "U") return;  // the string comes next
      return add(TokenKind::Name, name, line);
    }
    if (is_digit(c) || (c == '.' && is_digit(cursor_.peek(1)))) {
      cursor_.advance_number();
      return add(TokenKind::Number, cursor_.since(start), line);
    }
    add_operator(cursor_.advance_operator(k_c_operators), line);
  }

  /// A launch may be written `<< <` and `>> >`. Both halves of either are one token.
  void add_operator(std::string_view text, int line) {
    const auto before = tokens_.list.empty() || skipping() ? std::string_view() : tokens_.list.back().text;
    const bool opens = before == "<<" && text == "<";
    const bool closes = open_launches_ > 0 && ((before == ">>" && text == ">") || (before == ">" && text == ">>"));
    if (!opens && !closes) return add(TokenKind::Operator, text, line);
    open_launches_ += opens ? 1 : -1;
    tokens_.list.back().text = opens ? "<<<" : ">>>";
  }

  void raw_string(int line) {
    constexpr std::size_t k_longest_delimiter = 16;
    cursor_.advance();
    const std::size_t start = cursor_.at();
    while (!cursor_.done() && cursor_.peek() != '(' && cursor_.at() - start < k_longest_delimiter) cursor_.advance();
    const std::string end = ")" + std::string(cursor_.since(start)) + "\"";
    cursor_.advance();
    const std::size_t body = cursor_.at();
    cursor_.advance_to(end);
    add(TokenKind::String, cursor_.since(body), line);
    cursor_.advance(end.size());
  }

  void directive() {
    cursor_.advance();
    cursor_.advance_while([](char c) { return c == ' ' || c == '\t'; });
    const std::size_t start = cursor_.at();
    cursor_.advance_while(is_name_part);
    const auto name = cursor_.since(start);
    cursor_.advance_while([](char c) { return c == ' ' || c == '\t'; });
    const std::size_t value = cursor_.at();
    const int line = cursor_.line();
    while (!cursor_.done() && !ends_line(cursor_.peek())) {
      const bool comment = cursor_.starts_with("/*");
      if (comment) cursor_.advance_to("*/");
      cursor_.advance(!comment && cursor_.peek() == '\\' ? 2 : 1);
    }
    const auto text = cursor_.since(value);
    if (name == "define" && !skipping()) return define(text, line);
    if (name == "error" && !skipping() && !conditions_.empty()) {
      // This branch is never compiled.
      conditions_.back() = Condition::Waiting;
      ++skipped_;
    } else if (name == "if" || name == "ifdef" || name == "ifndef") {
      conditions_.push_back(is_condition_true(name, text) ? Condition::Reading : Condition::Waiting);
      skipped_ += conditions_.back() == Condition::Reading ? 0U : 1U;
    } else if ((name == "else" || name == "elif") && !conditions_.empty()) {
      const bool reads = conditions_.back() == Condition::Waiting && (name == "else" || is_condition_true("if", text));
      if (all_options_ && conditions_.back() == Condition::Reading) return;  // every branch is that of some option
      const bool was_reading = conditions_.back() == Condition::Reading;
      if (was_reading) ++skipped_;
      if (was_reading) conditions_.back() = Condition::Done;
      if (reads) --skipped_;
      if (reads) conditions_.back() = Condition::Reading;
    } else if (name == "endif" && !conditions_.empty()) {
      skipped_ -= conditions_.back() == Condition::Reading ? 0U : 1U;
      conditions_.pop_back();
    }
  }

  /// Evaluates a condition as far as the text alone decides it: literals, and names that the program, not the compiler,
  /// would define.
  [[nodiscard]] bool is_condition_true(std::string_view directive, std::string_view text) const {
    Cursor cursor(text, 0);
    const auto word = [&] {
      cursor.advance_while([](char c) { return c == ' ' || c == '\t' || c == '('; });
      const std::size_t start = cursor.at();
      cursor.advance_while(is_name_part);
      return cursor.since(start);
    };
    auto name = word();
    bool wanted = directive != "ifndef";
    if (directive == "if") {
      if (name.empty() && cursor.peek() == '!') {
        wanted = false;
        cursor.advance();
        name = word();
      }
      if (name == "0" || name == "1") return (name == "1") == wanted;
      if (name != "defined") return true;
      name = word();
      cursor.advance_while([](char c) { return c == ' ' || c == '\t' || c == ')' || c == '\r'; });
      if (!cursor.done()) return true;
    }
    const bool ours = !name.empty() && name.front() != '_' && !all_options_;
    return (macros_.count(name) != 0) == wanted || (!ours && directive == "if") || (!ours && directive == "ifdef");
  }

  void define(std::string_view text, int line) {
    constexpr std::size_t k_max_definitions = 4096;  // definitions
    Cursor cursor(text, line);
    cursor.advance_while(is_name_part);
    const auto name = cursor.since(0);
    if (name.empty() || macros_.size() >= k_max_definitions) return;
    Macro macro;
    macro.function = cursor.peek() == '(';
    if (macro.function) {
      while (!cursor.done() && cursor.peek() != ')') {
        const std::size_t start = cursor.at();
        cursor.advance_while(is_name_part);
        if (cursor.at() > start) macro.parameters.push_back(cursor.since(start));
        if (cursor.starts_with("...")) macro.parameters.emplace_back("__VA_ARGS__");
        if (cursor.peek() != ')') cursor.advance();
      }
      cursor.advance();
    }
    macro.body = CLexer(text.substr(cursor.at()), line).lex();
    macros_.try_emplace(name, std::move(macro));
  }

  [[nodiscard]] bool skipping() const { return skipped_ != 0; }

  enum class Condition : std::uint8_t { Reading, Waiting, Done };
  Cursor cursor_;
  bool all_options_;
  Tokens tokens_{.syntax = Syntax::CFamily};
  std::vector<Condition> conditions_;
  Macros macros_;
  std::size_t skipped_ = 0;
  int open_launches_ = 0;  // of those with a space in <<<
  bool fresh_line_ = true;
};

}  // namespace

Tokens lex_c(std::string_view text, int first_line, bool all_options) {
  return CLexer(text, first_line, all_options).run();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
