#include "detect/expression.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// Deeper brackets are read without structure.
constexpr int k_max_parentheses = 48;

/// A use of `name` with this role.
Use named(NameId name, Use role) {
  role.name = name;
  return role;
}

}  // namespace

ExpressionReader::ExpressionReader(const Function& function, const Summaries& summaries, Names& names)
    : tokens_(*function.tokens), summaries_(summaries), names_(names), function_(function.name) {
  for (const auto& each : function.lambdas) lambdas_.emplace(each.name, &each);
  if (tokens_.syntax == Syntax::CFamily) find_bundles(function);
  members_.insert(function.members.begin(), function.members.end());
  if (!members_.empty()) bundles_.insert("this");
  for (const auto& parameter : function.parameters) parameters_.insert(parameter.name);
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

void ExpressionReader::add_reference(std::string_view name, Range range, NameId element) {
  constexpr Position k_longest = 32;  // tokens; aliases are read wherever the name is used
  if (range.end - range.begin <= k_longest) references_.insert_or_assign(name, Reference{range, element});
}

std::optional<ExpressionReader::Reference> ExpressionReader::referenced_place(Position at) const {
  const auto found =
      references_.empty() || inside_reference_ ? references_.end() : references_.find(tokens_.list[at].text);
  if (found == references_.end()) return std::nullopt;
  return found->second;
}

Position ExpressionReader::read_reference(Reference reference, Position at, Position end, const Use& role,
                                          std::vector<Use>& uses) {
  inside_reference_ = true;
  read_memory(reference.place, role, uses);
  if (reference.element != 0 && !uses.empty())
    uses.insert(uses.end() - 1, {.name = reference.element,
                                 .kind = DependenceKind::Arbitrary,
                                 .address = true,
                                 .chooses = uses.back().place_id});
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
  std::uint64_t value = 1469598103934665603U;
  constexpr int k_most_pointers = 3;  // each set to a place by the one before
  mix(range, value, k_most_pointers);
  return value | 1U;  // never 0
}

void ExpressionReader::mix(Range range, std::uint64_t& value, int pointers) const {
  constexpr std::array<std::string_view, 6> k_plain{"(", ")", "]", "&", "const", "volatile"};
  bool operand = false;  // a * may follow that is no access
  bool begins = true;    // the first name is the object
  for (Position at = range.begin; at < range.end; ++at) {
    if (const Position after = after_cast(at, range.end); after > at) {
      at = after - 1;
      continue;
    }
    if (tokens_.is(at, "[") && tokens_.is(at + 1, "0") && tokens_.is(at + 2, "]")) at += 2;
    if (at >= range.end) break;
    const bool member = tokens_.is(at, "]") && tokens_.is(at + 1, ".") && !tokens_.is(at + 3, "[");
    if (member) at += 2;  // it is at the place of its element
    auto text = tokens_.list[std::min(at, range.end - 1)].text;
    if (member) continue;
    if (one_of(text, k_plain) || (text == "*" && !operand) || tokens_.casts.count(text) != 0) continue;
    operand = tokens_.list[at].kind != TokenKind::Operator;
    const auto place = operand && begins && pointers > 0 ? places_.find(text) : places_.end();
    begins = begins && !operand;
    if (place != places_.end()) {
      mix(place->second, value, pointers - 1);
      continue;
    }
    if (text == "[") text = "+";
    value = (value ^ std::hash<std::string_view>{}(text)) * 1099511628211U;
  }
}

void ExpressionReader::point(Range left, std::optional<Range> place) {
  if (tokens_.syntax != Syntax::CFamily || left.begin >= left.end || !tokens_.is_name(left.end - 1)) return;
  constexpr Position k_longest = 32;  // tokens; they are read wherever the pointer is used
  const auto name = tokens_.list[left.end - 1].text;
  if (place && place->end - place->begin <= k_longest)
    places_.insert_or_assign(name, *place);
  else
    places_.erase(name);
}

void ExpressionReader::read(Range range, const Use& role, std::vector<Use>& uses) {
  if (range.begin >= range.end) return;
  if (depth_ >= k_max_parentheses) {
    for (Position at = range.begin; at < range.end; ++at)
      if (tokens_.is_name(at))
        uses.push_back({.name = names_.id(tokens_.list[at].text),
                        .kind = DependenceKind::Arbitrary,
                        .address = role.address,
                        .is_select_condition = role.is_select_condition});
    return;
  }
  ++depth_;
  // c ? a : b, and a if c else b: the condition decides, the values flow. a && b: each is a value of its own.
  Use condition = role;
  condition.is_select_condition = true;
  bool question = false;
  Position start = range.begin;
  const auto part = [&](Position end, const Use& as) {
    read_sum({start, end}, as, uses);
    start = end + 1;
  };
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    if (const Position after = after_arguments(at, range.end); after > at) {  // f<float, 4>(x)
      at = after - 1;
      continue;
    }
    const bool python = tokens_.syntax == Syntax::Python;
    const bool colon = tokens_.is(at, ":") && (question || python);
    if (tokens_.is(at, "?")) {
      question = true;
      part(at, condition);
    } else if (python && tokens_.is(at, "else")) {
      part(at, condition);
    } else if (tokens_.is(at, ",") || tokens_.is(at, "||") || tokens_.is(at, "or") || tokens_.is(at, "and") ||
               (tokens_.is(at, "&&") && at > range.begin) || (python && tokens_.is(at, "if")) || colon) {
      part(at, role);
    }
  }
  part(range.end, role);
  --depth_;
}

