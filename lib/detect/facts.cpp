#include "detect/facts.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

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
  FactReader(const Function& function, const Summaries& summaries, Names& names, Side side)
      : function_(function),
        side_(side),
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
        header(node.tokens);
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
      expressions_.read({in + 1, header.end}, {.rank = Rank::Operand}, fact.uses);
    }
  }

  /// What the condition of a branch or a while loop does besides being asked.
  void header(Range range) {
    effects(range);
    if (tokens_.language == Language::C) embedded(range);
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
    embedded(range);
    bool declares = false;
    bool first = true;
    note_fragments(range);
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

  /// wmma::fragment<...> a, b;
  void note_fragments(Range range) {
    const auto limit = std::min(range.end, range.begin + 4);
    for (Position at = range.begin; at < limit; ++at) {
      if (!tokens_.is(at, "fragment") || !tokens_.is(at + 1, "<")) continue;
      for (Position p = tokens_.after_template(at + 1, range.end); p < range.end; ++p)
        if (tokens_.is_name(p) && !tokens_.is(p + 1, "[")) fragments_.insert(names_.id(tokens_.list[p].text));
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
      chained(at, value);
      auto& fact = assign(left, tokens_.list[at].text, value);
      fact.declares = declares && !has_static(left);
      return;
    }
    if (declares) declare(left);
  }

  /// a = b = c: all of them get the last value. The first assignment stays to be made, with `value`.
  void chained(Position first, Range& value) {
    constexpr std::size_t k_longest = 8;
    std::vector<Position> operators{first};
    for (Position at = value.begin; at < value.end; at = tokens_.after_group(at, value.end))
      if (tokens_.list[at].kind == TokenKind::Operator && assigns(tokens_.list[at].text)) operators.push_back(at);
    if (operators.size() == 1 || operators.size() > k_longest) return;
    value.begin = operators.back() + 1;
    for (auto i = operators.size() - 1; i > 0; --i)
      assign({operators[i - 1] + 1, operators[i]}, tokens_.list[operators[i]].text, value);
  }

  /// Assignments inside of an expression: f(sum += x), i++, --n.
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
        assign(before ? place_before(at, range.begin) : place_after(at + 1, range.end), "+=", {at, at});
      } else if (assigns(token.text) && !ends.empty() && ends.size() <= k_max_depth && !tokens_.is(at - 1, "[")) {
        Position end = at + 1;
        while (end < ends.back() && !tokens_.is(end, ",")) end = tokens_.after_group(end, ends.back());
        assign(place_before(at, range.begin), token.text, {at + 1, std::min(end, ends.back())});
      }
    }
  }

  /// name, name[i], a.b->c[i] that ends before `end`.
  [[nodiscard]] Range place_before(Position end, Position begin) const {
    Position at = end;
    while (at > begin) {
      const Position last = at - 1;
      const Position open = tokens_.is(last, "]") ? tokens_.partner[last] : k_nowhere;
      if (open != k_nowhere && open >= begin) {
        at = open;
        continue;
      }
      if (!tokens_.is_name(last)) break;
      at = last;
      if (at <= begin + 1 || !(tokens_.is(at - 1, ".") || tokens_.is(at - 1, "->"))) break;
      --at;
    }
    return {at, end};
  }

  [[nodiscard]] Range place_after(Position begin, Position end) const {
    Position at = begin;
    while (at < end && (tokens_.is_name(at) || tokens_.is(at, ".") || tokens_.is(at, "->"))) ++at;
    while (at < end && tokens_.is(at, "[") && tokens_.after_group(at, end) > at + 1) at = tokens_.after_group(at, end);
    return {begin, at};
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
    expressions_.read(right, {.rank = compound_rank(operation)}, fact.uses);
    if (operation != "=") {
      Rank own = Rank::Operand;
      if (operation == "+=" || operation == "-=") own = Rank::Additive;
      if (operation == "*=" || operation == "/=") own = Rank::Scaled;
      fact.uses.push_back({.name = fact.target, .rank = own, .memory = fact.memory, .access = fact.access});
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
      if (tokens_.is_name(left.begin)) target.name = names_.id(name_at(tokens_, left.begin));
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
      if (nesting == 1 && side_ == Side::Host) gather(call, range);
      effect(call);
    }
  }

  void effect(const Call& call) {
    if (is_assembly(call)) return assembly(call);
    if (side_ == Side::Host && host_effect(call)) return;
    const auto arguments = split_tokens(tokens_, call.arguments, ",");
    const bool qualified = is_device_operation(tokens_, call);
    const auto known = summaries_.find(call.name);
    if (!qualified && known != summaries_.end()) return apply(known->second, arguments);
    if (call.name == "swap" && arguments.size() == 1 && call.first != call.name)
      return swap({receiver(call), arguments[0]});
    if (arguments.size() < 2) return;
    if (call.name == "memset") return write(arguments[0], {}, Rank::Additive, false);
    const bool copies = call.name == "memcpy" || call.name == "memmove" || call.name == "memcpy_async" ||
                        call.name == "__pipeline_memcpy_async" || call.name == "load_matrix_sync";
    if (copies || (qualified && call.name == "store") || call.name == "store_matrix_sync" || starts(call, "__st"))
      return write(arguments[0], {arguments[1]}, Rank::Additive, copies);
    if (call.name == "fill_fragment") return write(arguments[0], {arguments[1]}, Rank::Additive, false);
    if (starts(call, "atomic")) return accumulate(arguments, call.name != "atomicExch" && call.name != "atomic_xchg");
    if (call.name == "swap") return swap(arguments);
    if (call.name == "mma_sync" && arguments.size() > 3) {
      write(arguments[0], {arguments[3]}, Rank::Additive, false);
      auto& fact = facts_.back();
      for (const auto factor : {arguments[1], arguments[2]})
        expressions_.read(factor, {.rank = Rank::Operand}, fact.uses);
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
    if (holds_value(pointer)) uses.clear();
    for (auto& use : uses) use.of_target = true;
    for (const auto value : values) {
      if (from_memory) {
        const auto source = expressions_.object(value, uses);
        if (source.found)
          uses.push_back({.name = source.name, .rank = rank, .memory = source.memory, .access = source.access});
      } else {
        expressions_.read(value, {.rank = rank}, uses);
      }
    }
    auto& fact = add(target.name);
    fact.memory = target.memory && !holds_value(pointer);
    fact.access = target.access;
    fact.uses = std::move(uses);
  }

  /// A fragment of a matrix, given by its name, is a value like any other.
  [[nodiscard]] bool holds_value(Range pointer) const {
    return tokens_.language == Language::C && pointer.end == pointer.begin + 1 &&
           fragments_.count(names_.id(tokens_.list[pointer.begin].text)) != 0;
  }

  /// Launches by functions of the runtime, and copies.
  bool host_effect(const Call& call) {
    auto arguments = split_tokens(tokens_, call.arguments, ",");
    const bool generic = call.name == "hipLaunchKernelGGL";
    if (generic || call.name.find("LaunchKernelEx") != call.name.npos) {
      const std::size_t kernel = generic ? 0 : 1;
      const std::size_t first = generic ? 5 : 2;
      if (arguments.size() <= first) return true;
      for (Position at = arguments[kernel].begin; at < arguments[kernel].end; ++at) {
        const auto known = summaries_.find(tokens_.list[at].text);
        if (known == summaries_.end()) continue;
        arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(first));
        apply(known->second, arguments);
        return true;
      }
      return true;
    }
    if (call.name.find("Memcpy") == call.name.npos || arguments.size() < 2) return false;
    write(arguments[0], {arguments[1]}, Rank::Additive, true);
    return true;
  }

  static bool is_assembly(const Call& call) {
    return call.name == "asm" || call.name == "__asm__" || call.name == "volatile" || call.name == "__volatile__" ||
           call.name == "__asm";
  }

  /// Extended assembly: "text" : outputs : inputs : what else it changes.
  void assembly(const Call& call) {
    std::string_view text;
    std::vector<Range> outputs;
    std::vector<Range> inputs;
    int section = 0;
    bool keeps = false;
    for (Position at = call.arguments.begin; at < call.arguments.end;
         at = tokens_.after_group(at, call.arguments.end)) {
      const auto& token = tokens_.list[at];
      if (tokens_.is(at, ":") || tokens_.is(at, "::")) section += static_cast<int>(token.text.size());
      if (token.kind == TokenKind::String && section == 0 && text.empty()) text = token.text;
      if (token.kind == TokenKind::String && section == 1) keeps = keeps || token.text.find('+') != token.text.npos;
      if (!tokens_.is(at, "(")) continue;
      const Range operand{at + 1, std::max(tokens_.after_group(at, call.arguments.end) - 1, at + 1)};
      if (section == 1) outputs.push_back(operand);
      if (section == 2) inputs.push_back(operand);
    }
    const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
    if (outputs.empty() && !inputs.empty() && (has("st.") || has("red.") || has("atom"))) {
      std::vector<Range> values;  // and not further places, such as a barrier's
      for (std::size_t i = 1; i < inputs.size(); ++i)
        if (!has("[%" + std::to_string(i) + "]")) values.push_back(inputs[i]);
      return write(inputs[0], values, Rank::Additive, false);
    }
    constexpr std::size_t k_most = 64;  // operands; more are no instruction
    if (outputs.size() * inputs.size() > k_most * k_most) return;
    for (const auto output : outputs) {
      auto& fact = assign(output, keeps ? "+=" : "=", {output.end, output.end});
      for (const auto input : inputs)
        operand(input, output, has("ld.") || has("ldmatrix"), has("mapa") || has("mov"), fact);
    }
  }

  void operand(Range input, Range output, bool loads, bool moves, Fact& fact) {
    if (loads) {
      const auto source = expressions_.object(input, fact.uses);
      if (source.found) fact.uses.push_back({.name = source.name, .memory = source.memory, .access = source.access});
      return;
    }
    const bool same = input.end - input.begin == output.end - output.begin &&
                      std::equal(tokens_.list.begin() + input.begin, tokens_.list.begin() + input.end,
                                 tokens_.list.begin() + output.begin,
                                 [](const Token& a, const Token& b) { return a.text == b.text; });
    expressions_.read(input, {.rank = moves || same ? Rank::Additive : Rank::Operand}, fact.uses);
  }

  /// What stands before the dot of a method call.
  [[nodiscard]] Range receiver(const Call& call) const {
    const Position end = call.at - 1;
    return place_before(end, end > 16 ? end - 16 : 0);
  }

  void accumulate(const std::vector<Range>& arguments, bool reads) {
    write(arguments[0], {arguments[1]}, Rank::Additive, false);
    auto& fact = facts_.back();
    if (reads) fact.uses.push_back({.name = fact.target, .memory = fact.memory, .access = fact.access});
  }

  void swap(const std::vector<Range>& arguments) {
    std::vector<Use> unused;
    const auto a = pointed(arguments[0], unused);
    const auto b = pointed(arguments[1], unused);
    for (const auto& [to, from] : {std::pair(a.name, b.name), std::pair(b.name, a.name)}) {
      auto& fact = add(to);
      fact.swaps = true;
      fact.uses.push_back({.name = from});
    }
  }

  /// One fact for each argument that the function writes: it reads all its arguments before.
  void apply(const Summary& summary, const std::vector<Range>& given) {
    const auto arguments = by_position(tokens_, summary, given);
    for (std::size_t to = 0; to < arguments.size(); ++to) {
      for (const bool memory : {false, true}) {
        std::vector<Use> uses;
        for (const auto& effect : summary.effects) {
          const bool mine = !effect.returns && effect.to == to && effect.to_memory == memory;
          if (!mine || effect.from >= arguments.size() || empty(arguments[to]) || empty(arguments[effect.from]))
            continue;
          if (uses.empty()) {
            write(arguments[to], {}, Rank::Additive, false);
            facts_.back().memory = facts_.back().memory && memory;
            uses = std::move(facts_.back().uses);
          }
          const std::size_t first = uses.size();
          argument(arguments[effect.from], effect, uses);
          for (std::size_t i = first; i < uses.size(); ++i) uses[i].launched = summary.launches;
        }
        if (!uses.empty()) facts_.back().uses = std::move(uses);
      }
    }
  }

  static bool empty(Range range) { return range.begin >= range.end; }

  void argument(Range range, const Effect& effect, std::vector<Use>& uses) {
    if (!effect.from_memory) return expressions_.read(range, {.rank = effect.rank}, uses);
    const auto source = expressions_.object(range, uses);
    if (source.found)
      uses.push_back({.name = source.name, .rank = effect.rank, .memory = source.memory, .access = source.access});
  }

  /// list.append(h), total.add_(x): on the host, what a method is given becomes part of its object.
  void gather(const Call& call, Range statement) {
    if (call.first == call.name || call.at < 2 || call.arguments.end + 1 < statement.end) return;
    const Range object = receiver(call);
    if (empty(object) || object.begin != statement.begin || tokens_.is_module(call.first)) return;
    std::vector<Use> address;
    const auto target = target_of(object, address);
    auto& fact = add(target.name);
    fact.gathers = true;
    expressions_.read(call.arguments, {.rank = Rank::Operand}, fact.uses);
  }

  Fact& add(NameId target) {
    facts_.push_back({});
    facts_.back().node = static_cast<std::uint32_t>(node_);
    facts_.back().target = target;
    return facts_.back();
  }

  const Function& function_;
  const Side side_;
  const Tokens& tokens_;
  const Summaries& summaries_;
  Names& names_;
  ExpressionReader expressions_;
  std::vector<Fact> facts_;
  std::unordered_set<NameId> fragments_;
  std::size_t node_ = 0;
};

}  // namespace

std::vector<Fact> read_facts(const Function& function, const Summaries& summaries, Names& names, Side side) {
  return FactReader(function, summaries, names, side).run();
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
