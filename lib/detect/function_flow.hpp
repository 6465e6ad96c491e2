#pragma once

/// \file
/// Finds loops that carry recurrent state, and summarizes functions for their callers.

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

/// State that an iteration takes from the previous one and that is more than a sum or a counter.
struct CarriedState {
  std::uint32_t loop = 0;  ///< node
  NameId name = 0;
  int line = 0;
  DependenceKind kind = DependenceKind::Arbitrary;
  bool in_memory = false;
  /// Programs write it at their own places, but read it at other programs' places.
  bool shared_by_programs = false;
  /// A loop inside, not split over threads or programs, that writes the state unit by unit.
  std::optional<std::uint32_t> serial_loop;
};

/// Pointers that are derived from each other lead to one buffer. Within a loop, pointers that were set to different
/// places before it lead to disjoint regions, such as this step's state and the next one's. Maps a name to its region.
using Regions = std::unordered_map<NameId, NameId>;

/// Turns a function that calls itself once, for the rest of its work, into a loop around its statements. Nothing for
/// others, such as those that halve their input.
[[nodiscard]] std::optional<Function> as_loop(const Function& function);

/// All facts of a function, in the form that the analysis of loops and summaries uses.
class FunctionFlow {
 public:
  FunctionFlow(const Function& function, const Summaries& summaries, Side side = Side::Device);

  /// The effects of the function for its callers.
  [[nodiscard]] Summary summarize() const;
  /// The recurrent state of one loop; nothing for reductions, counters and independent iterations.
  [[nodiscard]] std::optional<CarriedState> carried_by(std::uint32_t loop) const;
  /// Host: whether a kernel's result in one iteration reaches a kernel in the next.
  [[nodiscard]] bool carries_launches(std::uint32_t loop) const;
  /// Host: whether the loop iterates over members of the object, such as layers, and over nothing else. `changing` are
  /// not layers.
  [[nodiscard]] bool iterates_over_members(std::uint32_t loop,
                                           const std::unordered_set<std::string_view>& changing) const;
  /// Number of facts in a loop: the cost of analysing it.
  [[nodiscard]] std::size_t facts_in(std::uint32_t loop) const;
  [[nodiscard]] std::string_view name(NameId id) const { return names_.text(id); }
  [[nodiscard]] bool is_parameter(NameId id) const { return of_parameter_[root(id)]; }
  /// Whether a variable is used to choose places in memory, and for nothing else.
  [[nodiscard]] bool is_index(NameId name) const { return indices_[name] && !values_[name]; }
  /// Whether the loop doubles or halves its variable: stages of a tree, not steps of time.
  [[nodiscard]] bool is_geometric(std::uint32_t loop) const;
  /// Whether the loop has at most a handful of iterations, by a literal number.
  [[nodiscard]] bool is_short(std::uint32_t loop) const;

 private:
  void find_aliases();
  void find_rotations(const std::vector<bool>& pointer);
  void separate(std::uint32_t first, std::uint32_t end, Regions& regions) const;
  template <class Join>
  void join_sources(const Fact& fact, const std::vector<bool>& pointer, Join join) const;
  void find_divergence();
  [[nodiscard]] bool is_disjoint_region(const Fact& fact, const std::vector<bool>& of_caller) const;
  [[nodiscard]] std::vector<bool> read_first(const std::vector<bool>& pointer) const;
  [[nodiscard]] NameId root(NameId name) const;
  /// Names and the memory that they point to are different nodes of a graph.
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
  /// What the function does to places that are neither its own nor arguments.
  struct SideEffects {
    bool writes = false;
    bool reads = false;  ///< one that it writes
  };
  [[nodiscard]] SideEffects side_effects() const;
  void find_places();  // on the device only: the host has whole tensors
  [[nodiscard]] Regions regions_in(std::uint32_t loop, std::uint32_t first, std::uint32_t end) const;
  void find_conditions();
  void find_indices();
  void find_block_memory();

  friend class Iteration;
  friend class LoopGraph;
  friend class LoopFlow;
  friend class Summarizer;
  const Function& function_;
  Side side_;
  Names names_;
  /// For each parameter: its name, and its members where they are tracked separately.
  std::vector<std::vector<NameId>> parameters_;
  std::vector<NameId> owners_;        ///< for each name: its object, or itself
  std::vector<bool> has_members_;     ///< for each name
  std::unordered_set<NameId> given_;  ///< all parameters
  std::vector<Fact> facts_;
  std::uint32_t use_count_ = 0;
  std::size_t count_;
  std::vector<NameId> parent_;
  std::vector<bool> of_parameter_;  ///< by root: whether a parameter is among its names
  /// The same without those facts in which pointers take turns.
  std::vector<NameId> apart_;
  std::vector<bool> rotates_;  ///< by fact
  /// For each name: whether it points into memory of another name.
  std::vector<bool> aliased_;
  /// For each name: whether it is a pointer that the function makes of another one.
  std::vector<bool> derived_;
  /// A pointer that one statement of a loop sets: the place, and the first name that is set to the same place.
  struct SetOnce {
    std::uint32_t node = 0;
    NameId place = 0;
  };
  std::unordered_map<NameId, SetOnce> set_once_;
  std::vector<bool> of_block_;  ///< by name: whether it leads to memory that the threads of a block share
  std::vector<bool> barriers_;  ///< by node: whether the threads of a block wait for each other
  std::vector<bool> indices_;   ///< by name: whether it takes part in an index
  std::vector<bool> values_;    ///< by name: whether it takes part in a value that is stored or returned
  /// For each name and memory: the number of its first value in the loop that is analysed, and of its current ones.
  static constexpr NameId k_no_number = std::numeric_limits<NameId>::max();
  mutable std::vector<NameId> numbers_;
  mutable std::vector<NameId> now_;
  /// For each node: the end of the innermost branch around it.
  std::vector<std::uint32_t> branch_end_;
  std::vector<std::uint32_t> branch_begin_;
  /// A name in a condition, or the memory that it points to.
  struct Asked {
    NameId name = 0;
    bool memory = false;
  };
  /// For each node: the names in the header of a branch.
  std::vector<std::vector<Asked>> conditions_;
  std::vector<bool> orders_;  ///< by node: whether it asks which of two values is greater
  /// For each name: whether its value varies across threads (bit 31) or blocks (a bit for each axis).
  std::vector<std::uint32_t> divergence_mask_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
