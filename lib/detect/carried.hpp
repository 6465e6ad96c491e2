#pragma once

/// \file
/// Which loops carry recurrent state, and what functions do with what they are given.

#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "detect/facts.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// State that an iteration takes from the one before and that is more than a sum or a counter.
struct CarriedState {
  std::uint32_t loop = 0;  ///< node
  NameId name = 0;
  int line = 0;
  Rank rank = Rank::Operand;
  bool in_memory = false;
  /// Programs write it at places of their own, but read it at places of others.
  bool shared_by_programs = false;
  /// The loop inside, not split over threads or programs, that writes the state unit by unit.
  std::optional<std::uint32_t> serial_loop;
};

/// Pointers that are made of each other lead to one buffer. Inside a loop, those that were set to different places
/// before it lead to regions that have nothing in common, such as this step's state and the next one's: by name, the
/// region.
using Regions = std::unordered_map<NameId, NameId>;

/// A function that calls itself once, for the rest of its work, as a loop around its statements; nothing for others,
/// such as those that halve what they are given.
[[nodiscard]] std::optional<Function> as_loop(const Function& function);

/// All the facts of a function, in a form that loops and summaries are computed from.
class FunctionFlow {
 public:
  FunctionFlow(const Function& function, const Summaries& summaries, Side side = Side::Device);

  /// What the function does, for its callers.
  [[nodiscard]] Summary summarize() const;
  /// The recurrent state of one loop; nothing for reductions, counters and independent iterations.
  [[nodiscard]] std::optional<CarriedState> carried_by(std::uint32_t loop) const;
  /// Host: whether what a kernel makes in one iteration reaches a kernel in the next.
  [[nodiscard]] bool carries_launches(std::uint32_t loop) const;
  /// Host: whether the loop goes over members of the object, such as layers, and over nothing else. `changing` are not
  /// layers.
  [[nodiscard]] bool is_over_members(std::uint32_t loop, const std::unordered_set<std::string_view>& changing) const;
  /// How many facts a loop has: what it costs to look at it.
  [[nodiscard]] std::size_t facts_in(std::uint32_t loop) const;
  [[nodiscard]] std::string_view name(NameId id) const { return names_.text(id); }
  [[nodiscard]] bool is_parameter(NameId id) const;
  /// Whether the loop doubles or halves its variable: stages of a tree, and not steps of time.
  [[nodiscard]] bool is_geometric(std::uint32_t loop) const;
  /// Whether the loop makes at most a handful of iterations, by a literal number.
  [[nodiscard]] bool is_short(std::uint32_t loop) const;

  struct Edge {
    NameId from;
    NameId to;
    Rank rank;
    bool address;
    bool from_memory;
    std::uint32_t fact;
    std::uint32_t term;
    std::uint32_t factor;
    bool of_target;
    /// A kernel makes the one of the other; `own`: at the same place, as in y[b] = f(y[b]).
    bool launched;
    bool own;
    /// Host: goes into one member of an object.
    bool partial;
  };

 private:
  [[nodiscard]] std::vector<std::uint8_t> reached_from(std::vector<NameId> queue, const std::vector<Edge>& edges) const;
  void add_object_effects(const std::vector<Edge>& edges, Summary& summary) const;
  void find_aliases();
  template <class Join>
  void join_sources(const Fact& fact, const std::vector<bool>& pointer, Join join) const;
  void find_owners();
  [[nodiscard]] bool carves_out(const Fact& fact) const;
  [[nodiscard]] bool overwrites(NameId name) const;
  [[nodiscard]] NameId root(NameId name) const;
  /// Names and what they point to are different nodes of a graph.
  [[nodiscard]] NameId memory_of(NameId name) const {
    return side_ == Side::Host ? root(name) : static_cast<NameId>(count_) + root(name);
  }
  [[nodiscard]] NameId memory_of(NameId name, const Regions& regions) const {
    const auto region = regions.empty() ? regions.end() : regions.find(name);
    return region == regions.end() ? memory_of(name) : static_cast<NameId>(count_) + region->second;
  }
  [[nodiscard]] NameId node_of(NameId name, bool memory) const {
    return memory || side_ == Side::Host ? memory_of(name) : name;
  }
  [[nodiscard]] bool has_side_effects() const;
  void add_edges(std::uint32_t index, const Regions& regions, std::vector<Edge>& edges,
                 std::vector<std::pair<NameId, NameId>>& decisions) const;
  void find_places();  // on the device: the host has whole tensors
  [[nodiscard]] Regions regions_in(std::uint32_t loop, std::uint32_t first, std::uint32_t end) const;
  void find_conditions();

  friend class LoopGraph;
  friend class LoopFlow;
  const Function& function_;
  Side side_;
  Names names_;
  /// By parameter: its name, and its members where they are told apart.
  std::vector<std::vector<NameId>> parameters_;
  std::unordered_set<NameId> given_;  ///< all of them
  std::vector<Fact> facts_;
  std::size_t count_;
  std::vector<NameId> parent_;
  /// By name: it points into what another name stands for.
  std::vector<bool> aliased_;
  /// A pointer that one statement of a loop sets: where, and the first name that is set to the same place.
  struct SetOnce {
    std::uint32_t node = 0;
    NameId place = 0;
  };
  std::unordered_map<NameId, SetOnce> set_once_;
  /// By value: its number in the loop that is looked at, one loop at a time.
  static constexpr NameId k_no_number = std::numeric_limits<NameId>::max();
  mutable std::vector<NameId> numbers_;
  /// By node: where the innermost branch around it ends.
  std::vector<std::uint32_t> branch_end_;
  std::vector<std::uint32_t> branch_begin_;
  /// By node: the names that the header of a branch asks.
  std::vector<std::vector<NameId>> asked_;
  /// By name: a bit per way in which it tells programs (low) or threads (bit 31) apart.
  std::vector<std::uint32_t> owners_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
