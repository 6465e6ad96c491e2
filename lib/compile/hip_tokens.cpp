#include "compile/hip_tokens.hpp"

#include "detect/cursor.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using detect::Cursor;

bool is_end_of_line(char c) { return c == '\n' || c == '\r'; }

/// Reads a text from its beginning to its end.
class Reader {
 public:
  explicit Reader(std::string_view text) : cursor_(text, 1) {}

  std::vector<HipToken> read() && {
    while (!cursor_.done()) step();
    return std::move(tokens_);
  }

 private:
  void step() {
    const char c = cursor_.peek();
    if (is_end_of_line(c)) {
      begins_line_ = true;
      directive_ = 0;
      return cursor_.advance();
    }
    // A line that goes on in the next one.
    if (c == '\\') {
      cursor_.advance();
      if (cursor_.peek() == '\r') cursor_.advance();
      return cursor_.advance();
    }
    if (c == ' ' || c == '\t' || c == '\f' || c == '\v') return cursor_.advance();
    if (cursor_.starts_with("//")) return cursor_.advance_while([](char next) { return !is_end_of_line(next); });
    if (cursor_.starts_with("/*")) {
      cursor_.advance(2);
      cursor_.advance_to("*/");
      return cursor_.advance(2);
    }
    if (c == '#' && begins_line_) return directive();
    begins_line_ = false;
    token(c);
  }

  void directive() {
    begins_line_ = false;
    cursor_.advance();
    cursor_.advance_while([](char c) { return c == ' ' || c == '\t'; });
    const auto start = cursor_.at();
    cursor_.advance_while(detect::is_name_part);
    if (cursor_.since(start) == "define") {
      directive_ = ++directives_;
      return;
    }
    while (!cursor_.done() && !is_end_of_line(cursor_.peek())) cursor_.advance(cursor_.peek() == '\\' ? 2 : 1);
  }

  void add(std::size_t start, bool is_name, bool is_string) {
    tokens_.push_back({start, cursor_.at(), directive_, is_name, is_string});
  }

  void token(char c) {
    const auto start = cursor_.at();
    if (c == '"' || c == '\'') {
      (void)cursor_.quoted(c);
      return add(start, false, true);
    }
    if (detect::is_name_start(c)) {
      cursor_.advance_while(detect::is_name_part);
      const auto name = cursor_.since(start);
      if (cursor_.peek() == '"' && name.back() == 'R' && name.size() <= 3) return raw_string(start);
      return add(start, true, false);
    }
    if (detect::is_digit(c) || (c == '.' && detect::is_digit(cursor_.peek(1)))) {
      cursor_.advance_number();
      return add(start, false, false);
    }
    cursor_.advance(cursor_.starts_with("<<<") ? 3 : cursor_.starts_with("::") ? 2 : 1);
    add(start, false, false);
  }

  void raw_string(std::size_t start) {
    constexpr std::size_t k_longest_delimiter = 16;
    cursor_.advance();
    const auto delimiter = cursor_.at();
    while (!cursor_.done() && cursor_.peek() != '(' && cursor_.at() - delimiter < k_longest_delimiter)
      cursor_.advance();
    const std::string end = ")" + std::string(cursor_.since(delimiter)) + "\"";
    cursor_.advance_to(end);
    cursor_.advance(end.size());
    add(start, false, true);
  }

  Cursor cursor_;
  std::vector<HipToken> tokens_;
  bool begins_line_ = true;
  int directive_ = 0;
  int directives_ = 0;
};

}  // namespace

HipTokens::HipTokens(std::string_view text)
    : text_(text), tokens_(Reader(text).read()), partners_(tokens_.size(), tokens_.size()) {
  match_brackets();
}

/// A bracket of a macro has its partner in the same macro. A brace behind a parenthesis begins a function, or a
/// statement in one.
void HipTokens::match_brackets() {
  struct Open {
    std::size_t at;
    char closes;
    bool is_function;
  };
  std::vector<Open> open;
  std::size_t functions = 0;
  in_function_.reserve(tokens_.size());
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    in_function_.push_back(functions > 0);
    if (tokens_[i].is_string || tokens_[i].is_name) continue;
    const char c = text(i).front();
    if (c == '(' || c == '[' || c == '{') {
      const bool is_function =
          c == '{' && i > 0 && (is(i - 1, ")") || is(i - 1, "noexcept") || is(i - 1, "const") || is(i - 1, "else"));
      functions += is_function ? 1 : 0;
      open.push_back({i, c == '(' ? ')' : c == '[' ? ']' : '}', is_function});
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back().closes != c || tokens_[open.back().at].directive != tokens_[i].directive)
        continue;
      partners_[open.back().at] = i;
      partners_[i] = open.back().at;
      functions -= open.back().is_function ? 1 : 0;
      open.pop_back();
    }
  }
}

}  // namespace v0
}  // namespace kernelgen
