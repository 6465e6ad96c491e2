#include <array>
#include <string>
#include <unordered_map>

#include "detect/token.hpp"
#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Blocks inside so many others have no names of their own.
constexpr std::size_t k_most_scopes = 64;

/// Reads the bodies of functions, block by block.
class ScopeReader {
 public:
  explicit ScopeReader(Tokens& tokens) : tokens_(tokens) {}

  void run() {
    bool begins = false;  // a statement
    for (Position at = 0; at < tokens_.size(); ++at) {
      while (!scopes_.empty() && at >= scopes_.back().end) scopes_.pop_back();
      if (begins && !scopes_.empty()) declared_ = declared_name(at);
      begins = tokens_.is(at, ";") || tokens_.is(at, "{") || tokens_.is(at, "}");
      if (at == declared_) {
        declare(at);
        declared_ = next_name(at);
      } else if (parameters_.erase(at) != 0) {
        declare(at);
      } else if (tokens_.is_name(at)) {
        use(at);
      }
      begins = open(at) || begins;
    }
  }

 private:
  struct Scope {
    Position end = 0;
    /// Its statements are read where it is called, among other names.
    bool is_lambda = false;
    /// The names that it declares, and what they are called now.
    std::unordered_map<std::string_view, std::string_view> names{};
  };

  /// Opens the scope that begins at a token. Returns true if a declaration may follow.
  bool open(Position at) {
    const Position close = tokens_.partner[at];
    if (tokens_.is(at, "{") && close != k_nowhere) {
      if (scopes_.empty())
        open_function(at, close);
      else if (scopes_.size() < k_most_scopes)
        scopes_.push_back({close});
      return false;
    }
    if (scopes_.empty() || scopes_.size() >= k_most_scopes) return false;
    if (tokens_.is(at, "(") && tokens_.is(at - 1, "for") && close != k_nowhere) {
      scopes_.push_back({end_of_statement(close + 1)});
      return true;
    }
    if (tokens_.is(at, "[") && close != k_nowhere && begins_lambda(at)) open_lambda(close + 1);
    return false;
  }

  void open_function(Position brace, Position close) {
    constexpr Position k_most = 8;  // tokens between the parameters and the body
    Position last = brace;
    const auto ends = [&] { return tokens_.is(last, ")") || tokens_.is(last, ";") || tokens_.is(last, "}"); };
    for (Position back = 1; back <= k_most && back <= brace && !ends(); ++back) last = brace - back;
    if (!tokens_.is(last, ")") || tokens_.partner[last] == k_nowhere) return;
    scopes_.push_back({close});
    find_parameters(tokens_.partner[last], last);
    for (const auto at : parameters_) declare(at);
    parameters_.clear();
  }

  [[nodiscard]] bool begins_lambda(Position at) const {
    return at > 0 && !tokens_.is_name(at - 1) && !tokens_.is(at - 1, "]") && !tokens_.is(at - 1, ")") &&
           !tokens_.is(at - 1, "[");
  }

  /// [...](int i) mutable -> float { ... }, from the round bracket on.
  void open_lambda(Position bracket) {
    constexpr Position k_most = 14;  // tokens between the parameters and the body
    if (!tokens_.is(bracket, "(") || tokens_.partner[bracket] == k_nowhere) return;
    const Position last = tokens_.partner[bracket];
    for (Position brace = last + 1; brace <= last + k_most; ++brace) {
      if (tokens_.is(brace, ";")) return;
      if (!tokens_.is(brace, "{")) continue;
      if (tokens_.partner[brace] == k_nowhere) return;
      scopes_.push_back({tokens_.partner[brace], true});
      return find_parameters(bracket, last);
    }
  }

  /// The last name of each parameter, before its default.
  void find_parameters(Position open, Position close) {
    Position name = k_nowhere;
    bool has_default = false;
    for (Position at = open + 1; at <= close; at = tokens_.after_group(at, close)) {
      if (at == close || tokens_.is(at, ",")) {
        if (name != k_nowhere) parameters_.insert(name);
        name = k_nowhere;
        has_default = false;
      }
      has_default = has_default || tokens_.is(at, "=");
      if (tokens_.is_name(at) && !has_default) name = at;
      if (const Position after = tokens_.after_template(at, close); after > at) at = after - 1;
    }
  }

