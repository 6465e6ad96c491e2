#include "detect/expression.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Deeper brackets are read without structure.
constexpr int k_max_parentheses = 48;

}  // namespace

ExpressionReader::ExpressionReader(const Function& function, const Summaries& summaries, Names& names)
    : tokens_(*function.tokens), summaries_(summaries), names_(names), function_(function.name) {
  for (const auto& each : function.lambdas) lambdas_.emplace(each.name, &each);
  if (tokens_.syntax == Syntax::CFamily) find_bundles(function);
  members_.insert(function.members.begin(), function.members.end());
  if (!members_.empty()) bundles_.insert("this");
}

void ExpressionReader::find_bundles(const Function& function) {
  std::unordered_set<std::string_view> whole;   // passed on or copied
  std::unordered_set<std::string_view> others;  // pointers, and objects of a method
  for (const auto& node : function.nodes) {
    for (Position at = node.tokens.begin; at < node.tokens.end; ++at) {
      if (!tokens_.is_name(at)) continue;
      if (at > 0 && (tokens_.is(at - 1, ".") || tokens_.is(at - 1, "->"))) continue;
      const auto name = tokens_.list[at].text;
      const bool member = (tokens_.is(at + 1, ".") || tokens_.is(at + 1, "->")) && tokens_.is_name(at + 2);
      const bool made = at > node.tokens.begin && tokens_.is_name(at - 1);  // Type name, or return name
      const bool method = member && tokens_.is(arguments_at(tokens_, at + 3, node.tokens.end), "(");
      if (member && !method) bundles_.insert(name);
      if (method || (!member && !made)) whole.insert(name);
      if (method || tokens_.is(at + 1, "->")) others.insert(name);
    }
  }
  for (const auto name : others)
    if (whole.count(name) != 0) bundles_.erase(name);
}

void ExpressionReader::add_reference(std::string_view name, Range range) {
  constexpr Position k_longest = 32;  // tokens; aliases are read wherever the name is used
  if (range.end - range.begin <= k_longest) references_.insert_or_assign(name, range);
}

std::optional<Range> ExpressionReader::referenced_place(Position at) const {
  const auto found =
      references_.empty() || inside_reference_ ? references_.end() : references_.find(tokens_.list[at].text);
  if (found == references_.end()) return std::nullopt;
  return found->second;
}

Position ExpressionReader::read_reference(Range referenced_place, Position at, Position end, Place place,
                                          std::vector<Use>& uses) {
  inside_reference_ = true;
  read_memory(referenced_place, place, uses);
  inside_reference_ = false;
  for (++at; at < end;) {
    if (tokens_.is(at, ".") && tokens_.is_name(at + 1))
      at += 2;
    else if (tokens_.is(at, "["))
      at = tokens_.after_group(at, end);
    else
      break;
  }
  return at;
}

const Lambda* ExpressionReader::lambda(const Call& call) const {
  const auto found = call.first == call.name ? lambdas_.find(call.name) : lambdas_.end();
  return found == lambdas_.end() ? nullptr : found->second;
}

bool ExpressionReader::is_own_call(const Call& call) const {
  return call.name == function_ && call.first == call.name && tokens_.syntax == Syntax::CFamily &&
         !tokens_.is(call.at + 1, "<") && summaries_.count(call.name) == 0;
}

bool ExpressionReader::names_member(Range place) const {
  if (tokens_.syntax != Syntax::CFamily || place.end < place.begin + 3) return false;
  return tokens_.is_name(place.begin) && (tokens_.is(place.begin + 1, ".") || tokens_.is(place.begin + 1, "->")) &&
         bundles_.count(tokens_.list[place.begin].text) == 0;
}

NameId ExpressionReader::name(Position at) {
  const auto text = name_at(tokens_, at);
  if (members_.count(text) != 0) return names_.member(names_.id("this"), text);
  const bool member = bundles_.count(text) != 0 && (tokens_.is(at + 1, ".") || tokens_.is(at + 1, "->"));
  return member ? names_.member(names_.id(text), tokens_.list[at + 2].text) : names_.id(text);
}

bool ExpressionReader::binary(Position at, Position begin) const {
  if (at == begin) return false;
  const auto& before = tokens_.list[at - 1];
  if (before.kind == TokenKind::Operator) {
    const Position open = before.text == ")" ? tokens_.partner[at - 1] : k_nowhere;
    const bool cast = open != k_nowhere && open >= begin && !(open > 0 && tokens_.is_name(open - 1)) &&
                      (tokens_.is(at - 2, "*") || is_type(tokens_.list[at - 2].text));
    return !cast && (before.text == ")" || before.text == "]" || before.text == "}");
  }
  return before.text != "return" && before.text != "not" && before.text != "else" && before.text != "if";
}

