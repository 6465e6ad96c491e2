#include <algorithm>
#include <array>
#include <unordered_map>

#include "detect/program.hpp"
#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Deeper nesting than any kernel has; deeper code is read without its structure.
constexpr int k_max_nesting = 100;

class CParser {
 public:
  explicit CParser(const Tokens& tokens) : tokens_(tokens) {}

  std::vector<Function> run() && {
    for (Position at = 0, start = 0; at < tokens_.size();) {
      if (tokens_.is(at, "template") && tokens_.is(at + 1, "<")) {
        // A declaration begins behind it: its parameters may have defaults.
        start = at = std::max(tokens_.after_template(at + 1, tokens_.size()), at + 1);
      } else if (tokens_.is(at, ";") || tokens_.is(at, "}")) {
        start = ++at;
      } else if (tokens_.is(at, "{")) {
        at = brace({start, at});
        start = at;
      } else {
        at = tokens_.is(at, "(") ? tokens_.after_group(at, tokens_.size()) : at + 1;
      }
    }
    return std::move(functions_);
  }

 private:
  /// Reads a brace outside of functions, after `declaration`. Returns the position to continue at.
  Position brace(Range declaration) {
    const Position open = declaration.end;
    const Position after = tokens_.after_group(open, tokens_.size());
    bool initializes = false;
    Position name = k_nowhere;
    Position group = k_nowhere;
    for (Position at = declaration.begin; at < open; at = tokens_.after_group(at, open)) {
      if (tokens_.is(at, "=") && group == k_nowhere) initializes = true;
      if (const Position open_group = after_specialized_name(at, open); group == k_nowhere && open_group != at) {
        name = at;
        group = open_group;
      }
      if (!tokens_.is(at, "(") || group != k_nowhere || at == declaration.begin) continue;
      const Position before = at - 1;
      if (!tokens_.is_name(before) || is_specifier(tokens_.list[before].text)) continue;
      name = before;
      group = at;
    }
    if (initializes || (group == k_nowhere && declares(declaration, "enum"))) return after;
    if (group == k_nowhere) {  // namespace, class, extern "C": look inside
      for (Position at = declaration.begin; at < open; ++at)
        if (tokens_.is(at, "struct") || tokens_.is(at, "class"))
          return open_class(class_name({at + 1, open}), {open + 1, after}), open + 1;
      return open + 1;
    }
    define({declaration.begin, name}, name, group, {open + 1, after > open + 1 ? after - 1 : tokens_.size()});
    return after > open + 1 ? after : tokens_.size();
  }

  /// The position of the bracket in void name<Type>(...), if the name is at `at`; else `at`.
  [[nodiscard]] Position after_specialized_name(Position at, Position end) const {
    if (at == 0 || !tokens_.is_name(at) || !tokens_.is_name(at - 1) || !tokens_.is(at + 1, "<")) return at;
    const Position after = tokens_.after_template(at + 1, end);
    return after > at + 1 && after < end && tokens_.is(after, "(") ? after : at;
  }

  /// A class that is being read.
  struct Class {
    Position end = 0;
    std::vector<std::string_view> members;
  };

  /// The name in __align__(8) Name : Base<int>.
  [[nodiscard]] Position class_name(Range range) const {
    Position name = k_nowhere;
    for (Position at = range.begin; at < range.end && !tokens_.is(at, ":"); at = tokens_.after_group(at, range.end))
      if (tokens_.is_name(at) && !tokens_.is(at + 1, "(") && name == k_nowhere) name = at;
    return name;
  }

