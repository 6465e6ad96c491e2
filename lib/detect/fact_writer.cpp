#include "detect/fact_writer.hpp"

#include <array>
#include <utility>

#include "detect/vocabulary.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

/// How the result depends on the right side of an operation, and on the left one.
std::pair<DependenceKind, DependenceKind> kinds_of(std::string_view operation) {
  constexpr std::array<std::string_view, 6> k_reductions{"=", "+=", "-=", "|=", "&=", "^="};
  if (one_of(operation, k_reductions)) return {DependenceKind::Additive, DependenceKind::Additive};
  if (operation == "*=") return {DependenceKind::Scaled, DependenceKind::Scaled};
  return {DependenceKind::Arbitrary, operation == "/=" ? DependenceKind::Scaled : DependenceKind::Arbitrary};
}

/// now ^ 1, step & 1, step % 2
bool is_alternating_place(const Tokens& tokens, Range place) {
  for (Position at = place.begin; at < place.end; ++at)
    if (tokens.is(at, "^") || (tokens.is(at, "&") && tokens.is(at + 1, "1")) ||
        (tokens.is(at, "%") && tokens.is(at + 1, "2")))
      return true;
  return false;
}

}  // namespace

Fact& FactWriter::add(NameId target) {
  unset_.erase(target);
  facts_.push_back({});
  facts_.back().node = node_;
  facts_.back().target = target;
  return facts_.back();
}

Fact& FactWriter::assign(Range left, std::string_view operation, Range right) {
  if (const auto [first, second] = chosen_places(left); first.begin < first.end) {
    assign(first, operation, right).partial = true;
    auto& fact = assign(second, operation, right);
    fact.partial = true;
    return fact;
  }
  std::vector<Use> address;
  const auto target = target_of(left, address);
  for (auto& use : address) use.of_target = true;
  const auto place = expressions_.group_from(address, 0);
  auto& fact = add(target.name);
  fact.memory = target.memory;
  fact.location_hash = target.location_hash;
  fact.expression = right;
  fact.partial = expressions_.names_member(left) || (fact.memory && left.end > left.begin + 1 &&
                                                     tokens_.is_name(left.end - 1) && tokens_.is(left.end - 2, "."));
  fact.alternates = fact.memory && is_alternating_place(tokens_, left);
  fact.uses = std::move(address);
  const auto [kind, own] = kinds_of(operation);
  const bool product = own == DependenceKind::Scaled;  // of the right side and the left one
  Use role{.kind = kind};
  if (product) role = {.kind = kind, .product_id = expressions_.new_product(), .factor_id = 2};
  role.added = operation != "=" && own == DependenceKind::Additive;
  role.divides = role.curved = operation == "/=";
  const bool points = operation == "=" && !fact.memory && expressions_.read_address(right, fact.uses);
  if (!fact.memory) expressions_.point(left, points ? std::optional(right) : std::nullopt);
  if (!points) expressions_.read(right, role, fact.uses);
  if (operation == "=") return fact;
  role.name = fact.target;
  role.kind = own;
  role.divides = role.curved = false;
  role.memory = fact.memory;
  role.location_hash = fact.location_hash;
  role.factor_id = product ? 1U : 0U;
  role.place_id = fact.memory ? place : 0U;
  fact.uses.push_back(role);
  return fact;
}

/// The places in (condition ? a : b) as the target of an assignment; empty for another one.
std::pair<Range, Range> FactWriter::chosen_places(Range left) const {
  if (tokens_.syntax != Syntax::CFamily || left.end < left.begin + 7 || !tokens_.is(left.begin, "(") ||
      tokens_.after_group(left.begin, left.end) != left.end)
    return {};
  Position question = k_nowhere;
  for (Position at = left.begin + 1; at + 1 < left.end; at = tokens_.after_group(at, left.end - 1)) {
    if (tokens_.is(at, "?")) question = at;
    if (tokens_.is(at, ":") && question != k_nowhere) return {{question + 1, at}, {at + 1, left.end - 1}};
  }
  return {};
}

ExpressionReader::Object FactWriter::target_of(Range left, std::vector<Use>& address) {
  ExpressionReader::Object target;
  const bool python = tokens_.syntax == Syntax::Python;
  if (python) {
    target.memory = false;
    if (tokens_.is_name(left.begin)) target.name = expressions_.name(left.begin);
    if (target.name == k_return) target.name = names_.id("_");
    return target;
  }
  if (tokens_.is(left.begin, "*")) return pointed({left.begin + 1, left.end}, address);
  Position name = left.begin;
  for (Position at = left.begin; at < left.end; ++at) {
    const bool member = at > left.begin && (tokens_.is(at - 1, ".") || tokens_.is(at - 1, "->"));
    if (tokens_.list[at].text == "reinterpret_cast") {  // reinterpret_cast<float4*>(p)[i]
      name = at;
      break;
    }
    if (tokens_.is(at, "[") || tokens_.is(at, "(")) break;
    if (tokens_.is_name(at) && !member) name = at;
  }
  if (const auto reference = expressions_.referenced_place(name)) {
    if (reference->element != 0)
      address.push_back({.name = reference->element, .kind = DependenceKind::Arbitrary, .address = true});
    return pointed(reference->place, address);
  }
  target = expressions_.object({name, left.end}, address);
  if (!target.found) target.name = names_.id("_");
  target.memory = false;
  for (Position at = name; at < left.end; ++at) target.memory = target.memory || tokens_.is(at, "[");
  if (!target.memory) address.clear();
  return target;
}

ExpressionReader::Object FactWriter::pointed(Range range, std::vector<Use>& address) {
  auto target = expressions_.object(range, address);
  if (!target.found) target.name = names_.id("_");
  return target;
}

Fact& FactWriter::write(Range pointer, const std::vector<Range>& values, DependenceKind kind, bool from_memory) {
  std::vector<Use> uses;
  const auto target = pointed(pointer, uses);
  if (holds_value(pointer)) uses.clear();
  for (auto& use : uses) use.of_target = true;
  (void)expressions_.group_from(uses, 0);
  for (const auto value : values) {
    if (from_memory)
      expressions_.read_memory(value, {.kind = kind}, uses);
    else
      expressions_.read(value, {.kind = kind}, uses);
  }
  auto& fact = add(target.name);
  fact.memory = target.memory && !holds_value(pointer);
  fact.location_hash = target.location_hash;
  fact.uses = std::move(uses);
  return fact;
}

/// A fragment of a matrix, given by its name, is a value like any other.
bool FactWriter::holds_value(Range pointer) const {
  return tokens_.syntax == Syntax::CFamily && pointer.end == pointer.begin + 1 &&
         fragments_.count(names_.id(tokens_.list[pointer.begin].text)) != 0;
}

void FactWriter::swap(Range first, Range second) {
  std::vector<Use> unused;
  const auto a = pointed(first, unused);
  const auto b = pointed(second, unused);
  for (const auto& [to, from] : {std::pair(a.name, b.name), std::pair(b.name, a.name)}) {
    auto& fact = add(to);
    fact.swaps = true;
    fact.uses.push_back({.name = from});
  }
}

Range FactWriter::place_after(Position begin, Position end) const {
  Position at = begin;
  while (at < end && (tokens_.is_name(at) || tokens_.is(at, ".") || tokens_.is(at, "->"))) ++at;
  while (at < end && tokens_.is(at, "[") && tokens_.after_group(at, end) > at + 1) at = tokens_.after_group(at, end);
  return {begin, at};
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
