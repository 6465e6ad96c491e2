#pragma once

/// \file
/// Writes facts: resolves the target of an assignment, or of a pointer.

#include <string_view>
#include <unordered_set>
#include <vector>

#include "detect/expression.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Collects the facts of one function. Borrows the function and the names.
class FactWriter {
 public:
  FactWriter(const Function& function, const Summaries& summaries, Names& names)
      : tokens_(*function.tokens), names_(names), expressions_(function, summaries, names) {}

  /// Sets the node that the following facts belong to.
  void set_node(std::uint32_t node) { node_ = node; }
  Fact& add(NameId target);
  /// Adds `left` operation `right`, with an operation such as = or +=.
  Fact& assign(Range left, std::string_view operation, Range right);
  /// Writes `values` to the target of `pointer`, or, with `from_memory`, the memory that they point to.
  Fact& write(Range pointer, const std::vector<Range>& values, DependenceKind kind, bool from_memory);
  /// Exchanges two pointers or values.
  void swap(Range first, Range second);
  /// The target on the left of an assignment, with the uses that choose the place.
  ExpressionReader::Object target_of(Range left, std::vector<Use>& address);

  /// The place that begins at `begin`; see place_before().
  [[nodiscard]] Range place_after(Position begin, Position end) const;

  /// Marks a name as a value, although functions get it like a pointer.
  void is_fragment(NameId name) { fragments_.insert(name); }

  /// Notes a variable that is declared without a value.
  void declare_unset(NameId name) { unset_.insert(name); }
  /// Whether a variable has no value so far: a function that gets it sets it.
  [[nodiscard]] bool is_unset(NameId name) const { return unset_.count(name) != 0; }

  ExpressionReader& expressions() { return expressions_; }
  [[nodiscard]] std::vector<Fact>& facts() { return facts_; }
  [[nodiscard]] NameId id(Position at) { return names_.id(tokens_.list[at].text); }

 private:
  ExpressionReader::Object pointed(Range range, std::vector<Use>& address);
  [[nodiscard]] bool holds_value(Range pointer) const;

  const Tokens& tokens_;
  Names& names_;
  ExpressionReader expressions_;
  std::vector<Fact> facts_;
  std::unordered_set<NameId> fragments_;
  std::unordered_set<NameId> unset_;
  std::uint32_t node_ = 0;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
