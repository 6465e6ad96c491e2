#include <algorithm>
#include <string>

#include "detect/preprocessor.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Limits of the expansion: added tokens, and nesting.
constexpr std::size_t k_max_added = 200'000;
constexpr int k_max_expansion_depth = 12;

class Expander {
 public:
  Expander(Tokens& tokens, const Macros& macros) : tokens_(tokens), macros_(macros) {}

  void run() {
    const auto source = std::move(tokens_.list);
    tokens_.list = {};
    tokens_.list.reserve(source.size());
    for (std::size_t at = 0; at < source.size();)
      at = token(source, at, source.size(), source[at].line, 0, tokens_.list);
  }

 private:
  using List = std::vector<Token>;

  /// Appends the token at `at`, expanded, and returns the position to continue at.
  std::size_t token(const List& from, std::size_t at, std::size_t end, int line, int depth, List& out) {
    const auto& token = from[at];
    const auto found = token.kind == TokenKind::Name ? macros_.find(token.text) : macros_.end();
    const bool known = found != macros_.end() && depth < k_max_expansion_depth && added_ < k_max_added &&
                       std::find(open_.begin(), open_.end(), token.text) == open_.end();
    if (!known) {
      push(token, depth == 0 ? token.line : line, depth, out);
      return at + 1;
    }
    const auto& macro = found->second;
    std::vector<List> arguments;
    std::size_t next = at + 1;
    if (macro.function) {
      if (next >= end || from[next].text != "(" || from[next].kind != TokenKind::Operator) {
        push(token, line, depth, out);
        return at + 1;
      }
      next = read_arguments(from, next, end, arguments);
    }
    open_.push_back(token.text);
    substitute(macro, arguments, depth == 0 ? token.line : line, depth + 1, out);
    open_.pop_back();
    return next;
  }

  void push(Token token, int line, int depth, List& out) {
    token.line = line;
    added_ += depth > 0 ? 1 : 0;
    out.push_back(token);
  }

  /// Reads from the bracket at `at`; returns the position after its partner.
  static std::size_t read_arguments(const List& from, std::size_t at, std::size_t end, std::vector<List>& arguments) {
    constexpr std::size_t k_longest = 20'000;
    arguments.emplace_back();
    int depth = 0;
    const std::size_t limit = std::min(end, at + k_longest);
    for (; at < limit; ++at) {
      const auto& token = from[at];
      const bool bracket = token.kind == TokenKind::Operator;
      if (bracket && (token.text == "(" || token.text == "[" || token.text == "{") && depth++ == 0) continue;
      if (bracket && (token.text == ")" || token.text == "]" || token.text == "}") && --depth == 0) return at + 1;
      if (bracket && token.text == "," && depth == 1)
        arguments.emplace_back();
      else
        arguments.back().push_back(token);
    }
    return at;
  }

  void substitute(const Macro& macro, const std::vector<List>& arguments, int line, int depth, List& out) {
    List body;
    for (std::size_t i = 0; i < macro.body.size(); ++i) {
      if (body.size() + added_ > k_max_added) return;
      const bool pasted = i > 0 && macro.body[i - 1].text == "##";
      const std::size_t first = body.size();
      if (const auto* argument = argument_of(macro, arguments, macro.body[i].text))
        body.insert(body.end(), argument->begin(), argument->end());
      else if (macro.body[i].text != "##" && macro.body[i].text != "#")
        body.push_back(macro.body[i]);
      if (pasted && first > 0 && first < body.size()) paste(body, first);
    }
    for (std::size_t at = 0; at < body.size();) at = token(body, at, body.size(), line, depth, out);
  }

  static const List* argument_of(const Macro& macro, const std::vector<List>& arguments, std::string_view name) {
    const auto& names = macro.parameters;
    auto index = static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    if (index == names.size() && name == "__VA_ARGS__" && !names.empty()) index = names.size() - 1;
    return index < arguments.size() && index < names.size() ? &arguments[index] : nullptr;
  }

  /// name##_forward: joins the tokens on both sides of `at`.
  void paste(List& body, std::size_t at) {
    tokens_.macro_texts->push_back(std::string(body[at - 1].text) + std::string(body[at].text));
    body[at - 1].text = tokens_.macro_texts->back();
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(at));
  }

  Tokens& tokens_;
  const Macros& macros_;
  std::vector<std::string_view> open_;
  std::size_t added_ = 0;
};

}  // namespace

void expand_macros(Tokens& tokens, const Macros& macros) {
  if (!macros.empty()) Expander(tokens, macros).run();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
