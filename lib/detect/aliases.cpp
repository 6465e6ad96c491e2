#include <algorithm>

#include "detect/structure.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Tokens of an expression that are searched for functions.
constexpr Position k_longest = 96;
/// Nested values are read again; this bounds the average number of times.
constexpr std::size_t k_readings = 4;
/// Bound of the names of functions besides their own; far more than any source uses.
constexpr std::size_t k_max_aliases = 20'000;

using Functions = std::vector<std::size_t>;

class AliasReader {
 public:
  explicit AliasReader(Structure& structure) : s_(structure) {}

  void run() {
    read_classes();
    read_returns();
    // A name may refer to one that is defined further down.
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& tokens : s_.texts) {
        left_ = k_readings * tokens.list.size();
        read_text(tokens);
      }
    for (const auto& [name, functions] : classes_) alias(name, functions);
  }

 private:
  [[nodiscard]] const Functions& named(std::string_view name) const {
    static const Functions k_none;
    const auto found = s_.meanings.find(name);
    return found == s_.meanings.end() ? k_none : found->second;
  }

  void read_classes() {
    for (std::size_t i = 0; i < s_.functions.size(); ++i) {
      const auto& function = s_.functions[i];
      if (!function.scope.empty() && (function.name == "forward" || function.name == "__call__"))
        classes_[function.scope].push_back(i);
    }
  }

  /// Functions that return other functions by name.
  void read_returns() {
    for (const auto& function : s_.functions) {
      if (function.tokens->syntax != Syntax::Python || function.name.empty()) continue;
      const auto& tokens = *function.tokens;
      for (const auto& node : function.nodes) {
        const Position at = node.tokens.begin;
        if (node.kind != NodeKind::Plain || !tokens.is(at, "return") || !tokens.is_name(at + 1)) continue;
        const auto& found = named(tokens.list[at + 1].text);
        auto& made = makes_[function.name];
        if (!tokens.is(at + 2, "(") && made.size() < k_max_meanings)
          made.insert(made.end(), found.begin(), found.end());
      }
    }
  }

  void read_text(const Tokens& tokens) {
    for (Position at = 0; at + 2 < tokens.size(); ++at) {
      if (tokens.is(at + 1, "(") && tokens.is_name(at)) binding(tokens, at);
      if (!tokens.is_name(at)) continue;
      if (tokens.is(at + 1, "=")) value(tokens, tokens.list[at].text, at + 2);
      // for cell in cells, for i, cell in enumerate(cells)
      if (tokens.syntax == Syntax::Python && tokens.is(at + 1, "in") && at > 0)
        value(tokens, tokens.list[at].text, at + 2);
    }
  }

  /// m.def("name", &function), and cuModuleGetFunction(&name, module, "kernel").
  void binding(const Tokens& tokens, Position at) {
    const bool defines = tokens.is(at, "def") && tokens.list[at + 2].kind == TokenKind::String;
    const bool looks_up = tokens.list[at].text.find("GetFunction") != std::string_view::npos && tokens.is(at + 2, "&");
    if (!defines && !looks_up) return;
    const Position end = std::min(tokens.after_group(at + 1, tokens.size()), at + k_longest);
    for (Position p = at + 3; p < end; ++p) {
      if (defines && tokens.is_name(p)) alias(tokens.list[at + 2].text, named(tokens.list[p].text));
      if (looks_up && tokens.list[p].kind == TokenKind::String && tokens.is_name(at + 3))
        alias(tokens.list[at + 3].text, named(tokens.list[p].text));
    }
  }

  /// Finds all functions that the expression at `begin` names without calling them: f, partial(f, 1), {"a": f},
  /// kernel[grid].
  void value(const Tokens& tokens, std::string_view name, Position begin) {
    const Position limit = std::min(tokens.size(), begin + k_longest);
    for (Position at = begin; at < limit && left_ > 0; ++at, --left_) {
      const auto& token = tokens.list[at];
      if (token.kind == TokenKind::Newline || tokens.is(at, ";") || tokens.is(at, ":=")) return;
      if (token.kind == TokenKind::String && tokens.syntax == Syntax::Python) alias(name, kernels_named(token.text));
      if (token.kind != TokenKind::Name || token.text == name) continue;
      if (const auto object = classes_.find(token.text); object != classes_.end()) alias(name, object->second);
      const bool member = at > 0 && tokens.is(at - 1, ".") && !(at > 1 && tokens.is(at - 2, "self"));
      if (tokens.is(at + 1, "(")) {
        if (const auto made = makes_.find(token.text); made != makes_.end()) alias(name, made->second);
        continue;
      }
      // kernel[grid](x) is the result of a launch.
      const bool launched = tokens.is(at + 1, "[") && tokens.is(tokens.after_group(at + 1, limit), "(");
      if (!member && !launched && !tokens.is(at + 1, "=") && !tokens.is(at + 1, ".")) alias(name, named(token.text));
    }
  }

  /// Kernels that a text loads by name.
  [[nodiscard]] Functions kernels_named(std::string_view name) const {
    Functions found;
    for (const auto index : named(name))
      if (s_.functions[index].tokens->syntax == Syntax::CFamily && s_.functions[index].name == name)
        found.push_back(index);
    return found;
  }

  void alias(std::string_view name, const Functions& functions) {
    if (functions.empty()) return;
    // Adding a name may move the list, and `functions` may be part of it.
    const auto copy = functions;  // NOLINT(performance-unnecessary-copy-initialization)
    if (s_.meanings.size() >= s_.functions.size() + k_max_aliases) return;
    auto& list = s_.meanings[name];
    for (const auto function : copy)
      if (list.size() < k_max_meanings && std::find(list.begin(), list.end(), function) == list.end())
        list.push_back(function);
  }

  Structure& s_;
  std::size_t left_ = 0;  // tokens that this pass may still read
  std::unordered_map<std::string_view, Functions> classes_;
  std::unordered_map<std::string_view, Functions> makes_;
};

}  // namespace

void read_aliases(Structure& structure) { AliasReader(structure).run(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
