#pragma once

/// \file
/// How facts are written down: what a text on the left of an assignment, or behind a pointer, names.

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

  /// The facts that follow belong to this node.
  void stand_at(std::uint32_t node) { node_ = node; }
  Fact& add(NameId target);
  /// `left` operation `right`, as = or +=.
  Fact& assign(Range left, std::string_view operation, Range right);
  /// What `pointer` leads to gets `values`, or, with `from_memory`, what they lead to.
  Fact& write(Range pointer, const std::vector<Range>& values, Rank rank, bool from_memory);
  /// Two pointers or values change places.
  void swap(Range first, Range second);
  /// What stands on the left of an assignment, with the uses that choose the place.
  ExpressionReader::Object target_of(Range left, std::vector<Use>& address);

  /// As place_before finds it, from `begin`.
  [[nodiscard]] Range place_after(Position begin, Position end) const;

  /// From here on the name is a value, though it is given to functions like a pointer.
  void is_fragment(NameId name) { fragments_.insert(name); }

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
  std::uint32_t node_ = 0;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
