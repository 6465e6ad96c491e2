#pragma once

/// \file
/// The values within one iteration of a loop: every definition of a name is a value of its own.

#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "detect/function_flow.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// The number of a value in the loop that is analysed.
using Value = std::uint32_t;

/// Reads the body of a loop once, in source order, and numbers its values. Each name and each piece of memory begins
/// with the value that it had before the iteration, its head. A definition makes a new value. Where two definitions
/// meet, after a branch or at the start of a nested loop, the meeting is a value too, with an edge from each of them.
/// An edge to a head from the last value of the iteration closes a cycle: that is what the next iteration takes.
class Iteration {
 public:
  Iteration(const FunctionFlow& flow, std::uint32_t loop);
  /// The whole function, read once like an iteration, and without a next one.
  explicit Iteration(const FunctionFlow& flow);
  ~Iteration();
  Iteration(const Iteration&) = delete;
  Iteration& operator=(const Iteration&) = delete;

 protected:
  static constexpr Value k_no_value = std::numeric_limits<Value>::max();
  /// In edges where two values of a name meet.
  static constexpr std::uint32_t k_no_fact = std::numeric_limits<std::uint32_t>::max();
  /// From a value to one that is made of it.
  struct Edge {
    Value from = 0;
    Value to = 0;
    std::uint32_t fact = k_no_fact;
    const Use* use = &k_meets;  ///< how
    /// The value does not go this way: it only chooses a place to write to, or nothing of it is read there.
    bool closed = false;
    /// Host: writes one member of an object.
    bool partial = false;
  };
  static constexpr Use k_meets{};

  [[nodiscard]] bool inside(const Fact& fact) const { return fact.node >= begin_ && fact.node < last_; }
  /// Reads the body; `ids_`, `edges_` and `decisions_` are complete afterwards, and the edges sorted by their sources.
  void read_body();
  /// The value of a name, or of memory, behind the last statement; k_no_value for one that does not occur.
  [[nodiscard]] Value last_value(NameId node) const { return now(key(Slot::Current, node)); }
  [[nodiscard]] NameId node_of(NameId name, bool memory) const {
    name = merged(name);
    return memory ? memory_of(name) : flow_.node_of(name, false);
  }
  /// The value of a name, or of memory, before the iteration.
  [[nodiscard]] Value head_of(NameId node);
  [[nodiscard]] Value head(Value value) const { return flow_.numbers_[ids_[value]]; }
  [[nodiscard]] bool is_head(Value value) const { return head(value) == value; }
  [[nodiscard]] NameId memory_of(NameId name) const { return flow_.memory_of(name, regions_); }
  /// The object of a member, where the loop also uses the object as a whole: then it is one value.
  [[nodiscard]] NameId merged(NameId name) const {
    const auto owner = flow_.owners_[name];
    return owner != name && whole_.count(owner) != 0 ? owner : name;
  }
  /// Whether the fact depends on a branch inside the loop.
  [[nodiscard]] bool conditional(const Fact& fact) const {
    return flow_.branch_begin_[fact.node] > loop_ && flow_.branch_end_[fact.node] <= last_;
  }
  /// Whether a branch selects iterations, rather than threads like the guard of a partial tile.
  [[nodiscard]] bool chooses_iterations(std::uint32_t branch) const;

  /// The value that a fact makes.
  [[nodiscard]] Value made(const Fact& fact) const { return made_[fact.id - first_]; }
  /// The value that is used, and, of memory, the value of the pointer.
  [[nodiscard]] Value used(const Use& use) const { return used_[use.id - first_use_].first; }
  [[nodiscard]] Value pointer_of(const Use& use) const { return used_[use.id - first_use_].second; }
  [[nodiscard]] Value pointer_of(const Fact& fact) const { return pointers_[fact.id - first_]; }

  const FunctionFlow& flow_;
  Regions regions_;
  std::uint32_t loop_ = 0;
  std::uint32_t begin_ = 0;  ///< the first node
  std::uint32_t last_ = 0;
  /// The facts of the loop.
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> start_;  ///< by value: its first edge
  /// The value `from` decides, in some cases by an order, which value is taken: `to` or another one.
  struct Decision {
    Value from = 0;
    Value to = 0;
    bool compares = false;
  };
  std::vector<Decision> decisions_;
  std::vector<NameId> ids_;         ///< by value: the name, or the memory
  std::unordered_set<NameId> set_;  ///< names that the loop sets
  /// Heads that an iteration sets for the next one.
  std::vector<Value> carried_;

