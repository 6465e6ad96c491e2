#pragma once

/// \file
/// Writes facts: resolves the target of an assignment, or of a pointer.

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "detect/expression.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Collects the facts of one function. Borrows the function and the names.
class FactWriter {
 public:
  FactWriter(const Function& function, const Summaries& summaries, Names& names)
      : tokens_(*function.tokens), names_(names), expressions_(function, summaries, names) {
    for (const auto& parameter : function.parameters)
      parameters_.emplace(names.id(parameter.name), parameter.constant && parameter.by_reference);
  }

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

  /// What is known of a variable of the function.
  struct Variable {
    bool shared = false;  ///< by the threads of a block, or by all calls
    bool array = false;
    bool constant = false;  ///< or leads to what is
  };
  void declare(NameId name, Variable variable, bool has_value) {
    variables_.insert_or_assign(name, variable);
    if (!has_value) unset_.insert(name);
  }
  /// Nothing for a name that the function does not declare.
  [[nodiscard]] const Variable* variable(NameId name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_parameter(NameId name) const { return parameters_.count(name) != 0; }
  /// Whether the name is a parameter that does not point to constant memory.
  [[nodiscard]] bool is_writable(NameId name) const {
    const auto found = parameters_.find(name);
    return found != parameters_.end() && !found->second;
  }
  /// A fact that sets a variable, all of it if it is an array.
  Fact& set(NameId name) {
    auto& fact = add(name);
    const auto* known = variable(name);
    fact.memory = known != nullptr && known->array;
    return fact;
  }
  /// Appends the uses of an argument; an array stands for its elements.
  void read_argument(Range argument, const Use& role, std::vector<Use>& uses) {
    const auto* known =
        argument.end == argument.begin + 1 && tokens_.is_name(argument.begin) ? variable(id(argument.begin)) : nullptr;
    if (known != nullptr && known->array)
      expressions_.read_memory(argument, role, uses);
    else
      expressions_.read(argument, role, uses);
  }
  /// Whether a variable has no value so far: a function that gets it sets it.
  [[nodiscard]] bool is_unset(NameId name) const { return unset_.count(name) != 0; }

  ExpressionReader& expressions() { return expressions_; }
  [[nodiscard]] std::vector<Fact>& facts() { return facts_; }
  [[nodiscard]] NameId id(Position at) { return names_.id(tokens_.list[at].text); }

 private:
  [[nodiscard]] std::pair<Range, Range> chosen_places(Range left) const;
  ExpressionReader::Object pointed(Range range, std::vector<Use>& address);
  [[nodiscard]] bool holds_value(Range pointer) const;

  const Tokens& tokens_;
  Names& names_;
  ExpressionReader expressions_;
  std::vector<Fact> facts_;
  std::unordered_set<NameId> fragments_;
  std::unordered_set<NameId> unset_;
  std::unordered_map<NameId, Variable> variables_;
  std::unordered_map<NameId, bool> parameters_;  ///< whether it points to constant memory
  std::uint32_t node_ = 0;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
