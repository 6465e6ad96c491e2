#include "detect/facts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "detect/call_effects.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Depth of calls as arguments of calls; keeps the work linear.
constexpr int k_max_call_nesting = 6;
/// Tokens of lambdas that are read again at their calls, in one function.
constexpr Position k_max_expanded = 50'000;

bool assigns(std::string_view text) {
  constexpr std::array<std::string_view, 14> k_operators{
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "<<=", ">>=", "**=", "//="};
  return std::find(k_operators.begin(), k_operators.end(), text) != k_operators.end();
}

/// A value that several targets get. It is read for each of them, up to a limit.
class SharedValue {
 public:
  explicit SharedValue(Range value) : value_(value) {}
  Range next() {
    const bool affordable = left_ > 0;
    left_ -= 1 + static_cast<std::int64_t>(value_.end) - value_.begin;
    return affordable ? value_ : Range{value_.end, value_.end};
  }

 private:
  Range value_;
  std::int64_t left_ = 20'000;  // tokens
};

/// Reads statements of either language, and writes facts about their assignments.
class FactReader {
 public:
  FactReader(const Function& function, const Summaries& summaries, Names& names, Side side)
      : function_(function),
        side_(side),
        tokens_(*function.tokens),
        names_(names),
        writer_(function, summaries, names),
        effects_(tokens_, summaries, side, writer_) {}

  std::vector<Fact> run() && {
    std::vector<const Lambda*> open;
    auto next = function_.lambdas.begin();
    for (std::uint32_t node = 0; node < function_.nodes.size(); ++node) {
      while (!open.empty() && function_.nodes[open.back()->node].last <= node) open.pop_back();
      for (; next != function_.lambdas.end() && next->node < node; ++next) open.push_back(&*next);
      returned_ = open.empty() ? k_return : names_.id(open.back()->name);
      writer_.set_node(node);
      read(node);
    }
    return std::move(writer_.facts());
  }

 private:
  void read(std::uint32_t index) {
    const auto& node = function_.nodes[index];
    if (node.kind == NodeKind::Loop && node.loop == LoopKind::For)
      for_header(node.tokens);
    else if (node.kind == NodeKind::Plain)
      plain(index);
    else
      header(node.tokens);
  }

  void for_header(Range header) {
    if (tokens_.syntax == Syntax::CFamily) {
      const auto parts = split_tokens(tokens_, header, ";");
      if (parts.size() == 1) return range_header(header);
      for (std::size_t i = 0; i < parts.size(); ++i)
        if (i == 1 && parts.size() > 2)
          this->header(parts[i]);
        else
          statement(parts[i]);
      return;
    }
    Position in = header.begin;
    while (in < header.end && !tokens_.is(in, "in")) ++in;
    SharedValue shares({in + 1, header.end});
    for (Position at = header.begin; at < in; ++at) {
      if (!tokens_.is_name(at)) continue;
      auto& fact = writer_.add(writer_.id(at));
      writer_.expressions().read(shares.next(), {.kind = DependenceKind::Arbitrary}, fact.uses);
    }
  }

  /// for (float& value : values)
  void range_header(Range header) {
    Position colon = header.begin;
    while (colon < header.end && !tokens_.is(colon, ":")) colon = tokens_.after_group(colon, header.end);
    if (colon >= header.end || colon == header.begin || !tokens_.is_name(colon - 1)) return statement(header);
    const Range values{colon + 1, header.end};
    const auto name = writer_.id(colon - 1);
    auto& fact = writer_.add(name);
    fact.declares = true;
    writer_.read_argument(values, {.kind = DependenceKind::Arbitrary}, fact.uses);
    if (tokens_.is(colon - 2, "&") && tokens_.is_name(values.begin))
      writer_.expressions().add_reference(tokens_.list[colon - 1].text, values, name);
    writer_.declare(name, {}, true);
  }

  /// Effects of the condition of a branch or a while loop.
  void header(Range range) {
    effects(range);
    if (tokens_.syntax == Syntax::CFamily) embedded(range);
  }

