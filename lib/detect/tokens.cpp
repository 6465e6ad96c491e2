#include "detect/token.hpp"

#include <algorithm>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

bool opens(std::string_view text) { return text == "(" || text == "[" || text == "{"; }

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

Position Tokens::after_template(Position at, Position end) const {
  // Longer lists are comparisons, not template arguments.
  constexpr Position k_longest = 64;
  const Position limit = std::min(end, at + k_longest);
  int depth = 0;
  for (Position p = at; p < limit; p = is(p, "(") ? after_group(p, limit) : p + 1) {
    const auto& token = list[p];
    if (token.kind != TokenKind::Operator) continue;
    if (token.text == "<") ++depth;
    if (token.text == ">" || token.text == ">>" || token.text == ">>>") depth -= static_cast<int>(token.text.size());
    if (depth <= 0) return p + 1;
    if (token.text == ";" || token.text == "{" || token.text == "&&" || token.text == "||") break;
  }
  return at;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