/// The position behind the template arguments in name<...>(...) or name<...>::member at `at`; else `at`.
Position ExpressionReader::after_arguments(Position at, Position end) const {
  if (tokens_.syntax != Syntax::CFamily || !tokens_.is_name(at) || !tokens_.is(at + 1, "<")) return at;
  const Position after = tokens_.after_template(at + 1, end);
  return after > at + 1 && (tokens_.is(after, "(") || tokens_.is(after, "::")) ? after : at;
}

void ExpressionReader::read_sum(Range range, Use role, std::vector<Use>& uses) {
  Position start = range.begin;
  std::vector<Range> terms;
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    const auto& token = tokens_.list[at];
    if (const Position after = after_arguments(at, range.end); after > at) {
      at = after - 1;
      continue;
    }
    if (token.kind == TokenKind::String || !binary(at, range.begin)) continue;
    const bool adds = token.text == "+" || token.text == "-" || joins(token.text);
    if (mixes(token.text)) role.kind = DependenceKind::Arbitrary;
    if (adds) role.added = true;
    if (role.added && (token.text == "<<" || token.text == ">>")) role.curved = true;  // s ^= s << 13
    if (!adds && !mixes(token.text) && token.text != "=") continue;
    terms.push_back({start, at});
    start = at + 1;
  }
  terms.push_back({start, range.end});
  if (terms.size() > 1 && role.kind == DependenceKind::Exponent) {
    const auto is_added = [&](Range term) { return tokens_.is(term.begin - 1, "+"); };
    role.sum_id = std::all_of(terms.begin() + 1, terms.end(), is_added) ? ++terms_ : 0;
  }
  if (role.factor_id != 0 && terms.size() > 1)
    role.beside_constant = std::any_of(terms.begin(), terms.end(), [&](Range term) { return is_number(term); });
  for (const auto& term : terms) read_product(term, role, uses);
}