  /// The end of the statement at `at`: the closing brace, or the semicolon.
  [[nodiscard]] Position end_of_statement(Position at) const {
    for (; at < tokens_.size(); at = tokens_.after_group(at, tokens_.size()))
      if (tokens_.is(at, ";") || tokens_.is(at, "{"))
        return tokens_.partner[at] == k_nowhere ? at : tokens_.partner[at];
    return at;
  }

  /// The first name that the statement at `at` declares: behind a type, and before its value or the end.
  [[nodiscard]] Position declared_name(Position at) const {
    constexpr std::array<std::string_view, 20> k_others{
        "return", "else", "case",   "goto",  "delete", "throw",  "new",   "using",   "if",       "for",
        "while",  "do",   "switch", "break", "sizeof", "struct", "class", "typedef", "template", "operator"};
    constexpr std::array<std::string_view, 7> k_ends{"=", ";", ",", "(", "{", "[", ":"};
    bool has_type = false;
    while (at < tokens_.size()) {
      const bool points = tokens_.is(at, "*") || tokens_.is(at, "&") || tokens_.is(at, "&&");
      if (has_type && (points || tokens_.is(at, "::"))) {
        ++at;
        continue;
      }
      if (!tokens_.is_name(at) || one_of(tokens_.list[at].text, k_others)) return k_nowhere;
      if (has_type && !tokens_.is(at - 1, "::") && at + 1 < tokens_.size() && one_of(tokens_.list[at + 1].text, k_ends))
        return at;
      has_type = true;
      at = std::max(tokens_.after_template(at + 1, tokens_.size()), at + 1);
    }
    return k_nowhere;
  }

  /// The next name of the same declaration: float a = 1, b;
  [[nodiscard]] Position next_name(Position at) const {
    for (++at; at < tokens_.size(); at = tokens_.after_group(at, tokens_.size())) {
      if (tokens_.is(at, ";") || tokens_.is(at, ":") || tokens_.is(at, ")") || tokens_.is(at, "}")) return k_nowhere;
      if (const Position after = tokens_.after_template(at, tokens_.size()); after > at) at = after - 1;
      if (!tokens_.is(at, ",")) continue;
      while (tokens_.is(at + 1, "*") || tokens_.is(at + 1, "&")) ++at;
      return tokens_.is_name(at + 1) ? at + 1 : k_nowhere;
    }
    return k_nowhere;
  }

  void declare(Position at) {
    auto& text = tokens_.list[at].text;
    const auto name = text;
    if (scopes_.empty()) return;
    const auto around = scopes_.end() - 1;
    if (std::any_of(scopes_.begin(), scopes_.end(), [](const auto& scope) { return scope.is_lambda; }) ||
        std::any_of(scopes_.begin(), around, [&](const auto& scope) { return scope.names.count(name) != 0; })) {
      tokens_.macro_texts->push_back(std::string(name) + k_scope_mark + std::to_string(++renamed_));
      text = tokens_.macro_texts->back();
    }
    scopes_.back().names[name] = text;
  }

  void use(Position at) {
    const bool is_member = at > 0 && (tokens_.is(at - 1, ".") || tokens_.is(at - 1, "->") || tokens_.is(at - 1, "::"));
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend() && !is_member; ++scope) {
      const auto found = scope->names.find(tokens_.list[at].text);
      if (found == scope->names.end()) continue;
      tokens_.list[at].text = found->second;
      return;
    }
  }

  Tokens& tokens_;
  std::vector<Scope> scopes_;  ///< the innermost last
  Position declared_ = k_nowhere;
  std::unordered_set<Position> parameters_;  ///< names of parameters that come next
  std::size_t renamed_ = 0;
};

}  // namespace

void separate_scopes(Tokens& tokens) { ScopeReader(tokens).run(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