  /// Reads the variables of the class: float h, w[4]; Pair pair{};
  void open_class(Position name, Range body) {
    constexpr std::size_t k_max_members = 32;
    Class found{body.end, {}};
    bool function = false;
    for (Position at = body.begin; at + 1 < body.end && found.members.size() < k_max_members;) {
      if (tokens_.is(at, "(")) function = true;
      const bool ends = tokens_.is(at + 1, ";") || tokens_.is(at + 1, ",") || tokens_.is(at + 1, "[") ||
                        tokens_.is(at + 1, "=") || tokens_.is(at + 1, "{");
      const bool typed =
          at > body.begin && (tokens_.is_name(at - 1) || tokens_.is(at - 1, "*") || tokens_.is(at - 1, "&") ||
                              tokens_.is(at - 1, ">") || (tokens_.is(at - 1, ",") && !found.members.empty()));
      if (!function && ends && typed && tokens_.is_name(at) && !declares({at - 2, at}, "struct"))
        found.members.push_back(tokens_.list[at].text);
      if (tokens_.is(at, ";") || tokens_.is(at, "{") || tokens_.is(at, ":")) function = false;
      const Position after = tokens_.is(at, "<") ? tokens_.after_template(at, body.end) : at;
      at = after > at ? after : tokens_.after_group(at, body.end);
    }
    if (name != k_nowhere) known_.try_emplace(tokens_.list[name].text, found.members);
    std::sort(found.members.begin(), found.members.end());
    classes_.push_back(std::move(found));
  }

  /// The variables of the class that a function with these specifiers returns.
  [[nodiscard]] std::vector<std::string_view> returned(Range specifiers) const {
    for (Position at = specifiers.begin; at < specifiers.end; ++at) {
      const auto text = tokens_.list[at].text;
      if (const auto found = known_.find(text); found != known_.end()) return found->second;
      // float2, double4, half2
      const auto count = text.empty() ? '0' : text.back();
      constexpr std::array<std::string_view, 4> k_axes{"x", "y", "z", "w"};
      if (tokens_.is_name(at) && count >= '2' && count <= '4' && is_type(text.substr(0, text.size() - 1)))
        return {k_axes.begin(), k_axes.begin() + (count - '0')};
    }
    return {};
  }

  /// Adds the object that a member function works on, if it runs on the device.
  void add_object_parameter(Function& function, Position name) {
    while (!classes_.empty() && classes_.back().end <= name) classes_.pop_back();
    if (classes_.empty() || classes_.back().members.empty() || declares(function.specifiers, "static")) return;
    if (!declares(function.specifiers, "__device__")) return;
    function.members = classes_.back().members;
    for (const auto& parameter : function.parameters) std::erase(function.members, parameter.name);
    function.parameters.insert(function.parameters.begin(), {"this", true});
  }

  [[nodiscard]] bool declares(Range range, std::string_view word) const {
    for (Position at = range.begin; at < range.end; ++at)
      if (tokens_.is(at, word)) return true;
    return false;
  }

  static bool is_specifier(std::string_view name) {
    constexpr std::array<std::string_view, 10> k_names{
        "__launch_bounds__", "__attribute__", "__cluster_dims__", "alignas",     "noexcept",
        "decltype",          "requires",      "__declspec",       "__maxnreg__", "__block_size__"};
    return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
  }

  void define(Range specifiers, Position name, Position group, Range body) {
    Function function;
    function.tokens = &tokens_;
    function.name = tokens_.list[name].text;
    function.specifiers = specifiers;
    function.line = tokens_.list[name].line;
    function.parameters = parameters(group);
    function.returned = returned(specifiers);
    add_object_parameter(function, name);
    functions_.push_back(std::move(function));
    block(body, 0, 0);
  }

  /// Reads the parameter list that opens at `group`.
  [[nodiscard]] std::vector<Parameter> parameters(Position group) const {
    std::vector<Parameter> found;
    const Position end = tokens_.after_group(group, tokens_.size()) - 1;
    for (Position at = group + 1; at < end;) {
      const Position next = parameter_end(at, end);
      found.push_back(parameter({at, next}));
      at = next + 1;
    }
    return found;
  }

  [[nodiscard]] Position parameter_end(Position at, Position end) const {
    while (at < end && !tokens_.is(at, ",")) {
      const Position after = tokens_.is(at, "<") ? tokens_.after_template(at, end) : at;
      at = after > at ? after : tokens_.after_group(at, end);
    }
    return at;
  }

