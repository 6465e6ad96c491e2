#pragma once

/// \file
/// Facts: what the statements of a function assign, and from what. The input of the search for carried state.

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "detect/program.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// How one value depends on another one. Ordered: along a path of several steps, the largest kind counts.
enum class DependenceKind : std::uint8_t {
  Additive,   ///< copied, added, selected: acc + x, max(acc, x), dot(a, b, acc)
  Scaled,     ///< multiplied by something: a * h + b
  Exponent,   ///< through exp or log, element by element: exp(m - top), log(l)
  Arbitrary,  ///< any other way: tanh(h), dot(h, w), table[h]
};

using NameId = std::uint32_t;
/// The target of return statements.
inline constexpr NameId k_return = 0;

/// Numbers for the names of a program. Borrows the texts.
class Names {
 public:
  Names() { (void)id("return"); }
  NameId id(std::string_view name) {
    const auto [entry, added] = ids_.try_emplace(name, static_cast<NameId>(texts_.size()));
    if (added) texts_.push_back(name);
    return entry->second;
  }
  /// The number of an object's member, where the members of that object are tracked separately.
  NameId member(NameId object, std::string_view name) {
    auto& members = members_[object];
    const auto [entry, added] = members.try_emplace(name, static_cast<NameId>(texts_.size()));
    if (added) texts_.push_back(name);
    return entry->second;
  }
  /// For each name: the object that it is a member of, or the name itself.
  [[nodiscard]] std::vector<NameId> owners() const {
    std::vector<NameId> all(texts_.size());
    for (NameId name = 0; name < all.size(); ++name) all[name] = name;
    for (const auto& [object, members] : members_)
      for (const auto& [text, id] : members) all[id] = object;
    return all;
  }
  /// The object and its separately tracked members.
  [[nodiscard]] std::vector<NameId> parts(NameId object) const {
    std::vector<NameId> all{object};
    if (const auto found = members_.find(object); found != members_.end())
      for (const auto& [name, id] : found->second) all.push_back(id);
    return all;
  }
  /// The number of a name; nothing for an unknown one.
  [[nodiscard]] std::optional<NameId> find(std::string_view name) const {
    const auto found = ids_.find(name);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  [[nodiscard]] std::string_view text(NameId id) const { return texts_[id]; }
  [[nodiscard]] std::size_t size() const { return texts_.size(); }

 private:
  std::unordered_map<std::string_view, NameId> ids_;
  std::unordered_map<NameId, std::map<std::string_view, NameId>> members_;
  std::vector<std::string_view> texts_;
};

/// A name in an expression. Without a name: the role of an expression inside a larger one.
struct Use {
  NameId name = 0;
  DependenceKind kind = DependenceKind::Additive;
  /// The use is of the memory that the name points to.
  bool memory = false;
  /// The use only chooses the place that is read or written.
  bool address = false;
  /// With `address`: it chooses the place that the fact writes, not one that it reads.
  bool of_target = false;
  /// A hash of the place: equal texts have equal numbers. 0 when not memory.
  std::uint64_t location_hash = 0;
  /// Uses in one product share `product_id` and differ in `factor_id`; 0: no product.
  std::uint32_t product_id = 0;
  std::uint32_t factor_id = 0;
  /// Its factor is a sum with a constant: h in g * (1 - h).
  bool beside_constant = false;
  /// The use is a divisor of its product.
  bool divides = false;
  /// For a place like p[i + n] or p[i - n]: the hash of p[i], and which of them it is: 1 or -1.
  std::uint64_t base_hash = 0;
  int offset = 0;
  /// A number for the place that a use of memory reads. The former value of a target has the place of the target.
  std::uint32_t place_id = 0;
  /// With `address`: the place that the use chooses.
  std::uint32_t chooses = 0;
  /// The use is a term of a sum: acc + x.
  bool added = false;
  /// The terms of a sum inside an exponential share this number, where nothing is subtracted; else 0.
  std::uint32_t sum_id = 0;
  /// The use is an operand of a maximum or a minimum.
  bool extremum = false;
  /// The use goes through a function that is known and not linear: tanh(h), a / h.
  bool curved = false;
  /// The use only decides which of several values is taken: the condition of c ? a : b.
  bool is_select_condition = false;
  /// The use goes through a kernel that the host launches here.
  bool launched = false;
  /// A number in the function.
  std::uint32_t id = 0;
};

/// One assignment.
struct Fact {
  std::uint32_t node = 0;
  NameId target = 0;
  /// The fact writes the memory that the target points to, at `location_hash`.
  bool memory = false;
  std::uint64_t location_hash = 0;
  /// The fact declares the target, and, with `copies`, as an object of its own and no pointer.
  bool declares = false;
  bool copies = false;
  /// The fact exchanges two pointers or values.
  bool swaps = false;
  /// The fact adds to the target, which keeps its earlier values.
  bool appends = false;
  /// The fact writes one of two places in turn: buffer[step & 1].
  bool alternates = false;
  /// The fact sets one member of the target and leaves the others.
  bool partial = false;
  /// The fact returns an object; its uses are the members. Or, with `member`, it returns this one of them.
  bool returns_object = false;
  std::string_view member;
  /// The fact returns one of several values: its number from 1 on; else 0.
  std::uint32_t element = 0;
  /// The assigned expression.
  Range expression;
  std::vector<Use> uses;
  /// A number in the function, not one of a use.
  std::uint32_t id = 0;
};

/// An effect between the parameters of a function, or from one to the return value.
struct Effect {
  std::size_t from = 0;
  bool from_memory = false;
  bool returns = false;
  /// The number of this value among several that are returned, from 1 on.
  std::uint32_t element = 0;
  std::size_t to = 0;
  bool to_memory = false;
  /// How: kind, product, factor, and whether it is added, an extremum, not linear, or only decides.
  Use role{.kind = DependenceKind::Arbitrary};
  /// The effect is one of a member on itself, in an object of several.
  bool of_member = false;
};

/// The effects of a function that its callers see.
struct Summary {
  std::vector<Effect> effects;
  /// Names of the parameters, for keyword arguments.
  std::vector<std::string_view> parameters;
  /// The first parameter is the object of a member function.
  bool method = false;
  /// The function launches kernels, or is a kernel that the host launches.
  bool launches = false;
  /// The function writes places that its arguments do not name, and reads one of these.
  bool side_effects = false;
  /// The function writes places that its arguments do not name.
  bool writes_others = false;
};

/// The side that runs the code: on the host, a tensor and its memory are one value.
enum class Side : std::uint8_t { Device, Host };

/// Summaries by function name; a name with several functions has their union.
using Summaries = std::unordered_map<std::string_view, Summary>;

/// Reads the facts of a function, in source order.
[[nodiscard]] std::vector<Fact> read_facts(const Function& function, const Summaries& summaries, Names& names,
                                           Side side);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