void ExpressionReader::read_product(Range range, Use role, std::vector<Use>& uses) {
  std::vector<Range> factors;
  Position start = range.begin;
  bool contracts = false;
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end)) {
    if (const Position after = after_arguments(at, range.end); after > at) {
      at = after - 1;
      continue;
    }
    if (!binary(at, range.begin)) continue;
    const bool matrix = tokens_.is(at, "@") || tokens_.is(at, "%") || tokens_.is(at, "//") || tokens_.is(at, "**");
    if (!tokens_.is(at, "*") && !tokens_.is(at, "/") && !matrix) continue;
    contracts = contracts || matrix;
    factors.push_back({start, at});
    start = at + 1;
  }
  factors.push_back({start, range.end});
  if (factors.size() == 1) return read_factor(range, role, uses);
  const bool outermost = role.factor_id == 0;
  if (role.product_id == 0) role.product_id = ++terms_;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    Use inner = role;
    const bool divides = i > 0 && tokens_.is(factors[i].begin - 1, "/");
    inner.kind = std::max(role.kind, divides || contracts ? DependenceKind::Arbitrary : DependenceKind::Scaled);
    inner.divides = role.divides || divides;
    inner.curved = role.curved || divides;
    if (outermost) inner.factor_id = static_cast<std::uint32_t>(i + 1);
    inner.is_select_condition = role.is_select_condition || compares(factors[i]);  // x * (rows < i)
    read_factor(factors[i], inner, uses);
  }
}

/// 1.0f, or -1
bool ExpressionReader::is_number(Range range) const {
  return range.begin < range.end && tokens_.list[range.end - 1].kind == TokenKind::Number &&
         range.end - range.begin <= 2 && !tokens_.is_name(range.begin);
}

/// a * b
bool ExpressionReader::multiplies(Range range) const {
  for (Position at = range.begin; at < range.end; at = tokens_.after_group(at, range.end))
    if (tokens_.is(at, "*") && binary(at, range.begin)) return true;
  return false;
}

/// (a < b)
bool ExpressionReader::compares(Range range) const {
  if (range.begin >= range.end || !tokens_.is(range.begin, "(") ||
      tokens_.after_group(range.begin, range.end) != range.end)
    return false;
  constexpr std::array<std::string_view, 6> k_signs{"<", ">", "<=", ">=", "==", "!="};
  for (Position at = range.begin + 1; at + 1 < range.end; at = tokens_.after_group(at, range.end - 1))
    if (tokens_.list[at].kind == TokenKind::Operator && one_of(tokens_.list[at].text, k_signs)) return true;
  return false;
}

void ExpressionReader::read_factor(Range range, const Use& role, std::vector<Use>& uses) {
  bool dereferenced = false;
  for (Position at = range.begin; at < range.end;) {
    const auto& token = tokens_.list[at];
    if (token.kind == TokenKind::Name) {
      at = read_name(at, range.end, dereferenced, role, uses);
      continue;
    }
    const Position after = tokens_.after_group(at, range.end);
    const bool indexed = token.text == "(" && after > at + 1 && tokens_.is(after, "[") && after < range.end &&
                         tokens_.syntax == Syntax::CFamily;
    if (indexed) {  // ((float4*)p)[i]
      const Position last = after_indices(after, range.end);
      read_memory({at, last}, role, uses);
      at = last;
      continue;
    }
    if (token.kind == TokenKind::Operator && after > at + 1) {
      if (dereferenced && token.text == "(")
        read_memory({at + 1, after - 1}, role, uses);
      else
        read({at + 1, after - 1}, role, uses);
    } else if (token.kind == TokenKind::Operator && token.text == "*" && tokens_.syntax == Syntax::CFamily) {
      dereferenced = true;
    }
    at = after;
  }
}