/// The end of a cast to a pointer that opens at `at`, (const float4*) or reinterpret_cast<float4*>; else `at`.
Position ExpressionReader::after_cast(Position at, Position end) const {
  constexpr Position k_longest = 10;  // tokens
  const auto text = tokens_.list[at].text;
  if (text.size() > 5 && text.substr(text.size() - 5) == "_cast")
    return std::max(tokens_.after_template(at + 1, end), at);
  const Position after = text == "(" ? tokens_.after_group(at, end) : at;
  return after > at + 2 && after - at <= k_longest && tokens_.is(after - 2, "*") && tokens_.is_name(at + 1) ? after
                                                                                                            : at;
}

/// A number for base + offset: casts, const, brackets and the operators of addresses make no other place.
std::uint64_t ExpressionReader::hash(Range range) const {
  constexpr std::array<std::string_view, 6> k_plain{"(", ")", "]", "&", "const", "volatile"};
  std::uint64_t value = 1469598103934665603U;
  bool operand = false;  // a * may follow that is no access
  for (Position at = range.begin; at < range.end; ++at) {
    if (const Position after = after_cast(at, range.end); after > at) {
      at = after - 1;
      continue;
    }
    auto text = tokens_.list[at].text;
    if (text == "[" && tokens_.is(at + 1, "0") && tokens_.is(at + 2, "]")) at += 2;
    if (at >= range.end || tokens_.is(at, "]") || one_of(text, k_plain) || (text == "*" && !operand)) continue;
    operand = tokens_.list[at].kind != TokenKind::Operator;
    if (text == "[") text = "+";
    value = (value ^ std::hash<std::string_view>{}(text)) * 1099511628211U;
  }
  return value | 1U;  // never 0
}

void ExpressionReader::read(Range range, Place place, std::vector<Use>& uses) {
  if (range.begin >= range.end) return;
  if (++place.depth > k_max_parentheses) {
    for (Position at = range.begin; at < range.end; ++at)
      if (tokens_.is_name(at))
        uses.push_back({.name = names_.id(tokens_.list[at].text),
                        .kind = DependenceKind::Arbitrary,
                        .address = place.address,
                        .is_select_condition = place.is_select_condition});
    return;
  }
  // c ? a : b, and a if c else b: the condition decides, the values flow. a && b: each is a value of its own.
  Position question = k_nowhere;
  Position start = range.begin;
  bool parts = false;
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    const bool comma = tokens_.is(at, ",") || tokens_.is(at, "||") || tokens_.is(at, "or") || tokens_.is(at, "and") ||
                       (tokens_.is(at, "&&") && at > range.begin);
    const bool python_if = tokens_.syntax == Syntax::Python && tokens_.is(at, "if");
    const bool python_else = tokens_.syntax == Syntax::Python && tokens_.is(at, "else");
    const bool colon = tokens_.is(at, ":") && (question != k_nowhere || tokens_.syntax == Syntax::Python);
    if (tokens_.is(at, "?")) {
      Place condition = place;
      condition.is_select_condition = true;
      read_sum({start, at}, condition, uses);
      question = at;
      start = at + 1;
    } else if (comma || python_if || colon) {
      read_sum({start, at}, place, uses);
      start = at + 1;
    } else if (python_else) {
      Place condition = place;
      condition.is_select_condition = true;
      read_sum({start, at}, condition, uses);
      start = at + 1;
    } else {
      continue;
    }
    parts = true;
  }
  read_sum({parts ? start : range.begin, range.end}, place, uses);
}

void ExpressionReader::read_sum(Range range, Place place, std::vector<Use>& uses) {
  Position start = range.begin;
  std::vector<Range> terms;
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    const auto& token = tokens_.list[at];
    if (token.kind == TokenKind::Name && tokens_.is(at + 1, "<") && tokens_.syntax == Syntax::CFamily) {
      const Position after = tokens_.after_template(at + 1, range.end);
      if (after > at + 1 && (tokens_.is(after, "(") || tokens_.is(after, "::"))) at = after - 1;
      continue;
    }
    if (token.kind == TokenKind::String || !binary(at, range.begin)) continue;
    if (mixes(token.text)) place.kind = DependenceKind::Arbitrary;
    const bool ends_term =
        token.text == "+" || token.text == "-" || mixes(token.text) || joins(token.text) || token.text == "=";
    if (!ends_term) continue;
    terms.push_back({start, at});
    start = at + 1;
  }
  terms.push_back({start, range.end});
  for (const auto& term : terms) read_product(term, place, uses);
}