  void plain(std::uint32_t index) {
    // The bodies of lambdas are statements of their own.
    Range range = function_.nodes[index].tokens;
    if (function_.nodes[index].last > index + 1) {
      Position at = range.begin;
      while (at < range.end &&
             !(tokens_.is(at, "{") && at > range.begin && (tokens_.is(at - 1, ")") || tokens_.is(at - 1, "]"))))
        ++at;
      range.end = at;
    }
    statement(range);
  }

  void statement(Range range) {
    if (range.begin >= range.end) return;
    effects(range);
    if (tokens_.is(range.begin, "return")) return returns({range.begin + 1, range.end});
    if (tokens_.syntax == Syntax::Python) return python_assignment(range);
    embedded(range);
    bool declares = false;
    bool first = true;
    note_fragments(range);
    for (const auto part : split_tokens(tokens_, range, ",")) {
      c_assignment(part, declares, first);
      first = false;
    }
  }

  void returns(Range value) {
    const auto elements = returned_ == k_return ? returned_elements(value) : std::vector<Range>();
    for (std::uint32_t i = 0; i < elements.size() && elements.size() > 1; ++i) {
      auto& fact = writer_.add(returned_);
      writer_.expressions().read(elements[i], {}, fact.uses);
      fact.element = i + 1;
      if (i >= function_.returned.size()) continue;
      fact.member = function_.returned[i];
      fact.returns_object = true;
    }
    if (elements.size() > 1) return;
    auto& fact = writer_.add(returned_);
    writer_.expressions().read(value, {}, fact.uses);
    fact.returns_object = value.end == value.begin + 1 && fact.uses.size() > 1;
  }

  /// The values in return a, b and return (a, b), and in return {a, b}, Pair{a, b} and make_float2(a, b).
  [[nodiscard]] std::vector<Range> returned_elements(Range value) const {
    Position open = value.begin;
    const bool python = tokens_.syntax == Syntax::Python;
    while (!python && open < value.end && (tokens_.is_name(open) || tokens_.is(open, "::"))) ++open;
    if (!python && tokens_.is(open, "<")) open = tokens_.after_template(open, value.end);
    const bool group = (tokens_.is(open, "{") || tokens_.is(open, "(")) && open < value.end &&
                       tokens_.after_group(open, value.end) == value.end;
    if (group && !python && tokens_.is(open, "(") && !(open > value.begin && makes_returned({value.begin, open})))
      return {};
    if (group) return split_tokens(tokens_, {open + 1, value.end - 1}, ",");
    return python ? split_tokens(tokens_, value, ",") : std::vector<Range>();
  }

  /// Whether a call makes an object of the type that the function returns: make_float2, Pair, thrust::make_tuple.
  [[nodiscard]] bool makes_returned(Range name) const {
    for (Position at = name.begin; at < name.end; ++at) {
      const auto text = tokens_.list[at].text;
      if (text.substr(0, 5) == "make_") return true;
      for (Position p = function_.specifiers.begin; p < function_.specifiers.end; ++p)
        if (tokens_.is_name(at) && tokens_.is(p, text)) return true;
    }
    return false;
  }