Position ExpressionReader::read_name(Position at, Position end, bool dereferenced, const Use& role,
                                     std::vector<Use>& uses) {
  constexpr std::array<std::string_view, 7> k_constants{"nullptr", "NULL", "None", "true", "false", "True", "False"};
  const auto& tokens = tokens_;
  const Position first = at;
  if (one_of(tokens.list[at].text, k_constants)) return at + 1;
  const bool of_result = at > 0 && (tokens.is(at - 1, ".") || tokens.is(at - 1, "->"));
  if (of_result && !tokens.is(arguments_at(tokens, at + 1, end), "(")) return at + 1;  // f(x)->data
  if (tokens.syntax == Syntax::CFamily && is_type(tokens.list[at].text) && !tokens.is(at + 1, "(")) return at + 1;
  if (const auto place_of_name = referenced_place(at); place_of_name && !of_result && !tokens.is(at + 1, "("))
    return read_reference(*place_of_name, at, end, role, uses);
  const bool constant = tokens.is_module(tokens.list[at].text) && tokens.is(at + 1, ".");
  if (constant && !tokens.is(at + 3, "(") && !tokens.is(at + 3, ".")) return at + 3;  // tl.float32
  if (!dereferenced && bundles_.count(tokens.list[at].text) != 0 && at > 0 && tokens.is_name(at - 1))
    return read_bundle(at, role, uses);
  Position last = at;
  ++at;
  while (at + 1 < end && (tokens.is(at, ".") || tokens.is(at, "->") || tokens.is(at, "::")) && tokens.is_name(at + 1)) {
    last = at + 1;
    at += 2;
  }
  const Position open = arguments_at(tokens, at, end);
  if (open >= end || !tokens.is(open, "(")) return read_place({first, at}, last, end, dereferenced, role, uses);
  const Position after = tokens.after_group(open, end);
  const Call call{tokens.list[last].text, last, {open + 1, std::max(after - 1, open + 1)}, tokens.list[first].text};
  const bool indexed = tokens.is(after, "[") && after < end;
  if (call.name == "reinterpret_cast" && (dereferenced || indexed)) {
    const Position all = after_indices(after, end);
    read_memory({first, all}, role, uses);
    return std::max(all, open + 1);
  }
  if (loads_block(tokens, call)) {
    read_block(call, name(first), role, uses);
    return std::max(after, open + 1);
  }
  const auto known = summaries_.find(call.name);
  const bool method = known != summaries_.end() && known->second.method;
  // A method's object takes part like an argument.
  if (last != first && !tokens.is(last - 1, "::") && !tokens.is_module(tokens.list[first].text) && !method &&
      call.name != "map_shared_rank") {
    uses.push_back(named(name(first), role));
    if (!passes_through(call.name)) uses.back().kind = DependenceKind::Arbitrary;
  }
  read_call(call, role, uses);
  return std::max(after, open + 1);
}

/// description.load([row, column])
void ExpressionReader::read_block(const Call& call, NameId object, const Use& role, std::vector<Use>& uses) {
  const std::size_t first_address = uses.size();
  read(call.arguments, {.kind = DependenceKind::Arbitrary, .address = true}, uses);
  auto use = named(object, role);
  use.memory = true;
  use.location_hash = hash(call.arguments);
  use.place_id = group_from(uses, first_address);
  uses.push_back(use);
}

/// Reads the rest of a name that is no call: [i][j].x. `last` is the last part of the dotted name.
Position ExpressionReader::read_place(Range dotted, Position last, Position end, bool dereferenced, const Use& role,
                                      std::vector<Use>& uses) {
  // blockIdx.x and blockIdx.y are different values.
  const auto text = tokens_.list[dotted.begin].text;
  const bool index_of = last != dotted.begin && (text == "blockIdx" || text == "threadIdx");
  auto use = named(index_of ? names_.member(names_.id(text), tokens_.list[last].text) : name(dotted.begin), role);
  use.memory = dereferenced;
  Position at = dotted.end;
  const std::size_t first_address = uses.size();
  while (at < end && tokens_.is(at, "[")) {
    const Position after = tokens_.after_group(at, end);
    Use inner = role;
    inner.kind = DependenceKind::Arbitrary;
    inner.address = true;
    if (after > at + 1) read({at + 1, after - 1}, inner, uses);
    at = after;
    while (at + 1 < end && (tokens_.is(at, ".") || tokens_.is(at, "->")) && tokens_.is_name(at + 1)) at += 2;
  }
  if (tokens_.syntax == Syntax::CFamily && at > dotted.end) use.memory = true;
  if (use.memory) {
    use.location_hash = hash({dotted.begin, at});
    find_offset({dotted.begin, at}, use);
    use.place_id = group_from(uses, first_address);
  }
  uses.push_back(use);
  return at;
}