  [[nodiscard]] Parameter parameter(Range range) const {
    Parameter parameter;
    for (Position at = range.begin; at < range.end && !tokens_.is(at, "="); ++at) {
      if (tokens_.is(at, "&") || tokens_.is(at, "*") || tokens_.is(at, "&&")) parameter.by_reference = true;
      if (tokens_.is(at, "const")) parameter.constant = true;
      if (tokens_.is(at, "[")) {
        parameter.by_reference = true;
        at = tokens_.after_group(at, range.end) - 1;
      } else if (tokens_.is_name(at)) {
        parameter.name = tokens_.list[at].text;
      }
    }
    return parameter;
  }

  std::vector<Node>& nodes() { return functions_.back().nodes; }

  std::uint32_t add(Range tokens, NodeKind kind, LoopKind loop, int loops) {
    const auto index = static_cast<std::uint32_t>(nodes().size());
    const int line = tokens_.list[std::min(tokens.begin, tokens_.size() - 1)].line;
    nodes().push_back({kind, loop, tokens, index + 1, line, loops});
    return index;
  }
  void finish(std::uint32_t node) { nodes()[node].last = static_cast<std::uint32_t>(nodes().size()); }

  void block(Range range, int loops, int nesting) {
    while (range.begin < range.end) range.begin = statement(range, loops, nesting);
  }

  /// Returns the position after the statement, at least one token on.
  Position statement(Range range, int loops, int nesting) {
    const Position at = range.begin;
    if (nesting > k_max_nesting) return plain(range, loops, nesting);
    if (tokens_.is(at, "{")) {
      const Position after = tokens_.after_group(at, range.end);
      if (after > at + 1) block({at + 1, after - 1}, loops, nesting + 1);
      return after;
    }
    if (tokens_.is(at, ";") || tokens_.is(at, "}")) return at + 1;
    if (tokens_.is(at, "for") || tokens_.is(at, "while"))
      return header_and_body(range, NodeKind::Loop, tokens_.is(at, "for") ? LoopKind::For : LoopKind::While, loops,
                             nesting);
    if (tokens_.is(at, "if") || tokens_.is(at, "switch") || tokens_.is(at, "catch")) {
      range.begin = header_and_body(range, NodeKind::Branch, LoopKind::None, loops, nesting);
      // The next arm belongs to this branch, and not to one around it.
      const bool other = tokens_.is(at, "if") && range.begin < range.end && tokens_.is(range.begin, "else");
      return other ? statement(range, loops, nesting) : range.begin;
    }
    if (tokens_.is(at, "else")) {
      const auto node = add({at, at}, NodeKind::Branch, LoopKind::None, loops);
      const Position after = at + 1 < range.end ? statement({at + 1, range.end}, loops, nesting + 1) : range.end;
      finish(node);
      return after;
    }
    if (tokens_.is(at, "do")) return do_while(range, loops, nesting);
    if (tokens_.is(at, "case") || tokens_.is(at, "default") || (tokens_.is_name(at) && tokens_.is(at + 1, ":"))) {
      Position colon = at;
      while (colon < range.end && !tokens_.is(colon, ":") && !tokens_.is(colon, ";")) ++colon;
      return colon + 1;
    }
    if (tokens_.is(at, "try")) return at + 1;
    return plain(range, loops, nesting);
  }

  Position header_and_body(Range range, NodeKind kind, LoopKind loop, int loops, int nesting) {
    Position at = range.begin + 1;
    if (tokens_.is(at, "constexpr")) ++at;
    if (at >= range.end || !tokens_.is(at, "(")) return at;
    const Position after = tokens_.after_group(at, range.end);
    const auto node = add({at + 1, std::max(after - 1, at + 1)}, kind, loop, loops);
    Position end = after;
    if (after < range.end) end = statement({after, range.end}, loops + (kind == NodeKind::Loop ? 1 : 0), nesting + 1);
    finish(node);
    return end;
  }