  void python_assignment(Range range) {
    std::vector<Range> sides;
    Position start = range.begin;
    std::string_view operation;
    for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
      if (tokens_.list[at].kind != TokenKind::Operator || !assigns(tokens_.list[at].text)) continue;
      operation = tokens_.list[at].text;
      sides.push_back({start, at});
      start = at + 1;
    }
    if (sides.empty()) return;
    const Range value{start, range.end};
    const auto values = split_tokens(tokens_, value, ",");
    SharedValue shares(value);
    for (const auto side : sides) {
      const bool group = tokens_.is(side.begin, "(") && tokens_.after_group(side.begin, side.end) == side.end;
      const auto targets = split_tokens(tokens_, group ? Range{side.begin + 1, side.end - 1} : side, ",");
      const bool each = targets.size() == values.size() && targets.size() > 1;
      // A tuple is evaluated before anything is assigned: exchanged names must not count as assigned already.
      const std::size_t base = writer_.facts().size();
      for (std::size_t i = 0; i < targets.size(); ++i) {
        if (!each && targets.size() > 1) writer_.expressions().select_element(value, i);
        writer_.assign(targets[i], operation, each ? values[i] : shares.next());
      }
      if (each) order_tuple(base);
    }
  }

  /// a, b = b, f(a): b's fact must come before a's; with a cycle both directions are kept by a swap.
  void order_tuple(std::size_t base) {
    auto& facts = writer_.facts();
    for (std::size_t i = base; i < facts.size(); ++i)
      for (std::size_t later = i + 1; later < std::min(facts.size(), i + 8); ++later)
        for (const auto& use : facts[later].uses)
          if (use.name == facts[i].target) facts[i].swaps = true;
  }

  /// wmma::fragment<...> a, b;
  void note_fragments(Range range) {
    const auto limit = std::min(range.end, range.begin + 4);
    for (Position at = range.begin; at < limit; ++at) {
      if (!tokens_.is(at, "fragment") || !tokens_.is(at + 1, "<")) continue;
      for (Position p = tokens_.after_template(at + 1, range.end); p < range.end; ++p)
        if (tokens_.is_name(p) && !tokens_.is(p + 1, "[")) writer_.is_fragment(writer_.id(p));
      return;
    }
  }

  void c_assignment(Range range, bool& declares, bool first) {
    Position at = range.begin;
    while (at < range.end && !(tokens_.list[at].kind == TokenKind::Operator && assigns(tokens_.list[at].text)))
      at = tokens_.after_group(at, range.end);
    const Range left{range.begin, std::min(at, range.end)};
    if (first) declares = is_declaration(left);
    if (at < range.end) {
      Range value{at + 1, range.end};
      if (const auto targets = bound_names(left); !targets.empty()) {
        SharedValue shares(value);
        for (std::size_t i = 0; i < targets.size(); ++i) {
          writer_.expressions().select_element(value, i);
          writer_.assign(targets[i], "=", shares.next()).declares = tokens_.is(left.end - 1, "]");
        }
        return;
      }
      if (const auto name = bracketed_name(left); name != k_nowhere) {  // Type (&name)[2] = value
        auto& fact = writer_.add(writer_.id(name));
        fact.declares = true;
        writer_.expressions().read(value, {}, fact.uses);
        return writer_.declare(writer_.id(name), variable(left, tokens_.is(left.end - 1, "]")), true);
      }
      if (declares && refers(left, value))
        return writer_.expressions().add_reference(tokens_.list[left.end - 1].text, value);
      chained(at, value);
      auto& fact = writer_.assign(left, tokens_.list[at].text, value);
      fact.declares = declares && !has_static(left);
      fact.copies = fact.declares && !fact.memory && !is_pointer(left);
      if (declares) writer_.declare(fact.target, variable(left, tokens_.is(left.end - 1, "]")), true);
      return;
    }
    if (declares) declare(left);
  }

  /// The position of the name in Type (&name)[2] and Type (*name).
  [[nodiscard]] Position bracketed_name(Range left) const {
    Position end = left.end;
    while (end > left.begin && tokens_.is(end - 1, "]") && tokens_.partner[end - 1] != k_nowhere &&
           tokens_.partner[end - 1] > left.begin)
      end = tokens_.partner[end - 1];
    if (end < left.begin + 5 || !tokens_.is(end - 1, ")") || !tokens_.is_name(end - 2) || !tokens_.is(end - 4, "("))
      return k_nowhere;
    const bool typed = tokens_.is_name(end - 5) || tokens_.is(end - 5, ">") || tokens_.is(end - 5, ">>");
    return typed && (tokens_.is(end - 3, "&") || tokens_.is(end - 3, "*")) ? end - 2 : k_nowhere;
  }

  /// The names in auto [a, b] and std::tie(a, b).
  [[nodiscard]] std::vector<Range> bound_names(Range left) const {
    if (left.end < left.begin + 4) return {};
    const Position open = tokens_.partner[left.end - 1];
    if (open == k_nowhere || open <= left.begin) return {};
    const bool binds = tokens_.is(open, "[") && (tokens_.is(open - 1, "auto") || tokens_.is(open - 1, "&")) &&
                       (tokens_.is(left.begin, "auto") || tokens_.is(left.begin, "const"));
    const bool ties = tokens_.is(open, "(") && tokens_.is(open - 1, "tie");
    return binds || ties ? split_tokens(tokens_, {open + 1, left.end - 1}, ",") : std::vector<Range>();
  }

  /// a = b = c: all of them get the last value. The first assignment is left to the caller, with `value`.
  void chained(Position first, Range& value) {
    constexpr std::size_t k_longest = 8;
    std::vector<Position> operators{first};
    for (Position at = value.begin; at < value.end; at = tokens_.after_group(at, value.end))
      if (tokens_.list[at].kind == TokenKind::Operator && assigns(tokens_.list[at].text)) operators.push_back(at);
    if (operators.size() == 1 || operators.size() > k_longest) return;
    value.begin = operators.back() + 1;
    for (auto i = operators.size() - 1; i > 0; --i)
      writer_.assign({operators[i - 1] + 1, operators[i]}, tokens_.list[operators[i]].text, value);
  }

  /// Assignments within an expression: f(sum += x), i++, --n.
  void embedded(Range range) {
    constexpr std::size_t k_max_depth = 4;
    std::vector<Position> ends;
    for (Position at = range.begin; at < range.end; ++at) {
      while (!ends.empty() && at >= ends.back()) ends.pop_back();
      const auto& token = tokens_.list[at];
      if (token.kind != TokenKind::Operator) continue;
      if (token.text == "(" && tokens_.after_group(at, range.end) > at + 1) {
        ends.push_back(tokens_.after_group(at, range.end) - 1);
      } else if (token.text == "++" || token.text == "--") {
        const bool before = at > range.begin && (tokens_.is_name(at - 1) || tokens_.is(at - 1, "]"));
        writer_.assign(before ? place_before(tokens_, at, range.begin) : writer_.place_after(at + 1, range.end),
                       "+=", {at, at});
      } else if (assigns(token.text) && !ends.empty() && ends.size() <= k_max_depth && !tokens_.is(at - 1, "[")) {
        Position end = at + 1;
        while (end < ends.back() && !tokens_.is(end, ",")) end = tokens_.after_group(end, ends.back());
        writer_.assign(place_before(tokens_, at, range.begin), token.text, {at + 1, std::min(end, ends.back())});
      }
    }
  }

  /// Whether a declaration makes a pointer, or perhaps one.
  [[nodiscard]] bool is_pointer(Range left) const {
    for (Position at = left.begin; at < left.end; ++at)
      for (const auto* word : {"*", "&", "&&", "auto"})
        if (tokens_.is(at, word)) return true;
    return left.end < left.begin + 2;
  }

  [[nodiscard]] FactWriter::Variable variable(Range left, bool array) const {
    const bool constant = tokens_.is(left.begin, "const") || tokens_.is(left.begin + 1, "const");
    return {has_static(left), array, constant};
  }

  [[nodiscard]] bool has_static(Range range) const {
    return tokens_.is(range.begin, "static") || tokens_.is(range.begin, "__shared__") ||
           tokens_.is(range.begin, "extern");
  }

  /// Type name, Type* name, Type<...> name, Type name[...], Type name(...).
  [[nodiscard]] bool is_declaration(Range left) const {
    if (!tokens_.is_name(left.begin)) return false;
    for (Position at = left.begin + 1; at < left.end; ++at) {
      if (tokens_.is(at, "[") || tokens_.is(at, "(") || tokens_.is(at, ".") || tokens_.is(at, "->")) return false;
      if (!tokens_.is_name(at) || tokens_.is(at - 1, "typename")) continue;
      if (tokens_.is_name(at - 1) || tokens_.is(at - 1, ">") || tokens_.is(at - 1, ">>") || tokens_.is(at - 1, "*") ||
          tokens_.is(at - 1, "&"))
        return true;
    }
    return false;
  }

  /// float& name = place: no value of its own. A reference that is only read may as well be a copy.
  [[nodiscard]] bool refers(Range left, Range value) const {
    if (left.end < left.begin + 3 || !tokens_.is(left.end - 2, "&") || tokens_.is(left.begin, "const")) return false;
    for (Position at = value.begin; at < value.end; ++at)
      if (tokens_.is(at, "[")) return true;
    return tokens_.is(value.begin, "*");
  }

  /// Type name; Type name[4]; Type name(a, b); Type name{a, b};
  void declare(Range left) {
    Position name = k_nowhere;
    Position at = left.begin;
    for (; at < left.end && !tokens_.is(at, "[") && !tokens_.is(at, "(") && !tokens_.is(at, "{"); ++at)
      if (tokens_.is_name(at)) name = at;
    if (name == k_nowhere) return;
    const bool shared = has_static(left);
    const auto id = writer_.id(name);
    const bool array = tokens_.is(at, "[");
    while (at < left.end && tokens_.is(at, "[")) at = tokens_.after_group(at, left.end);
    const bool made = at + 1 < left.end && tokens_.after_group(at, left.end) == left.end;
    if (made && !shared) {
      auto& fact = writer_.add(id);
      fact.declares = true;
      writer_.expressions().read({at + 1, left.end - 1}, {}, fact.uses);
    } else if (!shared) {
      writer_.add(id).declares = true;
    }
    writer_.declare(id, variable(left, array), shared || made || side_ == Side::Host);
  }

  /// The effects of the calls in a statement.
  void effects(Range range) {
    Position shallow_end[k_max_call_nesting] = {};
    int nesting = 0;
    for (const auto& call : calls_in(tokens_, range)) {
      while (nesting > 0 && call.at >= shallow_end[nesting - 1]) --nesting;
      if (nesting >= k_max_call_nesting) continue;
      shallow_end[nesting++] = call.arguments.end;
      if (nesting == 1 && side_ == Side::Host) effects_.append_arguments(call, range);
      if (const auto* lambda = writer_.expressions().lambda(call))
        expand(*lambda, call);
      else if (writer_.expressions().is_own_call(call))
        recurse(call);
      else
        effects_.read(call, range);
    }
  }

  /// A lambda works on the names around it: its statements replace the call.
  void expand(const Lambda& lambda, const Call& call) {
    constexpr int k_max_depth = 3;
    if (depth_ >= k_max_depth) return;
    const auto arguments = split_tokens(tokens_, call.arguments, ",");
    const auto count = bind(lambda.parameters, arguments);
    const auto returned = std::exchange(returned_, names_.id(lambda.name));
    ++depth_;
    for (auto node = lambda.node + 1; node < function_.nodes[lambda.node].last && expanded_ < k_max_expanded; ++node) {
      expanded_ += 1 + function_.nodes[node].tokens.end - function_.nodes[node].tokens.begin;
      read(node);
    }
    --depth_;
    returned_ = returned;
    for (std::size_t i = 0; i < count; ++i)
      if (lambda.parameters[i].by_reference)
        writer_.assign(arguments[i], "=", {}).uses.push_back({.name = names_.id(lambda.parameters[i].name)});
  }

  /// A recursive call continues with other parameters.
  void recurse(const Call& call) { bind(function_.parameters, split_tokens(tokens_, call.arguments, ",")); }

  /// Assigns arguments to parameters. Returns the number of assignments.
  std::size_t bind(const std::vector<Parameter>& parameters, const std::vector<Range>& arguments) {
    const auto count = std::min(arguments.size(), parameters.size());
    for (std::size_t i = 0; i < count; ++i)
      writer_.expressions().read(arguments[i], {}, writer_.add(names_.id(parameters[i].name)).uses);
    return count;
  }

  const Function& function_;
  const Side side_;
  const Tokens& tokens_;
  Names& names_;
  FactWriter writer_;
  CallEffects effects_;
  /// The target of return statements.
  NameId returned_ = k_return;
  int depth_ = 0;
  Position expanded_ = 0;
};

}  // namespace

std::vector<Fact> read_facts(const Function& function, const Summaries& summaries, Names& names, Side side) {
  return FactReader(function, summaries, names, side).run();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