/// Tells p[i + n] from p[i], if the last index is a sum or a difference.
void ExpressionReader::find_offset(Range place, Use& use) const {
  if (!tokens_.is(place.end - 1, "]") || tokens_.partner[place.end - 1] == k_nowhere) return;
  Position last = k_nowhere;
  const Position open = tokens_.partner[place.end - 1];
  for (Position at = open + 1; at + 1 < place.end; at = tokens_.after_group(at, place.end - 1))
    if ((tokens_.is(at, "+") || tokens_.is(at, "-")) && binary(at, open + 1)) last = at;
  if (last == k_nowhere) return;
  use.base_hash = hash({place.begin, last});
  use.offset = tokens_.is(last, "+") ? 1 : -1;
}

/// return moments: all members of an object.
Position ExpressionReader::read_bundle(Position at, const Use& role, std::vector<Use>& uses) {
  for (const auto part : names_.parts(names_.id(tokens_.list[at].text)))
    for (const bool memory : {false, true}) {
      uses.push_back(named(part, role));
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
    if (uses[i].address && uses[i].chooses == 0) uses[i].chooses = groups_;
  return groups_;
}

void ExpressionReader::read_memory(Range pointer, const Use& role, std::vector<Use>& uses) {
  const std::size_t first_address = uses.size();
  const auto found = object(pointer, uses);
  if (!found.found) return;
  auto use = named(found.name, role);
  use.memory = found.memory;
  use.location_hash = found.location_hash;
  use.place_id = group_from(uses, first_address);
  uses.push_back(use);
}

bool ExpressionReader::read_address(Range range, std::vector<Use>& uses) {
  if (tokens_.syntax != Syntax::CFamily) return false;
  bool address = false;
  for (bool goes_on = true; goes_on && range.begin < range.end;) {
    const Position cast = after_cast(range.begin, range.end);
    const bool brackets = tokens_.is(range.begin, "(") && tokens_.after_group(range.begin, range.end) == range.end;
    const bool takes_address = tokens_.is(range.begin, "&") && !address;
    goes_on = cast > range.begin || brackets || takes_address;
    address = address || takes_address;
    if (cast > range.begin) {
      range.begin = cast;
    } else if (goes_on) {
      ++range.begin;
      if (brackets) --range.end;
    }
  }
  const Position open = range.begin + 1;
  if (!address || open >= range.end || !tokens_.is_name(range.begin) || !tokens_.is(open, "[")) return false;
  Position end = open;
  while (end < range.end && tokens_.is(end, "[") && tokens_.after_group(end, range.end) > end + 1)
    end = tokens_.after_group(end, range.end);
  if (end != range.end) return false;
  const Use term{.added = true};
  uses.push_back(named(name(range.begin), term));
  for (Position at = open; at < end; at = tokens_.after_group(at, end))
    read({at + 1, tokens_.after_group(at, end) - 1}, term, uses);
  return true;
}

ExpressionReader::Object ExpressionReader::object(Range range, std::vector<Use>& address_uses) {
  Object result;
  const bool address_of = tokens_.is(range.begin, "&");
  std::vector<Use> inside;
  const Use chooses{.kind = DependenceKind::Arbitrary, .address = true};
  Range rest{range.begin + (address_of ? 1U : 0U), range.end};
  // ((float4*)p)[i]: part by part, because as a whole it is the place that is read here.
  const Position open = rest.begin;
  const Position after = open < rest.end && tokens_.is(open, "(") ? tokens_.after_group(open, rest.end) : open;
  if (after > open + 1 && after < rest.end && tokens_.is(after, "[")) {
    read({open + 1, after - 1}, chooses, inside);
    rest.begin = after;
  }
  read(rest, chooses, inside);
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
  // What chooses an element of the object itself, as in &p[i], chooses this place.
  std::unordered_set<std::uint32_t> own{0};
  for (auto& use : inside) {
    if (use.name != result.name || !use.memory) continue;
    own.insert(use.place_id);
    use.memory = false;
  }
  for (auto& use : inside) {
    if (own.count(use.chooses) != 0) use.chooses = 0;
    address_uses.push_back(use);
  }
  return result;
}

void ExpressionReader::read_call(const Call& call, Use role, std::vector<Use>& uses) {
  const bool qualified = is_device_operation(tokens_, call);
  const bool own = is_own_call(call);
  if (own || lambda(call) != nullptr) {  // its statements are read elsewhere, and its value has a name
    uses.push_back(named(own ? k_return : names_.id(call.name), role));
    return;
  }
  const auto known = summaries_.find(call.name);
  if (!qualified && known != summaries_.end())
    return read_summary(known->second, arguments_of(tokens_, call, known->second.method), role, uses);
  const bool atomic = call.name.substr(0, 6) == "atomic" && (qualified || tokens_.syntax == Syntax::CFamily);
  const bool reads = qualified && (call.name == "load" || call.name == "_experimental_descriptor_load");
  if (fetches(call.name) && tokens_.is(call.arguments.begin + 1, ","))
    return read_block({.name = call.name, .arguments = {call.arguments.begin + 2, call.arguments.end}},
                      name(call.arguments.begin), role, uses);
  if (!loads(call.name) && !atomic && !reads) return read_arguments(call, role, uses);
  const auto arguments = split_tokens(tokens_, call.arguments, ",");
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i == 0) read_memory(arguments[i], role, uses);
    if (tokens_.is(arguments[i].begin, "other")) read({arguments[i].begin + 2, arguments[i].end}, role, uses);
  }
}

