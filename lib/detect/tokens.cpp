#include "detect/token.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <unordered_set>
#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }

/// The open angle brackets within one pair of other brackets.
struct Level {
  std::vector<Position> templates;  ///< open <
  std::vector<Position> launches;   ///< open <<<
};

bool fits(std::string_view open, std::string_view close) {
  return (open == "(" && close == ")") || (open == "[" && close == "]") || (open == "{" && close == "}");
}

}  // namespace

void match_brackets(Tokens& tokens) {
  tokens.partner.assign(tokens.list.size(), k_nowhere);
  std::vector<Position> open;
  for (Position at = 0; at < tokens.size(); ++at) {
    const auto& token = tokens.list[at];
    if (token.kind != TokenKind::Operator) continue;
    if (opens(token.text)) {
      open.push_back(at);
    } else if (!open.empty() && fits(tokens.list[open.back()].text, token.text)) {
      tokens.partner[open.back()] = at;
      tokens.partner[at] = open.back();
      open.pop_back();
    } else if (token.text == "}") {
      // Parentheses left open inside a block end with it; the blocks around it stay intact.
      const auto brace = std::find_if(open.rbegin(), open.rend(), [&](Position p) { return tokens.is(p, "{"); });
      const auto first = brace == open.rend() ? open.begin() : brace.base() - 1;
      if (brace != open.rend()) {
        tokens.partner[*first] = at;
        tokens.partner[at] = *first;
      }
      open.erase(first, open.end());
    }
  }
}

void match_angles(Tokens& tokens) {
  // Longer lists are comparisons, not template arguments or launch configurations; but for the parameters of a
  // template.
  constexpr Position k_longest_template = 64;
  constexpr Position k_longest_launch = 96;
  tokens.angle.assign(tokens.list.size(), k_nowhere);
  std::vector<Level> levels(1);
  for (Position at = 0; at < tokens.size(); ++at) {
    const auto& token = tokens.list[at];
    if (token.kind != TokenKind::Operator) continue;
    const auto text = token.text;
    auto& level = levels.back();
    if (text == "(" && tokens.partner[at] != k_nowhere) {
      levels.emplace_back();
    } else if (text == ")" && tokens.partner[at] != k_nowhere && levels.size() > 1) {
      levels.pop_back();
    } else if (text == "<") {
      level.templates.push_back(at);
    } else if (text == "<<<") {
      level.launches.push_back(at);
    } else if (text == ">" || text == ">>" || text == ">>>") {
      for (auto count = text.size(); count > 0 && !level.templates.empty(); --count) {
        const auto open = level.templates.back();
        const bool declares = open > 0 && tokens.is(open - 1, "template");
        if (declares || at - open < k_longest_template) tokens.angle[open] = at;
        level.templates.pop_back();
      }
      for (const auto open : text == ">>>" ? level.launches : std::vector<Position>())
        if (at - open < k_longest_launch) tokens.angle[open] = at;
      if (text == ">>>") level.launches.clear();
    } else if (text == ";" || text == "{" || text == "&&" || text == "||") {
      level.templates.clear();
      if (text == ";") level.launches.clear();
    }
  }
}

namespace {

constexpr Position k_longest_value = 24;  // tokens

Position value_end(const Tokens& tokens, Position at) {
  const Position limit = std::min(tokens.size(), at + k_longest_value);
  while (at < limit && !tokens.is(at, ";") && !tokens.is(at, ",") && tokens.list[at].kind != TokenKind::Newline) ++at;
  return at;
}

/// Sums and products of integers.
class Evaluator {
 public:
  Evaluator(const Tokens& tokens, Position begin, Position end) : tokens_(tokens), at_(begin), end_(end) {}
  std::optional<long> run() {
    const auto value = sum();
    return at_ == end_ ? value : std::nullopt;
  }