  Position do_while(Range range, int loops, int nesting) {
    const auto node = add({range.begin, range.begin}, NodeKind::Loop, LoopKind::DoWhile, loops);
    Position at = range.begin + 1;
    if (at < range.end) at = statement({at, range.end}, loops + 1, nesting + 1);
    finish(node);
    if (at + 1 >= range.end || !tokens_.is(at, "while") || !tokens_.is(at + 1, "(")) return at;
    const Position after = tokens_.after_group(at + 1, range.end);
    nodes()[node].tokens = {at + 2, std::max(after - 1, at + 2)};
    const bool once = after == at + 4 && (tokens_.is(at + 2, "0") || tokens_.is(at + 2, "false"));
    if (once) {  // the usual form of a macro
      nodes()[node].kind = NodeKind::Plain;
      nodes()[node].loop = LoopKind::None;
    }
    return after;
  }

  /// The last bracket of a lambda's head, if the brace at `open` begins the body of one: [&](int t) mutable -> float {.
  [[nodiscard]] Position lambda_head(Position open, Position begin) const {
    constexpr Position k_longest = 12;  // tokens of a return type
    Position at = open;
    for (Position back = 1; back <= k_longest && open >= begin + back; ++back)
      if (tokens_.is(open - back, "->")) at = open - back;
    while (at > begin && (tokens_.is(at - 1, "mutable") || tokens_.is(at - 1, "noexcept"))) --at;
    return at > begin && (tokens_.is(at - 1, ")") || tokens_.is(at - 1, "]")) ? at - 1 : k_nowhere;
  }

  /// Reads auto name = [...](...): `definition` ends before the body, `head` is the last bracket of the lambda.
  void name_lambda(Range definition, Position head, std::uint32_t node) {
    for (Position at = definition.begin + 1; at + 1 < definition.end; ++at) {
      if (!tokens_.is(at, "=") || !tokens_.is(at + 1, "[") || !tokens_.is_name(at - 1)) continue;
      Lambda lambda{tokens_.list[at - 1].text, node, {}};
      if (tokens_.is(head, ")") && tokens_.partner[head] != k_nowhere)
        lambda.parameters = parameters(tokens_.partner[head]);
      return functions_.back().lambdas.push_back(std::move(lambda));
    }
  }

  /// Reads a statement up to the semicolon. The bodies of lambdas in it become statements below this one.
  Position plain(Range range, int loops, int nesting) {
    const auto node = add({range.begin, range.end}, NodeKind::Plain, LoopKind::None, loops);
    Position at = range.begin;
    int parentheses = 0;
    for (; at < range.end; ++at) {
      if (tokens_.is(at, ";") && parentheses == 0) break;
      if (tokens_.is(at, "}")) break;
      if (tokens_.is(at, "(") && tokens_.partner[at] != k_nowhere) ++parentheses;
      if (tokens_.is(at, ")") && parentheses > 0) --parentheses;
      if (!tokens_.is(at, "{")) continue;
      const Position after = tokens_.after_group(at, range.end);
      const Position head = lambda_head(at, range.begin);
      if (head != k_nowhere && after > at + 1 && nesting <= k_max_nesting) {
        name_lambda({range.begin, at}, head, node);
        block({at + 1, after - 1}, loops, nesting + 1);
      }
      at = after - 1;
    }
    nodes()[node].tokens.end = at;
    finish(node);
    return std::max(at, range.begin) + 1;
  }

  const Tokens& tokens_;
  std::vector<Function> functions_;
  std::vector<Class> classes_;  ///< the classes around the current position, the innermost last
  std::unordered_map<std::string_view, std::vector<std::string_view>> known_;  ///< the variables of a class
};

}  // namespace

std::vector<Function> parse_c(const Tokens& tokens) { return CParser(tokens).run(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