void ExpressionReader::read_product(Range range, Place place, std::vector<Use>& uses) {
  std::vector<Range> factors;
  Position start = range.begin;
  bool divides = false;
  bool contracts = false;
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    if (!binary(at, range.begin)) continue;
    const bool matrix = tokens_.is(at, "@") || tokens_.is(at, "%") || tokens_.is(at, "//") || tokens_.is(at, "**");
    if (!tokens_.is(at, "*") && !tokens_.is(at, "/") && !matrix) continue;
    contracts = contracts || matrix;
    factors.push_back({start, at});
    start = at + 1;
  }
  factors.push_back({start, range.end});
  if (factors.size() > 1 && place.product_id == 0) place.product_id = ++terms_;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Place inner = place;
    divides = i > 0 && tokens_.is(factors[i].begin - 1, "/");
    if (factors.size() > 1)
      inner.kind = std::max(inner.kind, divides || contracts ? DependenceKind::Arbitrary : DependenceKind::Scaled);
    inner.divides = inner.divides || divides;
    if (factors.size() > 1 && place.factor_id == 0) inner.factor_id = static_cast<std::uint32_t>(i + 1);
    read_factor(factors[i], inner, uses);
  }
}

void ExpressionReader::read_factor(Range range, Place place, std::vector<Use>& uses) {
  bool dereferenced = false;
  for (Position at = range.begin; at < range.end;) {
    const auto& token = tokens_.list[at];
    if (token.kind == TokenKind::Name) {
      at = read_name(at, range.end, dereferenced, place, uses);
      continue;
    }
    const Position after = tokens_.after_group(at, range.end);
    const bool indexed = token.text == "(" && after > at + 1 && tokens_.is(after, "[") && after < range.end &&
                         tokens_.syntax == Syntax::CFamily;
    if (indexed) {  // ((float4*)p)[i]
      const Position last = after_indices(after, range.end);
      read_memory({at, last}, place, uses);
      at = last;
      continue;
    }
    if (token.kind == TokenKind::Operator && after > at + 1) {
      if (dereferenced && token.text == "(")
        read_memory({at + 1, after - 1}, place, uses);
      else
        read({at + 1, after - 1}, place, uses);
    } else if (token.kind == TokenKind::Operator && token.text == "*" && tokens_.syntax == Syntax::CFamily) {
      dereferenced = true;
    }
    at = after;
  }
}

Position ExpressionReader::read_name(Position at, Position end, bool dereferenced, Place place,
                                     std::vector<Use>& uses) {
  constexpr std::array<std::string_view, 7> k_constants{"nullptr", "NULL", "None", "true", "false", "True", "False"};
  const auto& tokens = tokens_;
  const Position first = at;
  if (one_of(tokens.list[at].text, k_constants)) return at + 1;
  const bool of_result = at > 0 && (tokens.is(at - 1, ".") || tokens.is(at - 1, "->"));
  if (of_result && !tokens.is(arguments_at(tokens, at + 1, end), "(")) return at + 1;  // f(x)->data
  if (tokens.syntax == Syntax::CFamily && is_type(tokens.list[at].text) && !tokens.is(at + 1, "(")) return at + 1;
  if (const auto place_of_name = referenced_place(at); place_of_name && !of_result && !tokens.is(at + 1, "("))
    return read_reference(*place_of_name, at, end, place, uses);
  const bool constant = tokens.is_module(tokens.list[at].text) && tokens.is(at + 1, ".");
  if (constant && !tokens.is(at + 3, "(") && !tokens.is(at + 3, ".")) return at + 3;  // tl.float32
  if (!dereferenced && bundles_.count(tokens.list[at].text) != 0 && at > 0 && tokens.is_name(at - 1))
    return read_bundle(at, place, uses);
  Position last = at;
  ++at;
  while (at + 1 < end && (tokens.is(at, ".") || tokens.is(at, "->") || tokens.is(at, "::")) && tokens.is_name(at + 1)) {
    last = at + 1;
    at += 2;
  }
  const Position open = arguments_at(tokens, at, end);
  if (open >= end || !tokens.is(open, "(")) return read_place({first, at}, last, end, dereferenced, place, uses);
  const Position after = tokens.after_group(open, end);
  const Call call{tokens.list[last].text, last, {open + 1, std::max(after - 1, open + 1)}, tokens.list[first].text};
  const bool indexed = tokens.is(after, "[") && after < end;
  if (call.name == "reinterpret_cast" && (dereferenced || indexed)) {
    const Position all = after_indices(after, end);
    read_memory({first, all}, place, uses);
    return std::max(all, open + 1);
  }
  const auto known = summaries_.find(call.name);
  const bool method = known != summaries_.end() && known->second.method;
  // A method's object takes part like an argument.
  if (last != first && !tokens.is(last - 1, "::") && !tokens.is_module(tokens.list[first].text) && !method &&
      call.name != "map_shared_rank") {
    uses.push_back(use_of(name(first), place));
    if (!passes_through(call.name)) uses.back().kind = DependenceKind::Arbitrary;
  }
  read_call(call, place, uses);
  return std::max(after, open + 1);
}