 private:
  /// What a definition changes; each kind has a slot for every name and memory.
  enum class Slot : std::uint8_t { Current, Own, Latest };
  using Key = std::uint32_t;
  [[nodiscard]] Key key(Slot slot, NameId node) const {
    return static_cast<Key>(slot) * 2 * static_cast<Key>(flow_.count_) + node;
  }
  struct Change {
    Key key = 0;
    Value value = 0;
  };
  /// The arms of a branch.
  struct Chain {
    std::uint64_t condition = 0;  ///< of the first arm
    bool guard = false;           ///< only keeps threads out that have nothing to do
    std::vector<NameId> asked;    ///< the memory that the condition of a guard is about
    bool complete = false;        ///< the last arm has no condition
    std::uint32_t arms = 0;
    std::vector<std::pair<Change, std::uint32_t>> changes;  ///< the value at the end of an arm
  };
  /// A branch or a nested loop that is being read.
  struct Open {
    std::uint32_t node = 0;
    std::size_t mark = 0;
    Chain chain;
    std::vector<Change> entries;  ///< of a loop: the meetings at its start
  };
  /// The first arm made `arm`; without it the value is another one.
  struct Meeting {
    std::uint64_t condition = 0;
    Value arm = k_no_value;
  };

  void read_statements();
  void close_cycles();
  void sort_edges();
  void find_whole_objects();
  void find_moving();
  void pass_barrier();
  [[nodiscard]] bool streams(const Fact& fact) const;
  void find_shared_memory();
  void open(std::uint32_t node);
  void open_loop(Open& entry);
  void close();
  void close_loop(Open& entry);
  void close_arm(Open& entry);
  void join(const Chain& chain);
  void define(std::uint32_t index);
  void add_uses(std::uint32_t index, Value target);
  void decide(const Fact& fact, Value target);
  [[nodiscard]] bool is_else(std::uint32_t node) const;
  [[nodiscard]] std::uint64_t condition_of(std::uint32_t node);
  [[nodiscard]] bool is_guard(std::uint32_t node) const;
  [[nodiscard]] std::vector<NameId> memory_read(const Fact& fact) const;
  [[nodiscard]] std::vector<NameId> asked_memory(std::uint32_t node) const;
  [[nodiscard]] Value read(NameId name, bool memory);
  [[nodiscard]] Value read_part(NameId name, bool memory);
  [[nodiscard]] Value resolve(Value value) const;
  [[nodiscard]] Value now(Key key) const { return flow_.now_[key]; }
  void set(Key key, Value value);
  Value add_value(NameId node, bool stale);
  Value meet(NameId node, const std::vector<Value>& sources);
  void connect(Value from, Value to);
  /// The slot of a name in the text, whatever memory it shares with others.
  [[nodiscard]] Key own(NameId name, bool memory) const {
    name = merged(name);
    return key(Slot::Own, memory && flow_.side_ == Side::Device ? name + static_cast<NameId>(flow_.count_) : name);
  }

  std::vector<Value> made_;                    ///< by fact
  std::vector<Value> pointers_;                ///< by fact, of memory
  std::vector<std::pair<Value, Value>> used_;  ///< by use
  std::uint32_t first_use_ = 0;
  std::vector<bool> stale_;                ///< by value: it may hold what was there before the iteration
  std::vector<std::uint64_t> defined_at_;  ///< by value: the place of its definition
  std::vector<Meeting> meetings_;          ///< by value
  /// By name: some of the memory that its last definition reads.
  std::unordered_map<NameId, std::vector<NameId>> memory_read_;
  std::vector<Change> log_;  ///< the former value of every changed slot
  std::vector<Key> touched_;
  std::vector<Open> open_;
  Chain pending_;                          ///< the arms so far, of a branch with another arm
  std::vector<std::uint64_t> conditions_;  ///< of the open branches
  std::unordered_set<NameId> moving_;      ///< names that another iteration gives another value, by counting
  std::unordered_set<NameId> whole_;       ///< objects with members that the loop also uses as a whole
  std::vector<NameId> shared_;             ///< memory that the loop reaches by several names, sorted
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
