#include "detect/facts.hpp"

#include <algorithm>
#include <array>

#include "detect/expression.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Effects of calls that are arguments of calls, so deep and no deeper: keeps the work linear.
constexpr int k_max_call_nesting = 6;

bool assigns(std::string_view text) {
  constexpr std::array<std::string_view, 14> k_operators{
      "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "<<=", ">>=", "**=", "//="};
  return std::find(k_operators.begin(), k_operators.end(), text) != k_operators.end();
}

class FactReader {
 public:
  FactReader(const Function& function, const Summaries& summaries, Names& names)
      : function_(function),
        tokens_(*function.tokens),
        summaries_(summaries),
        names_(names),
        expressions_(tokens_, summaries, names) {}

  std::vector<Fact> run() && {
    for (node_ = 0; node_ < function_.nodes.size(); ++node_) {
      const auto& node = function_.nodes[node_];
      if (node.kind == NodeKind::Loop && node.loop == LoopKind::For)
        for_header(node.tokens);
      else if (node.kind == NodeKind::Plain)
        plain(node);
      else
        effects(node.tokens);
    }
    return std::move(facts_);
  }

 private:
  void for_header(Range header) {
    if (tokens_.language == Language::C) {
      for (const auto part : split_tokens(tokens_, header, ";")) statement(part);
      return;
    }
    Position in = header.begin;
    while (in < header.end && !tokens_.is(in, "in")) ++in;
    for (Position at = header.begin; at < in; ++at) {
      if (!tokens_.is_name(at)) continue;
      auto& fact = add(names_.id(tokens_.list[at].text));
      expressions_.read({in + 1, header.end}, {Rank::Operand, false, 0, 0, 0}, fact.uses);
    }
  }

  void plain(const Node& node) {
    // The bodies of lambdas are statements of their own.
    Range range = node.tokens;
    if (node.last > node_ + 1) {
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
    if (tokens_.is(range.begin, "return")) {
      expressions_.read({range.begin + 1, range.end}, {}, add(k_return).uses);
      return;
    }
    if (tokens_.language == Language::Python) return python_assignment(range);
    bool declares = false;
    bool first = true;
    for (const auto part : split_tokens(tokens_, range, ",")) {
      c_assignment(part, declares, first);
      first = false;
    }
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
    for (const auto side : sides) {
      const bool group = tokens_.is(side.begin, "(") && tokens_.after_group(side.begin, side.end) == side.end;
      const auto targets = split_tokens(tokens_, group ? Range{side.begin + 1, side.end - 1} : side, ",");
      const bool each = targets.size() == values.size() && targets.size() > 1;
      // A tuple is evaluated before anything is assigned: exchanged names must not look assigned already.
      const std::size_t base = facts_.size();
      for (std::size_t i = 0; i < targets.size(); ++i) assign(targets[i], operation, each ? values[i] : value);
      if (each) order_tuple(base);
    }
  }

  /// a, b = b, f(a): b's fact must come before a's; with a cycle both directions are kept by a swap.
  void order_tuple(std::size_t base) {
    for (std::size_t i = base; i < facts_.size(); ++i)
      for (std::size_t later = i + 1; later < std::min(facts_.size(), i + 8); ++later)
        for (const auto& use : facts_[later].uses)
          if (use.name == facts_[i].target) facts_[i].swaps = true;
  }

  void c_assignment(Range range, bool& declares, bool first) {
    Position at = range.begin;
    while (at < range.end && !(tokens_.list[at].kind == TokenKind::Operator && assigns(tokens_.list[at].text)))
      at = tokens_.after_group(at, range.end);
    const Range left{range.begin, std::min(at, range.end)};
    if (first) declares = is_declaration(left);
    if (at < range.end) {
      auto& fact = assign(left, tokens_.list[at].text, {at + 1, range.end});
      fact.declares = declares && !has_static(left);
      return;
    }
    for (Position p = range.begin; p < range.end; ++p) {
      if (!tokens_.is(p, "++") && !tokens_.is(p, "--")) continue;
      const bool before = p > range.begin && (tokens_.is_name(p - 1) || tokens_.is(p - 1, "]"));
      assign(before ? Range{range.begin, p} : Range{p + 1, range.end}, "+=", {range.end, range.end});
    }
    if (declares) declare(left);
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
      if (!tokens_.is_name(at)) continue;
      if (tokens_.is_name(at - 1) || tokens_.is(at - 1, ">") || tokens_.is(at - 1, "*") || tokens_.is(at - 1, "&"))
        return true;
    }
    return false;
  }

  void declare(Range left) {
    if (has_static(left)) return;
    Position name = k_nowhere;
    for (Position at = left.begin; at < left.end && !tokens_.is(at, "[") && !tokens_.is(at, "("); ++at)
      if (tokens_.is_name(at)) name = at;
    if (name != k_nowhere) add(names_.id(tokens_.list[name].text)).declares = true;
  }

  Fact& assign(Range left, std::string_view operation, Range right) {
    std::vector<Use> address;
    const auto target = target_of(left, address);
    for (auto& use : address) use.of_target = true;
    auto& fact = add(target.name);
    fact.memory = target.memory;
    fact.access = target.access;
    fact.uses = std::move(address);
    expressions_.read(right, {compound_rank(operation), false, 0, 0, 0}, fact.uses);
    if (operation != "=") {
      Rank own = Rank::Operand;
      if (operation == "+=" || operation == "-=") own = Rank::Additive;
      if (operation == "*=" || operation == "/=") own = Rank::Scaled;
      fact.uses.push_back({fact.target, own, fact.memory, false, false, fact.access, 0, 0});
    }
    return fact;
  }

  static Rank compound_rank(std::string_view operation) {
    if (operation == "=" || operation == "+=" || operation == "-=") return Rank::Additive;
    return operation == "*=" ? Rank::Scaled : Rank::Operand;
  }

  ExpressionReader::Object target_of(Range left, std::vector<Use>& address) {
    ExpressionReader::Object target;
    const bool python = tokens_.language == Language::Python;
    if (python) {
      target.memory = false;
      if (tokens_.is_name(left.begin)) target.name = names_.id(tokens_.list[left.begin].text);
      if (target.name == k_return) target.name = names_.id("_");
      return target;
    }
    if (tokens_.is(left.begin, "*")) return pointed({left.begin + 1, left.end}, address);
    Position name = left.begin;
    for (Position at = left.begin; at < left.end; ++at) {
      const bool member = at > left.begin && (tokens_.is(at - 1, ".") || tokens_.is(at - 1, "->"));
      if (tokens_.is(at, "[") || tokens_.is(at, "(")) break;
      if (tokens_.is_name(at) && !member) name = at;
    }
    target = expressions_.object({name, left.end}, address);
    if (!target.found) target.name = names_.id("_");
    target.memory = false;
    for (Position at = name; at < left.end; ++at) target.memory = target.memory || tokens_.is(at, "[");
    if (!target.memory) address.clear();
    return target;
  }

  ExpressionReader::Object pointed(Range range, std::vector<Use>& address) {
    auto target = expressions_.object(range, address);
    if (!target.found) target.name = names_.id("_");
    return target;
  }

  /// What the calls in a statement write.
  void effects(Range range) {
    Position shallow_end[k_max_call_nesting] = {};
    int nesting = 0;
    for (const auto& call : calls_in(tokens_, range)) {
      while (nesting > 0 && call.at >= shallow_end[nesting - 1]) --nesting;
      if (nesting >= k_max_call_nesting) continue;
      shallow_end[nesting++] = call.arguments.end;
      effect(call);
    }
  }

  void effect(const Call& call) {
    const auto arguments = split_tokens(tokens_, call.arguments, ",");
    const bool qualified = call.first == "tl" || call.first == "gl";
    const auto known = summaries_.find(call.name);
    if (!qualified && known != summaries_.end()) return apply(known->second, arguments);
    if (arguments.size() < 2) return;
    if (call.name == "memset") return write(arguments[0], {}, Rank::Additive, false);
    if ((qualified && call.name == "store") || call.name == "memcpy" || call.name == "memmove" ||
        call.name == "memcpy_async" || call.name == "__pipeline_memcpy_async" || call.name == "__stcg" ||
        call.name == "load_matrix_sync" || call.name == "store_matrix_sync")
      return write(arguments[0], {arguments[1]}, Rank::Additive,
                   call.name.substr(0, 5) != "store" && !starts(call, "__stcg"));
    if (starts(call, "atomic")) return accumulate(arguments, call.name != "atomicExch" && call.name != "atomic_xchg");
    if (call.name == "swap") return swap(arguments);
    if (call.name == "mma_sync" && arguments.size() > 3) {
      write(arguments[0], {arguments[3]}, Rank::Additive, false);
      write(arguments[0], {arguments[1], arguments[2]}, Rank::Operand, false);
      return;
    }
    for (const auto argument : arguments) {
      if (!tokens_.is(argument.begin, "&") || tokens_.language != Language::C) continue;
      std::vector<Range> others;
      for (const auto other : arguments)
        if (other.begin != argument.begin) others.push_back(other);
      write(argument, others, Rank::Operand, false);
    }
  }

  static bool starts(const Call& call, std::string_view prefix) { return call.name.substr(0, prefix.size()) == prefix; }

  void write(Range pointer, const std::vector<Range>& values, Rank rank, bool from_memory) {
    std::vector<Use> uses;
    const auto target = pointed(pointer, uses);
    for (auto& use : uses) use.of_target = true;
    for (const auto value : values) {
      if (from_memory) {
        const auto source = expressions_.object(value, uses);
        if (source.found) uses.push_back({source.name, rank, source.memory, false, false, source.access, 0, 0});
      } else {
        expressions_.read(value, {rank, false, 0, 0, 0}, uses);
      }
    }
    auto& fact = add(target.name);
    fact.memory = target.memory;
    fact.access = target.access;
    fact.uses = std::move(uses);
  }

  void accumulate(const std::vector<Range>& arguments, bool reads) {
    write(arguments[0], {arguments[1]}, Rank::Additive, false);
    auto& fact = facts_.back();
    if (reads) fact.uses.push_back({fact.target, Rank::Additive, fact.memory, false, false, fact.access, 0, 0});
  }

  void swap(const std::vector<Range>& arguments) {
    std::vector<Use> unused;
    const auto a = pointed(arguments[0], unused);
    const auto b = pointed(arguments[1], unused);
    for (const auto& [to, from] : {std::pair(a.name, b.name), std::pair(b.name, a.name)}) {
      auto& fact = add(to);
      fact.swaps = true;
      fact.uses.push_back({from, Rank::Additive, false, false, false, 0, 0, 0});
    }
  }

  /// One fact for each argument that the function writes: it reads all its arguments before.
  void apply(const Summary& summary, const std::vector<Range>& arguments) {
    for (std::size_t to = 0; to < arguments.size(); ++to) {
      for (const bool memory : {false, true}) {
        std::vector<Use> uses;
        for (const auto& effect : summary.effects) {
          const bool mine = !effect.returns && effect.to == to && effect.to_memory == memory;
          if (!mine || effect.from >= arguments.size()) continue;
          if (uses.empty()) {
            write(arguments[to], {}, Rank::Additive, false);
            facts_.back().memory = facts_.back().memory && memory;
            uses = std::move(facts_.back().uses);
          }
          argument(arguments[effect.from], effect, uses);
        }
        if (!uses.empty()) facts_.back().uses = std::move(uses);
      }
    }
  }

  void argument(Range range, const Effect& effect, std::vector<Use>& uses) {
    if (!effect.from_memory) return expressions_.read(range, {effect.rank, false, 0, 0, 0}, uses);
    const auto source = expressions_.object(range, uses);
    if (source.found) uses.push_back({source.name, effect.rank, source.memory, false, false, source.access, 0, 0});
  }

  Fact& add(NameId target) {
    facts_.push_back({});
    facts_.back().node = static_cast<std::uint32_t>(node_);
    facts_.back().target = target;
    return facts_.back();
  }

  const Function& function_;
  const Tokens& tokens_;
  const Summaries& summaries_;
  Names& names_;
  ExpressionReader expressions_;
  std::vector<Fact> facts_;
  std::size_t node_ = 0;
};

}  // namespace

std::vector<Fact> read_facts(const Function& function, const Summaries& summaries, Names& names) {
  return FactReader(function, summaries, names).run();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