Use ExpressionReader::use_of(NameId name, const Place& place) {
  return {.name = name,
          .kind = place.kind,
          .address = place.address,
          .product_id = place.product_id,
          .factor_id = place.factor_id,
          .divides = place.divides,
          .is_select_condition = place.is_select_condition};
}

/// Reads the rest of a name that is no call: [i][j].x. `last` is the last part of the dotted name.
Position ExpressionReader::read_place(Range dotted, Position last, Position end, bool dereferenced, Place place,
                                      std::vector<Use>& uses) {
  // blockIdx.x and blockIdx.y are different values.
  const auto text = tokens_.list[dotted.begin].text;
  const bool index_of = last != dotted.begin && (text == "blockIdx" || text == "threadIdx");
  auto use = use_of(index_of ? names_.member(names_.id(text), tokens_.list[last].text) : name(dotted.begin), place);
  use.memory = dereferenced;
  Position at = dotted.end;
  const std::size_t first_address = uses.size();
  while (at < end && tokens_.is(at, "[")) {
    const Position after = tokens_.after_group(at, end);
    Place inner = place;
    inner.kind = DependenceKind::Arbitrary;
    inner.address = true;
    if (after > at + 1) read({at + 1, after - 1}, inner, uses);
    at = after;
    while (at + 1 < end && (tokens_.is(at, ".") || tokens_.is(at, "->")) && tokens_.is_name(at + 1)) at += 2;
  }
  if (tokens_.syntax == Syntax::CFamily && at > dotted.end) use.memory = true;
  if (use.memory) {
    use.location_hash = hash({dotted.begin, at});
    use.memory_use_id = group_from(uses, first_address);
  }
  uses.push_back(use);
  return at;
}

/// return moments: all members of an object.
Position ExpressionReader::read_bundle(Position at, Place place, std::vector<Use>& uses) {
  for (const auto part : names_.parts(names_.id(tokens_.list[at].text)))
    for (const bool memory : {false, true}) {
      uses.push_back(use_of(part, place));
      uses.back().memory = memory;
    }
  return at + 1;
}

Position ExpressionReader::after_indices(Position at, Position end) const {
  while (at < end && tokens_.is(at, "[") && tokens_.after_group(at, end) > at + 1) at = tokens_.after_group(at, end);
  while (at + 1 < end && tokens_.is(at, ".") && tokens_.is_name(at + 1)) at += 2;
  return at;
}

std::uint32_t ExpressionReader::group_from(std::vector<Use>& uses, std::size_t first) {
  ++groups_;
  for (std::size_t i = first; i < uses.size(); ++i)
    if (uses[i].memory_use_id == 0) uses[i].memory_use_id = groups_;
  return groups_;
}

void ExpressionReader::read_memory(Range pointer, Place place, std::vector<Use>& uses) {
  const std::size_t first_address = uses.size();
  const auto found = object(pointer, uses, place.depth);
  if (!found.found) return;
  auto use = use_of(found.name, place);
  use.memory = found.memory;
  use.location_hash = found.location_hash;
  use.memory_use_id = group_from(uses, first_address);
  uses.push_back(use);
}

ExpressionReader::Object ExpressionReader::object(Range range, std::vector<Use>& address_uses, int depth) {
  Object result;
  const bool address_of = tokens_.is(range.begin, "&");
  std::vector<Use> inside;
  read({range.begin + (address_of ? 1U : 0U), range.end},
       {.kind = DependenceKind::Arbitrary, .address = true, .depth = depth}, inside);
  // Index expressions may precede their object, which is the first name of the text.
  Position at = range.begin;
  while (at < range.end && (!tokens_.is_name(at) || tokens_.is(at + 1, "(") || tokens_.is(at + 1, "<") ||
                            tokens_.list[at].text == "const" || tokens_.is(at + 1, "*") ||
                            (tokens_.is(at + 1, "&") && tokens_.is(at + 2, ")"))))
    ++at;
  if (at >= range.end) return result;
  result.found = true;
  result.name = name(at);
  result.memory = !(address_of && !tokens_.is(at + 1, "["));
  result.location_hash = hash(range);
  for (auto use : inside) {
    use.memory = false;
    use.address = true;
    use.memory_use_id = 0;  // all of them choose this place
    address_uses.push_back(use);
  }
  return result;
}

