#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "detect/calls.hpp"
#include "detect/facts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Reads expressions of one function.
class ExpressionReader {
 public:
  ExpressionReader(const Function& function, const Summaries& summaries, Names& names);

  /// Appends the uses in `range`.
  void read(Range range, const Use& role, std::vector<Use>& uses);
  /// The object that a pointer expression leads to, with the place; its other names are address uses. `memory` is false
  /// for `&name`, which means the name itself.
  struct Object {
    bool found = false;
    NameId name = 0;
    bool memory = true;
    std::uint64_t location_hash = 0;
  };
  Object object(Range range, std::vector<Use>& address_uses);
  /// Appends the use of the memory that a pointer leads to.
  void read_memory(Range pointer, const Use& role, std::vector<Use>& uses);
  /// Appends what makes the pointer &p[i][j], in brackets or casts or not: it is p + i + j, and reads nothing there.
  /// Returns whether the range is one.
  bool read_address(Range range, std::vector<Use>& uses);
  /// The role of an argument that has `effect` within the role of the call.
  static Use argument_role(Use role, const Effect& effect, std::uint32_t product);
  /// Puts the uses from `first` on that have no group into a new one, and returns its number.
  std::uint32_t group_from(std::vector<Use>& uses, std::size_t first);
  /// The role of the argument `index`, from 0 on, of an operation, or of a function that the text does not define.
  [[nodiscard]] Use operand_role(const Call& call, std::size_t index, bool named, const Use& role) const;
  /// A number for a product that is made of several expressions.
  std::uint32_t new_product() { return ++terms_; }
  /// The same for all products of a known function: add the number that the product has there.
  std::uint32_t new_products(const Summary& summary);
  /// The next value that is read is an element, counted from 0, of what the call returns that is all of `value`.
  void select_element(Range value, std::size_t index);
  /// A number for the place that a range of the text leads to; equal texts have equal numbers.
  [[nodiscard]] std::uint64_t hash(Range range) const;
  /// The pointer that `left` ends with leads to this place from here on; nothing: to an unknown one.
  void point(Range left, std::optional<Range> place);
  /// Makes `name` another name of the place that `range` leads to: float& s = state[j].
  /// Where `element` is not 0, it chooses an element there.
  void add_reference(std::string_view name, Range range, NameId element = 0);
  struct Reference {
    Range place;
    NameId element = 0;
  };
  /// The place that such a name refers to.
  [[nodiscard]] std::optional<Reference> referenced_place(Position at) const;
  /// The lambda of this function that a call means.
  [[nodiscard]] const Lambda* lambda(const Call& call) const;
  /// Whether the call is a recursive one.
  [[nodiscard]] bool is_own_call(const Call& call) const;
  /// Whether a place is a member that shares the name of its object.
  [[nodiscard]] bool names_member(Range place) const;
  /// The name that begins at `at`, with its member where members are tracked separately.
  NameId name(Position at);

 private:
  [[nodiscard]] bool compares(Range range) const;
  [[nodiscard]] bool multiplies(Range range) const;
  [[nodiscard]] bool is_number(Range range) const;
  void mix(Range range, std::uint64_t& value, int pointers) const;
  void find_bundles(const Function& function);
  void read_sum(Range range, Use role, std::vector<Use>& uses);
  void read_product(Range range, Use role, std::vector<Use>& uses);
  void read_factor(Range range, const Use& role, std::vector<Use>& uses);
  Position read_name(Position at, Position end, bool dereferenced, const Use& role, std::vector<Use>& uses);
  Position read_place(Range dotted, Position last, Position end, bool dereferenced, const Use& role,
                      std::vector<Use>& uses);
  void read_block(const Call& call, NameId object, const Use& role, std::vector<Use>& uses);
  [[nodiscard]] static bool is_asked(const Effect& effect, std::uint32_t element);
  void find_offset(Range place, Use& use) const;
  Position read_bundle(Position at, const Use& role, std::vector<Use>& uses);
  void read_call(const Call& call, Use role, std::vector<Use>& uses);
  /// Reads the arguments of an operation, or of a function that the text does not define.
  void read_arguments(const Call& call, const Use& role, std::vector<Use>& uses);
  void read_summary(const Summary& summary, const std::vector<Range>& given, const Use& role, std::vector<Use>& uses);
  Position read_reference(Reference reference, Position at, Position end, const Use& role, std::vector<Use>& uses);
  [[nodiscard]] Position after_cast(Position at, Position end) const;
  [[nodiscard]] Position after_arguments(Position at, Position end) const;
  /// The position after [i][j].x at `at`.
  [[nodiscard]] Position after_indices(Position at, Position end) const;
  [[nodiscard]] bool binary(Position at, Position begin) const;

  const Tokens& tokens_;
  const Summaries& summaries_;
  Names& names_;
  std::string_view function_;  ///< name of the function
  std::unordered_map<std::string_view, const Lambda*> lambdas_;
  /// Objects of which only members are used; each member counts as a value of its own.
  std::unordered_set<std::string_view> bundles_;
  std::unordered_set<std::string_view> parameters_;
  /// Members of the object, in a member function.
  std::unordered_set<std::string_view> members_;
  std::unordered_map<std::string_view, Reference> references_;
  /// Pointers, and the elements that they were set to: p = &a[i].
  std::unordered_map<std::string_view, Range> places_;
  bool inside_reference_ = false;  // a reference leads to a place, not to another reference: the work stays linear
  int depth_ = 0;                  // of brackets
  std::uint32_t element_ = 0;      // of the next call of a known function, from 1 on; 0: all of them
  std::uint32_t terms_ = 0;
  std::uint32_t groups_ = 0;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
