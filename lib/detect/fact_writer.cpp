#include "detect/fact_writer.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {
namespace detect {
namespace {

DependenceKind compound_kind(std::string_view operation) {
  if (operation == "=" || operation == "+=" || operation == "-=") return DependenceKind::Additive;
  return operation == "*=" ? DependenceKind::Scaled : DependenceKind::Arbitrary;
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
  facts_.push_back({});
  facts_.back().node = node_;
  facts_.back().target = target;
  return facts_.back();
}

Fact& FactWriter::assign(Range left, std::string_view operation, Range right) {
  std::vector<Use> address;
  const auto target = target_of(left, address);
  for (auto& use : address) use.of_target = true;
  auto& fact = add(target.name);
  fact.memory = target.memory;
  fact.location_hash = target.location_hash;
  fact.value = right;
  fact.partial = expressions_.names_member(left);
  fact.alternates = fact.memory && is_alternating_place(tokens_, left);
  fact.uses = std::move(address);
  expressions_.read(right, {.kind = compound_kind(operation)}, fact.uses);
  if (operation != "=") {
    DependenceKind own = DependenceKind::Arbitrary;
    if (operation == "+=" || operation == "-=") own = DependenceKind::Additive;
    if (operation == "*=" || operation == "/=") own = DependenceKind::Scaled;
    fact.uses.push_back({.name = fact.target, .kind = own, .memory = fact.memory, .location_hash = fact.location_hash});
  }
  return fact;
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
    if (tokens_.is(at, "[") || tokens_.is(at, "(")) break;
    if (tokens_.is_name(at) && !member) name = at;
  }
  if (const auto place = expressions_.referenced_place(name)) return pointed(*place, address);
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
  for (const auto value : values) {
    if (from_memory) {
      const auto source = expressions_.object(value, uses);
      if (source.found)
        uses.push_back(
            {.name = source.name, .kind = kind, .memory = source.memory, .location_hash = source.location_hash});
    } else {
      expressions_.read(value, {.kind = kind}, uses);
    }
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