void ExpressionReader::read_call(const Call& call, Place place, std::vector<Use>& uses) {
  const bool qualified = is_device_operation(tokens_, call);
  const bool own = is_own_call(call);
  if (own || lambda(call) != nullptr) {  // its statements are read elsewhere, and its value has a name
    uses.push_back(use_of(own ? k_return : names_.id(call.name), place));
    return;
  }
  const auto known = summaries_.find(call.name);
  if (!qualified && known != summaries_.end())
    return read_summary(known->second, arguments_of(tokens_, call, known->second.method), place, uses);
  const auto arguments = split_tokens(tokens_, call.arguments, ",");
  Place strong = place;
  strong.kind = DependenceKind::Arbitrary;
  if (loads(call.name) || (qualified && (call.name == "load" || call.name.substr(0, 7) == "atomic_"))) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i == 0) read_memory(arguments[i], place, uses);
      if (tokens_.is(arguments[i].begin, "other")) read({arguments[i].begin + 2, arguments[i].end}, place, uses);
    }
    return;
  }
  const bool fused = call.name == "fma" || call.name == "fmaf" || call.name == "__fmaf_rn";
  const bool dot = multiplies_matrices(call.name);
  const bool linear = call.name == "sum" && qualified;
  const std::size_t first_use = uses.size();
  if ((fused || dot) && place.product_id == 0) place.product_id = ++terms_;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto argument = arguments[i];
    const bool named = tokens_.is_name(argument.begin) && tokens_.is(argument.begin + 1, "=");
    const bool sum = (i == 2 && (dot || fused) && !named) || (named && tokens_.is(argument.begin, "acc"));
    if (named) argument.begin += 2;
    Place inner = passes_through(call.name) || sum || linear ? place : strong;
    if (is_exponent(call.name)) inner.kind = std::max(place.kind, DependenceKind::Exponent);
    if (call.name == "where" && i == 0) inner.is_select_condition = true;
    if (dot && !sum) {
      inner.product_id = place.product_id;
      inner.factor_id = static_cast<std::uint32_t>(i + 1);
    }
    if (dot && sum) inner.product_id = inner.factor_id = 0;
    if (fused) {
      inner = place;
      inner.kind = std::max(place.kind, sum ? DependenceKind::Additive : DependenceKind::Scaled);
      inner.factor_id = static_cast<std::uint32_t>(i + 1);
      if (sum) inner.product_id = inner.factor_id = 0;
    }
    read(argument, inner, uses);
  }
  // A sum of products mixes the elements of its factors.
  for (std::size_t i = first_use; linear && i < uses.size(); ++i)
    if (uses[i].kind == DependenceKind::Scaled && !uses[i].address) uses[i].kind = DependenceKind::Arbitrary;
}

/// Arguments that a function multiplies are factors of one product.
Place ExpressionReader::argument_place(Place place, const Effect& effect, std::uint32_t product) {
  place.kind = std::max(place.kind, effect.kind);
  const bool factor = effect.kind == DependenceKind::Scaled || effect.kind == DependenceKind::Exponent;
  if (!factor || effect.of_member || place.product_id != 0) return place;
  place.product_id = product;
  place.factor_id = static_cast<std::uint32_t>(effect.from + 1);
  return place;
}

void ExpressionReader::read_summary(const Summary& summary, const std::vector<Range>& given, Place place,
                                    std::vector<Use>& uses) {
  const auto arguments = by_position(tokens_, summary.parameters, given);
  const std::size_t first = uses.size();
  const auto product = new_product();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // Each argument is read once, even if several paths begin at it: the work stays linear in nested calls.
    const Effect* strongest = nullptr;
    for (const auto& effect : summary.effects)
      if (effect.returns && effect.from == i &&
          (strongest == nullptr ||
           std::pair(effect.from_memory, effect.kind) > std::pair(strongest->from_memory, strongest->kind)))
        strongest = &effect;
    if (strongest == nullptr) continue;
    const Place inner = argument_place(place, *strongest, product);
    if (strongest->from_memory)
      read_memory(arguments[i], inner, uses);
    else
      read(arguments[i], inner, uses);
  }
  for (std::size_t i = first; summary.launches && i < uses.size(); ++i) uses[i].launched = true;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
