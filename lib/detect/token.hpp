#pragma once

/// \file
/// Source text as tokens: without comments, with strings as one token, and with matched brackets.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace detect {

enum class TokenKind : std::uint8_t {
  Name,
  Number,
  String,  ///< text is the content of the quotes
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

/// How a text is read: as Python, or as C, C++, CUDA or HIP.
enum class Syntax : std::uint8_t { Python, CFamily };

/// An index into Tokens::list.
using Position = std::uint32_t;
inline constexpr Position k_nowhere = std::numeric_limits<Position>::max();

/// The tokens of one text. Borrows the text.
struct Tokens {
  Syntax syntax = Syntax::CFamily;
  std::vector<Token> list{};
  /// Python: names of the modules of device operations, and such operations that are imported by name.
  std::vector<std::string_view> modules{"tl", "gl", "triton"};
  std::vector<std::string_view> operations{};
  /// Python: the decorator of kernels, and its imported names.
  std::vector<std::string_view> jit_names{"jit"};
  std::vector<std::string_view> foreign{};
  /// Names that the text sets once, to a number.
  std::unordered_map<std::string_view, long> constants{};
  /// C: names of types that the text gives, and of calls that are assigned to, FLOAT4(p[i]) = v: macros that give their
  /// argument another type.
  std::unordered_set<std::string_view> casts{};
  /// C: names of generators of random numbers that only count, such as Philox.
  std::unordered_set<std::string_view> counters{};
  /// Names that macros and scopes have created; tokens borrow them.
  std::shared_ptr<std::deque<std::string>> macro_texts{};
  /// For each bracket the position of its partner; k_nowhere for unmatched brackets and other tokens.
  std::vector<Position> partner{};
  /// C: for < the end of the template arguments that open there, for <<< its >>>; else k_nowhere.
  std::vector<Position> angle{};

  [[nodiscard]] Position size() const { return static_cast<Position>(list.size()); }
  /// Whether the token at `at` is this name or operator; false past the end.
  [[nodiscard]] bool is(Position at, std::string_view text) const {
    if (at >= size()) return false;
    const auto& token = list[at];
    // Called for every token many times: most differ in their length or first letter.
    if (token.text.size() != text.size() || token.kind == TokenKind::String) return false;
    return text.empty() || (token.text.front() == text.front() && token.text == text);
  }
  [[nodiscard]] bool is_name(Position at) const { return at < size() && list[at].kind == TokenKind::Name; }
  /// The value of the token at `at`: a number, or a name for one.
  [[nodiscard]] std::optional<long> number(Position at) const;
  [[nodiscard]] bool is_module(std::string_view name) const {
    return std::find(modules.begin(), modules.end(), name) != modules.end();
  }
  [[nodiscard]] bool is_operation(std::string_view name) const {
    return std::find(operations.begin(), operations.end(), name) != operations.end();
  }
  /// The position after the bracket group that opens at `at`; `at` + 1 when it has no partner below `end`.
  [[nodiscard]] Position after_group(Position at, Position end) const {
    const Position close = partner[at];
    return close == k_nowhere || close >= end || close < at ? at + 1 : close + 1;
  }
  /// The position after template arguments `<...>` that open at `at`; `at` when there are none.
  [[nodiscard]] Position after_template(Position at, Position end) const {
    return is(at, "<") && angle[at] < end ? angle[at] + 1 : at;
  }
  /// The >>> that ends the launch configuration which opens at `at`; `end` when there is none.
  [[nodiscard]] Position launch_end(Position at, Position end) const { return std::min(angle[at], end); }
};

/// Splits Python text into tokens; accepts any bytes. `first_line` is the line of the first one. Takes linear time.
[[nodiscard]] Tokens lex_python(std::string_view text, int first_line);
/// Splits C text into tokens. Of #if and #ifdef it keeps what the text decides; a name that the text does not define
/// counts as defined only with `all_options`, which reads every branch.
[[nodiscard]] Tokens lex_c(std::string_view text, int first_line, bool all_options = false);

/// The value of an expression of integers and names for integers; nothing for any other.
[[nodiscard]] std::optional<long> evaluate(const Tokens& tokens, Position begin, Position end);

/// Computes Tokens::partner.
void match_brackets(Tokens& tokens);
/// Computes Tokens::angle.
void match_angles(Tokens& tokens);
/// C: gives a variable that a block inside a function declares a name of its own if one around it has that name, and
/// every variable of a lambda: `i` becomes `i'1`.
void separate_scopes(Tokens& tokens);
/// Ends the name that the source has for it.
inline constexpr char k_scope_mark = '\'';
/// Computes Tokens::constants: constexpr int layers = 2 * 2, and LAYERS = 4 outside of functions in Python. Writes
/// elements of tensors that are called, as in CuTe, with brackets.
void find_constants(Tokens& tokens);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