Use ExpressionReader::operand_role(const Call& call, std::size_t index, bool named, const Use& role) const {
  // reduce::element<Add>(sum, x): of the name of its namespace.
  const bool reduces = call.first == "reduce" && call.name != call.first && tokens_.is(call.at - 1, "::");
  const auto operation = reduces ? Operation::Sum : operation_of(call.name);
  const bool dot = multiplies_matrices(call.name);
  const bool fused = operation == Operation::Fused;
  Use inner = role;
  inner.extremum = role.extremum || is_maximum(call.name);
  inner.added = role.added || dot || fused || operation == Operation::Sum;
  inner.curved = role.curved || is_curved(call.name);
  if ((dot || fused) && index == 2 && !named) return inner;  // a b + c
  if (dot || fused || operation == Operation::Product) {
    inner.kind = std::max(role.kind, dot ? DependenceKind::Arbitrary : DependenceKind::Scaled);
    inner.factor_id = static_cast<std::uint32_t>(index + 1);
    if (inner.product_id == 0) inner.product_id = terms_;
  } else if (is_exponent(call.name)) {
    inner.kind = std::max(role.kind, DependenceKind::Exponent);
    inner.sum_id = 0;
  } else if (operation == Operation::None && !passes_through(call.name) && !loads(call.name) &&
             tokens_.casts.count(call.name) == 0) {
    inner.kind = DependenceKind::Arbitrary;
  }
  inner.is_select_condition = role.is_select_condition || (call.name == "where" && index == 0);
  return inner;
}

void ExpressionReader::read_arguments(const Call& call, const Use& role, std::vector<Use>& uses) {
  ++terms_;
  const auto product = terms_;
  const std::size_t first_use = uses.size();
  const auto arguments = split_tokens(tokens_, call.arguments, ",");
  // op(sum, x) with a function that is given: a reduction.
  const bool reduces = arguments.size() == 2 && parameters_.count(call.name) != 0 && call.first == call.name;
  const bool sums = call.name == "sum" && is_device_operation(tokens_, call);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    auto argument = arguments[i];
    const bool named = tokens_.is_name(argument.begin) && tokens_.is(argument.begin + 1, "=");
    const bool accumulates = named && tokens_.is(argument.begin, "acc");
    if (named) argument.begin += 2;
    auto outer = role;
    // A product inside of a sum has a number of its own. With the number of a product around the sum, both factors of
    // sum(a * a) * b would be the same factor of that one, and nothing would show that a multiplies itself.
    if (sums && multiplies(argument)) outer.product_id = outer.factor_id = 0;
    auto inner = operand_role(call, accumulates ? 2 : i, named && !accumulates, outer);
    if (reduces) inner = {.name = role.name, .kind = role.kind, .added = true};
    if (inner.product_id != 0 && role.product_id == 0) inner.product_id = product;
    read(argument, inner, uses);
  }
  // A sum of products mixes the elements of its factors.
  for (std::size_t i = first_use; sums && i < uses.size(); ++i)
    if (uses[i].kind == DependenceKind::Scaled && !uses[i].address) uses[i].kind = DependenceKind::Arbitrary;
}

