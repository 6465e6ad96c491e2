#pragma once

/// \file
/// Which loops carry recurrent state, and what functions do with what they are given.

#include <optional>

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

/// All the facts of a function, in a form that loops and summaries are computed from.
class FunctionFlow {
 public:
  FunctionFlow(const Function& function, const Summaries& summaries);

  /// What the function does, for its callers.
  [[nodiscard]] Summary summarize() const;
  /// The recurrent state of one loop; nothing for reductions, counters and independent iterations.
  [[nodiscard]] std::optional<CarriedState> carried_by(std::uint32_t loop) const;
  [[nodiscard]] std::string_view name(NameId id) const { return names_.text(id); }
  [[nodiscard]] bool is_parameter(NameId id) const;
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
  };

 private:
  void find_aliases();
  void find_owners();
  [[nodiscard]] bool overwrites(NameId name) const;
  [[nodiscard]] NameId root(NameId name) const;
  /// Names and what they point to are different nodes of a graph.
  [[nodiscard]] NameId memory_of(NameId name) const { return static_cast<NameId>(count_) + root(name); }
  void add_edges(std::uint32_t index, std::vector<Edge>& edges) const;

  friend class LoopFlow;
  const Function& function_;
  Names names_;
  std::vector<NameId> parameters_;
  std::vector<Fact> facts_;
  std::size_t count_;
  std::vector<NameId> parent_;
  /// By name: it points into what another name stands for.
  std::vector<bool> aliased_;
  /// By node: where the innermost branch around it ends.
  std::vector<std::uint32_t> branch_end_;
  std::vector<std::uint32_t> branch_begin_;
  /// By name: a bit per way in which it tells programs (low) or threads (bit 31) apart.
  std::vector<std::uint32_t> owners_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