 private:
  static constexpr long k_large = 1L << 40;  // larger numbers stay as they are: no overflow
  static long bounded(long value) { return std::clamp(value, -k_large, k_large); }
  [[nodiscard]] bool next(std::string_view text) {
    if (at_ >= end_ || !tokens_.is(at_, text)) return false;
    ++at_;
    return true;
  }
  /// Bytes of a type of the language; nothing for others.
  static std::optional<long> size_of(std::string_view type) {
    constexpr std::array<std::pair<std::string_view, long>, 14> k_sizes{{{"char", 1},
                                                                         {"int8_t", 1},
                                                                         {"uint8_t", 1},
                                                                         {"half", 2},
                                                                         {"__half", 2},
                                                                         {"int16_t", 2},
                                                                         {"uint16_t", 2},
                                                                         {"int", 4},
                                                                         {"float", 4},
                                                                         {"int32_t", 4},
                                                                         {"uint32_t", 4},
                                                                         {"double", 8},
                                                                         {"int64_t", 8},
                                                                         {"float4", 16}}};
    for (const auto& [name, size] : k_sizes)
      if (name == type) return size;
    return std::nullopt;
  }
  std::optional<long> sum() {
    auto value = product();
    while (value) {
      const bool minus = at_ < end_ && tokens_.is(at_, "-");
      if (!minus && !(at_ < end_ && tokens_.is(at_, "+"))) break;
      ++at_;
      const auto other = product();
      if (!other) return std::nullopt;
      value = bounded(minus ? *value - *other : *value + *other);
    }
    return value;
  }
  std::optional<long> product() {
    auto value = factor();
    while (value && at_ < end_) {
      const bool times = tokens_.is(at_, "*");
      if (!times && !tokens_.is(at_, "/") && !tokens_.is(at_, "//")) break;
      ++at_;
      const auto other = factor();
      if (!other || (!times && *other == 0)) return std::nullopt;
      if (times && *other != 0 && std::abs(*value) > k_large / std::abs(*other)) return k_large;
      value = times ? *value * *other : *value / *other;
    }
    return value;
  }
  std::optional<long> factor() {
    if (next("-")) {
      const auto value = factor();
      return value ? std::optional(-*value) : std::nullopt;
    }
    if (next("(")) {
      const auto value = sum();
      return value && next(")") ? value : std::nullopt;
    }
    if (at_ + 3 < end_ && tokens_.is(at_, "sizeof") && tokens_.is(at_ + 1, "(") && tokens_.is(at_ + 3, ")")) {
      at_ += 4;
      return size_of(tokens_.list[at_ - 2].text);
    }
    while (at_ + 2 < end_ && tokens_.is_name(at_) && tokens_.is(at_ + 1, "::")) at_ += 2;
    if (at_ >= end_) return std::nullopt;
    const auto value = tokens_.number(at_++);
    return value ? std::optional(bounded(*value)) : std::nullopt;
  }
  const Tokens& tokens_;
  Position at_;
  Position end_;
};

}  // namespace

std::optional<long> evaluate(const Tokens& tokens, Position begin, Position end) {
  if (begin >= end || end - begin > k_longest_value) return std::nullopt;
  return Evaluator(tokens, begin, end).run();
}

/// The name in name(...) = value; or name(...) += value; if such a statement begins at `at`.
static std::optional<std::string_view> assigned_call(const Tokens& tokens, Position at) {
  if (tokens.syntax != Syntax::CFamily || !tokens.is_name(at) || !tokens.is(at + 1, "(") || at == 0)
    return std::nullopt;
  const Position end = tokens.partner[at + 1];
  if (end == k_nowhere || end <= at || end + 1 >= tokens.size()) return std::nullopt;
  const auto sign = tokens.list[end + 1].text;
  if (sign != "=" && sign != "+=" && sign != "-=" && sign != "*=" && sign != "/=") return std::nullopt;
  const Position header = tokens.is(at - 1, ")") ? tokens.partner[at - 1] : k_nowhere;
  const bool only = header != k_nowhere && header > 0 &&
                    (tokens.is(header - 1, "for") || tokens.is(header - 1, "if") || tokens.is(header - 1, "while"));
  const bool begins = tokens.is(at - 1, ";") || tokens.is(at - 1, "{") || tokens.is(at - 1, "}") || only;
  if (!begins || tokens.is(end + 2, "default") || tokens.is(end + 2, "delete")) return std::nullopt;
  return tokens.list[at].text;
}