void ExpressionReader::select_element(Range value, std::size_t index) {
  const auto calls = calls_in(tokens_, value);
  const bool whole = !calls.empty() && calls.front().arguments.end + 1 == value.end;
  element_ = whole && summaries_.count(calls.front().name) != 0 ? static_cast<std::uint32_t>(index + 1) : 0;
}

/// Arguments that a function multiplies are factors of one product: the one that the function tells, or `product`.
Use ExpressionReader::argument_role(Use role, const Effect& effect, std::uint32_t product) {
  role.kind = std::max(role.kind, effect.role.kind);
  role.added = role.added || effect.role.added;
  role.extremum = role.extremum || effect.role.extremum;
  role.curved = role.curved || effect.role.curved;
  role.divides = role.divides || effect.role.divides;
  const bool factor = effect.role.kind == DependenceKind::Scaled || effect.role.product_id != 0;
  if (!factor || effect.of_member || role.product_id != 0) return role;
  role.product_id = product + effect.role.product_id;
  role.factor_id = effect.role.product_id != 0 ? effect.role.factor_id : static_cast<std::uint32_t>(effect.from + 1);
  return role;
}

void ExpressionReader::read_summary(const Summary& summary, const std::vector<Range>& given, const Use& role,
                                    std::vector<Use>& uses) {
  const auto element = std::exchange(element_, 0U);
  const auto arguments = by_position(tokens_, summary.parameters, given);
  const std::size_t first = uses.size();
  const auto product = new_products(summary);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    // Each argument is read once, even if several paths begin at it: the work stays linear in nested calls.
    const Effect* strongest = nullptr;
    for (const auto& effect : summary.effects) {
      if (!effect.returns || effect.from != i || !is_asked(effect, element)) continue;
      if (strongest == nullptr ||
          std::pair(effect.from_memory, effect.role.kind) > std::pair(strongest->from_memory, strongest->role.kind))
        strongest = &effect;
    }
    if (strongest == nullptr) continue;
    const std::size_t begin = uses.size();
    const Use inner = argument_role(role, *strongest, product);
    if (strongest->from_memory)
      read_memory(arguments[i], inner, uses);
    else
      read(arguments[i], inner, uses);
    constexpr std::size_t k_longest = 4;  // uses that other products repeat
    const std::size_t end = uses.size();
    for (const auto& effect : summary.effects) {
      const bool other = effect.returns && effect.from == i && is_asked(effect, element) &&
                         effect.role.product_id != 0 && effect.role.product_id != strongest->role.product_id &&
                         role.product_id == 0;
      if (!other || end - begin > k_longest) continue;
      const Use also = argument_role(role, effect, product);
      for (std::size_t at = begin; at < end; ++at) {
        auto use = uses[at];
        if (use.address || use.product_id != inner.product_id) continue;
        use.kind = std::max(role.kind, also.kind);
        use.product_id = also.product_id;
        use.factor_id = also.factor_id;
        uses.push_back(use);
      }
    }
  }
  for (std::size_t i = first; summary.launches && i < uses.size(); ++i) uses[i].launched = true;
}

/// Whether an effect is one on this element of what is returned; 0: any.
bool ExpressionReader::is_asked(const Effect& effect, std::uint32_t element) {
  return element == 0 || effect.element == 0 || effect.element == element;
}

std::uint32_t ExpressionReader::new_products(const Summary& summary) {
  const auto first = ++terms_;
  std::uint32_t last = 0;
  for (const auto& effect : summary.effects) last = std::max(last, effect.role.product_id);
  terms_ += last;
  return first;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
