#pragma once

/// \file
/// Source text as tokens: comments are gone, strings are one token, and brackets know their partners.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace detect {

enum class TokenKind : std::uint8_t {
  Name,
  Number,
  String,  ///< text is what stands between the quotes
  Operator,
  Newline,  ///< Python: the end of a logical line
  Indent,
  Dedent,
};

struct Token {
  TokenKind kind = TokenKind::Operator;
  std::string_view text;
  int line = 0;  ///< 1-based
};

enum class Language : std::uint8_t { Python, C };

/// An index into Tokens::list.
using Position = std::uint32_t;
inline constexpr Position k_nowhere = std::numeric_limits<Position>::max();

/// The tokens of one text. Borrows the text.
struct Tokens {
  Language language = Language::C;
  std::vector<Token> list{};
  /// Python: names of the modules whose functions are operations of the device, and such functions that stand alone.
  std::vector<std::string_view> modules{"tl", "gl", "triton"};
  std::vector<std::string_view> operations{};
  /// Python: the decorator of kernels, and decorators of that name from elsewhere.
  std::vector<std::string_view> jit_names{"jit"};
  std::vector<std::string_view> foreign{};
  /// Names that the text sets once, to a number.
  std::unordered_map<std::string_view, long> constants{};
  /// Names that macros have made; tokens borrow them.
  std::shared_ptr<std::deque<std::string>> made{};
  /// For each bracket its partner; k_nowhere for everything else and for brackets without one.
  std::vector<Position> partner{};
  /// C: for < the end of the template arguments that open there, for <<< its >>>; k_nowhere where there is none.
  std::vector<Position> angle{};

  [[nodiscard]] Position size() const { return static_cast<Position>(list.size()); }
  /// Whether the token at `at` is this name or operator; false past the end.
  [[nodiscard]] bool is(Position at, std::string_view text) const {
    if (at >= size()) return false;
    const auto& token = list[at];
    // Asked for every token many times over: most differ in their length or first letter.
    if (token.text.size() != text.size() || token.kind == TokenKind::String) return false;
    return text.empty() || (token.text.front() == text.front() && token.text == text);
  }
  [[nodiscard]] bool is_name(Position at) const { return at < size() && list[at].kind == TokenKind::Name; }
  /// What the token at `at` counts: a number, or a name that stands for one.
  [[nodiscard]] std::optional<long> number(Position at) const;
  [[nodiscard]] bool is_module(std::string_view name) const {
    return std::find(modules.begin(), modules.end(), name) != modules.end();
  }
  [[nodiscard]] bool is_operation(std::string_view name) const {
    return std::find(operations.begin(), operations.end(), name) != operations.end();
  }
  /// The place after the bracket group that opens at `at`; `at` + 1 when it has no partner below `end`.
  [[nodiscard]] Position after_group(Position at, Position end) const {
    const Position close = partner[at];
    return close == k_nowhere || close >= end || close < at ? at + 1 : close + 1;
  }
  /// The place after template arguments `<...>` that open at `at`; `at` when this is no such list.
  [[nodiscard]] Position after_template(Position at, Position end) const {
    return is(at, "<") && angle[at] < end ? angle[at] + 1 : at;
  }
  /// The >>> that ends the configuration of a launch which opens at `at`; `end` when there is none.
  [[nodiscard]] Position launch_end(Position at, Position end) const { return std::min(angle[at], end); }
};

/// Any bytes; `first_line` is the line of the first one. Linear in the length.
[[nodiscard]] Tokens lex_python(std::string_view text, int first_line);
[[nodiscard]] Tokens lex_c(std::string_view text, int first_line);

/// Fills in Tokens::partner.
void match_brackets(Tokens& tokens);
/// Fills in Tokens::angle.
void match_angles(Tokens& tokens);
/// Fills in Tokens::constants: constexpr int layers = 4, and LAYERS = 4 outside of functions in Python.
void find_constants(Tokens& tokens);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