/// Whether name(i) = value sets an element of a tensor, as in CuTe, and not FLOAT4(p[i]) = value.
static bool sets_element(const Tokens& tokens, Position at) {
  const auto text = tokens.list[at].text;
  if (std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; })) return false;
  for (Position each = at + 2; each < tokens.partner[at + 1]; ++each)
    if (tokens.is(each, "[") || (each == at + 2 && (tokens.is(each, "*") || tokens.is(each, "&")))) return false;
  return true;
}

/// Makes brackets of the parentheses in name(i, j), for names of tensors.
static void index_elements(Tokens& tokens, const std::unordered_set<std::string_view>& tensors) {
  for (Position at = 0; at + 1 < tokens.size() && !tensors.empty(); ++at) {
    if (!tokens.is_name(at) || !tokens.is(at + 1, "(") || tensors.count(tokens.list[at].text) == 0) continue;
    const Position end = tokens.partner[at + 1];
    if (end == k_nowhere) continue;
    tokens.list[at + 1].text = "[";
    tokens.list[end].text = "]";
  }
}

void find_constants(Tokens& tokens) {
  int depth = 0;
  bool constant = false;
  std::unordered_set<std::string_view> tensors;
  std::unordered_set<std::string_view> ambiguous;
  for (Position at = 0; at < tokens.size(); ++at) {
    const auto& token = tokens.list[at];
    if (token.kind == TokenKind::Name && token.text.find("Philox") != token.text.npos) {
      Position name = at + 1;
      while (tokens.is(name, "*") || tokens.is(name, "&")) ++name;
      if (tokens.is_name(name)) tokens.counters.insert(tokens.list[name].text);
    }
    if (const auto assigned = assigned_call(tokens, at))
      (sets_element(tokens, at) ? tensors : tokens.casts).insert(*assigned);
    // template <typename T>, using T = float: T(x) is x of another type.
    const bool names_type = tokens.syntax == Syntax::CFamily && at > 0 && tokens.is_name(at) &&
                            (tokens.is(at - 1, "typename") || tokens.is(at - 1, "class") || tokens.is(at - 1, "using"));
    if (names_type && (tokens.is(at + 1, ",") || tokens.is(at + 1, ">") || tokens.is(at + 1, "=")))
      tokens.casts.insert(token.text);
    depth += token.kind == TokenKind::Indent ? 1 : token.kind == TokenKind::Dedent ? -1 : 0;
    if (tokens.syntax == Syntax::CFamily)
      constant = tokens.is(at, "constexpr") || (constant && !tokens.is(at, ";"));
    else
      constant = depth == 0 && (at == 0 || tokens.list[at - 1].kind >= TokenKind::Newline);
    const bool one = at > 1 && (tokens.is(at - 2, "const") || tokens.is(at - 3, "const")) && tokens.is_name(at - 1) &&
                     tokens.is(value_end(tokens, at + 2), ";");  // and no default of a parameter
    if (!(constant || one) || !tokens.is_name(at) || !tokens.is(at + 1, "=")) continue;
    const auto value = evaluate(tokens, at + 2, value_end(tokens, at + 2));
    const auto [known, added] = tokens.constants.try_emplace(token.text, value.value_or(0));
    if (!value || (!added && known->second != *value)) ambiguous.insert(token.text);
  }
  for (const auto name : ambiguous) tokens.constants.erase(name);
  index_elements(tokens, tensors);
}

std::optional<long> Tokens::number(Position at) const {
  if (at >= size()) return std::nullopt;
  const auto text = list[at].text;
  if (list[at].kind == TokenKind::Name) {
    const auto known = constants.find(text);
    return known == constants.end() ? std::nullopt : std::optional(known->second);
  }
  if (list[at].kind != TokenKind::Number) return std::nullopt;
  long value = 0;
  const auto error = std::from_chars(text.data(), text.data() + text.size(), value).ec;
  // A number that is too long to read is large.
  return error == std::errc() ? value : std::numeric_limits<long>::max() / 4;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
