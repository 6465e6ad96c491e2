#pragma once

/// \file
/// The values of a loop and their dependencies.

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "detect/iteration.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// The values of one loop as a graph: an edge from each value to those that depend on it.
class LoopGraph : protected Iteration {
 public:
  LoopGraph(const FunctionFlow& flow, std::uint32_t loop) : Iteration(flow, loop) {}

 protected:
  /// Reads the loop. Without edges nothing else may be asked.
  void read() {
    read_body();
    if (edges_.empty()) return;
    is_carried_.assign(ids_.size(), false);
    for (const auto value : carried_) is_carried_[value] = true;
    find_order();
    find_cycles();
    find_places();
    const bool searches = close_searches();
    if (release_own_places() || searches) find_cycles();
  }

  void find_cycles() {
    find_components();
    find_decided();
    find_data();
    find_induction();
  }

  /// A value that is only looked up where it leads to itself, x = next[x], walks through data that stay as they are.
  /// With a place of the iteration beside it, state = table[state][text[t]], it is a state. Returns whether there is
  /// one.
  bool close_searches() {
    bool found = false;
    for (auto& edge : edges_) {
      if (!edge.use->address || edge.closed || component_[edge.from] != component_[edge.to]) continue;
      const auto& fact = flow_.facts_[edge.fact];
      const auto places = varying_places(fact);
      edge.closed = std::none_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
        if (!use.address || use.chooses != edge.use->chooses || component_[used(use)] == component_[edge.to])
          return false;
        return use.memory ? places.count(use.place_id) != 0 : bool{induction_[used(use)]};
      });
      found = found || edge.closed;
    }
    return found;
  }

  /// Finds cycles that keep a value or take another one, by a comparison with it: if (v > top) top = v.
  void find_decided() {
    decided_.assign(components_, Decided::No);
    for (const auto& decision : decisions_) {
      const auto component = component_[decision.from];
      if (!decision.compares || !cyclic(component)) continue;
      const auto by = is_memory(decision.from) ? Decided::ByMemory : Decided::ByValue;
      for (auto i = start_[decision.to]; i < start_[decision.to + 1]; ++i)
        if (component_[edges_[i].to] == component) decided_[component] = std::max(decided_[component], by);
    }
  }

  /// An iteration takes nothing from memory of which it reads and writes only places of its own. Returns whether there
  /// is such memory.
  bool release_own_places() {
    bool found = false;
    for (const auto value : carried_) {
      if (!is_memory(value) || !cyclic(component_[value]) || carries_memory(value)) continue;
      is_carried_[value] = false;
      found = true;
    }
    for (auto& edge : edges_)
      if (edge.fact == k_no_fact && is_head(edge.to) && !is_carried_[edge.to]) edge.closed = true;
    return found;
  }

  /// Strongly connected components, without recursion (Tarjan).
  void find_components() {
    const auto count = static_cast<std::uint32_t>(ids_.size());
    constexpr std::uint32_t k_none = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> index(count, k_none);
    std::vector<std::uint32_t> low(count, 0);
    std::vector<std::uint32_t> next(start_.begin(), start_.end() - 1);
    std::vector<std::uint32_t> stack;
    std::vector<std::uint32_t> path;
    std::uint32_t counter = 0;
    component_.assign(count, k_none);
    components_ = 0;
    for (std::uint32_t begin = 0; begin < count; ++begin) {
      if (index[begin] != k_none) continue;
      path.push_back(begin);
      while (!path.empty()) {
        const auto at = path.back();
        if (index[at] == k_none) {
          index[at] = low[at] = counter++;
          stack.push_back(at);
        }
        if (next[at] < start_[at + 1]) {
          const auto& edge = edges_[next[at]++];
          const auto to = edge.to;
          if (edge.closed) continue;  // the place of a write does not affect its value
          if (index[to] == k_none)
            path.push_back(to);
          else if (component_[to] == k_none)
            low[at] = std::min(low[at], index[to]);
          continue;
        }
        path.pop_back();
        if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[at]);
        if (low[at] != index[at]) continue;
        for (std::uint32_t member = k_none; member != at;) {
          member = stack.back();
          stack.pop_back();
          component_[member] = components_;
        }
        ++components_;
      }
    }
    members_.assign(components_, {});
    for (std::uint32_t i = 0; i < count; ++i) members_[component_[i]].push_back(i);
    incoming_.assign(components_, {});
    for (std::uint32_t i = 0; i < edges_.size(); ++i) incoming_[component_[edges_[i].to]].push_back(i);
  }

  std::vector<bool> reachable(std::vector<std::uint32_t> queue, bool through_addresses) const {
    std::sort(queue.begin(), queue.end());
    queue.erase(std::unique(queue.begin(), queue.end()), queue.end());
    std::vector<bool> reached(ids_.size(), false);
    for (const auto at : queue) reached[at] = true;
    while (!queue.empty()) {
      const auto at = queue.back();
      queue.pop_back();
      for (auto i = start_[at]; i < start_[at + 1]; ++i) {
        const auto& edge = edges_[i];
        if (reached[edge.to] || edge.closed || (edge.use->address && !through_addresses)) continue;
        if (edge.partial && through_addresses) continue;  // an object does not move with one of its members
        reached[edge.to] = true;
        queue.push_back(edge.to);
      }
    }
    return reached;
  }

  /// Finds values that depend on something read from memory.
  void find_data() {
    std::vector<std::uint32_t> roots;
    for (const auto& edge : edges_)
      if (edge.use->memory) roots.push_back(edge.from);
    data_ = reachable(std::move(roots), false);
  }

  [[nodiscard]] bool cyclic(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(),
                       [&](std::uint32_t i) { return component_[edges_[i].from] == component && !edges_[i].closed; });
  }

  /// The edges of a cycle by which a statement makes one value of another.
  template <class Wanted>
  [[nodiscard]] bool any_inside(std::uint32_t component, Wanted wanted) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      return edge.fact != k_no_fact && component_[edge.from] == component && !edge.closed && wanted(edge);
    });
  }

  /// Whether a cycle does more than keep a value or pass it on, as a window of the last inputs does.
  [[nodiscard]] bool computes(std::uint32_t component) const {
    return any_inside(component, [](const Edge& edge) {
      const auto& use = *edge.use;
      return use.kind != DependenceKind::Additive || use.added || use.extremum || use.launched;
    });
  }
  [[nodiscard]] bool updates(std::uint32_t component) const {
    return decided_[component] == Decided::ByValue || computes(component);
  }

  [[nodiscard]] bool launches(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(),
                       [&](std::uint32_t i) { return edges_[i].use->launched; });
  }

  /// Whether other places of its own memory come into a cycle.
  [[nodiscard]] bool mixes_places_of(std::uint32_t component) const {
    return std::any_of(members_[component].begin(), members_[component].end(),
                       [&](std::uint32_t value) { return is_carried_[value] && mixes_places(value); });
  }

  [[nodiscard]] bool fed_by_data(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      return component_[edge.from] != component && !edge.use->address && (edge.use->memory || data_[edge.from]);
    });
  }

  [[nodiscard]] bool is_memory(std::uint32_t value) const { return ids_[value] >= flow_.count_; }

  /// The loop's own variables. One that is a member of an object may have no value in the iteration.
  [[nodiscard]] std::vector<std::uint32_t> variables() const {
    std::vector<std::uint32_t> found;
    for (auto i = first_; i < end_ && flow_.facts_[i].node == loop_; ++i) {
      const auto number = flow_.numbers_[flow_.node_of(flow_.facts_[i].target, false)];
      if (!flow_.facts_[i].memory && number != FunctionFlow::k_no_number) found.push_back(number);
    }
    return found;
  }

  /// Finds the values that distinguish iterations: the loop's own variables, and counters.
  void find_induction() {
    auto roots = variables();
    for (std::uint32_t component = 0; component < components_; ++component) {
      if (!updates(component) || fed_by_data(component) || launches(component)) continue;
      for (const auto value : members_[component])
        if (!is_memory(value) && is_carried_[value]) roots.push_back(value);
    }
    induction_ = reachable(std::move(roots), true);
  }

  /// The places that a fact reads and that one of `values` chooses.
  [[nodiscard]] std::unordered_set<std::uint32_t> places_by(const std::vector<bool>& values, const Fact& fact) const {
    std::unordered_set<std::uint32_t> places;
    for (const auto& use : fact.uses)  // what chooses an index comes before it
      if (use.address && (use.memory ? places.count(use.place_id) != 0 : bool{values[used(use)]}))
        places.insert(use.chooses);
    return places;
  }
  [[nodiscard]] std::unordered_set<std::uint32_t> varying_places(const Fact& fact) const {
    return places_by(induction_, fact);
  }

  [[nodiscard]] bool chosen_by_iteration(const Fact& fact) const {
    if (!fact.memory) return false;
    // On the host, what a kernel writes is the tensor itself.
    const auto chooses = [&](Value value) { return induction_[value] && component_[value] != component_[made(fact)]; };
    return chooses(pointer_of(fact)) || std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
             return use.of_target && use.address && !use.memory && chooses(used(use));
           });
  }

  /// The head of a piece of memory is carried unless every iteration has places of its own, and reads only those that
  /// it writes. Where the threads share the iterations and do not wait for each other, only a place at a constant
  /// distance counts as one of another iteration.
  [[nodiscard]] bool carries_memory(std::uint32_t value) const {
    const auto& places = places_[value];
    std::vector<std::uint64_t> written;
    for (const auto index : places.writers) {
      written.push_back(flow_.facts_[index].location_hash);
      if (!chosen_by_iteration(flow_.facts_[index])) return true;
    }
    std::sort(written.begin(), written.end());
    // A read for another value takes nothing from one iteration to the next.
    const bool own = std::all_of(places.reads.begin(), places.reads.end(), [&](const Read& read) {
      const auto is_written = [&](std::uint64_t place) {
        return std::binary_search(written.begin(), written.end(), place);
      };
      return component_[read.by] != component_[value] || is_written(read.use->location_hash) ||
             (comes_later(*read.use) && is_written(read.use->base_hash)) ||
             (shares_iterations_ && !is_written(read.use->base_hash));
    });
    return !own;
  }

  /// Whether an iteration reads some memory elsewhere than it writes it.
  [[nodiscard]] bool mixes_places(std::uint32_t value) const {
    return is_memory(value) && !shares_iterations_ && carries_memory(value) && !reads_where_written(value);
  }

  /// Whether p[i + n] is the place of a later iteration, that has written nothing so far.
  [[nodiscard]] bool comes_later(const Use& use) const { return use.offset != 0 && use.offset == order_; }

  void find_order() {
    const auto& node = flow_.function_.nodes[loop_];
    const auto& tokens = *flow_.function_.tokens;
    for (Position at = node.tokens.begin; at < node.tokens.end; ++at) {
      if (tokens.is(at, "++") || tokens.is(at, "+=")) order_ = 1;
      if (tokens.is(at, "--") || tokens.is(at, "-=")) order_ = -1;
    }
    for (auto i = first_; i < end_ && flow_.facts_[i].node == loop_; ++i)
      shares_iterations_ = shares_iterations_ || flow_.divergence_mask_[flow_.facts_[i].target] != 0;
    for (auto i = begin_; i < last_; ++i) shares_iterations_ = shares_iterations_ && !flow_.barriers_[i];
  }

  /// Whether all reads of some memory are at the places of its writes: all at one, or each statement at its own.
  [[nodiscard]] bool reads_where_written(std::uint32_t value) const {
    const auto& places = places_[value];
    if (places.writers.empty()) return false;
    const auto place_of = [&](std::uint32_t fact) { return flow_.facts_[fact].location_hash; };
    const auto first = place_of(places.writers.front());
    bool is_one = true;
    std::unordered_map<Value, std::uint64_t> written;  // by what a statement makes
    for (const auto i : places.writers) {
      is_one = is_one && place_of(i) == first;
      written.emplace(made(flow_.facts_[i]), place_of(i));
    }
    return std::all_of(places.reads.begin(), places.reads.end(), [&](const Read& read) {
      if (is_one) return read.use->location_hash == first;
      const auto writer = written.find(read.by);
      return writer != written.end() && writer->second == read.use->location_hash;
    });
  }

  /// Finds the readers and writers of each piece of memory, by its head.
  void find_places() {
    places_.resize(ids_.size());
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      for (const auto& use : fact.uses)
        if (use.memory) places_[head(used(use))].reads.push_back({made(fact), &use});
      if (fact.memory) places_[head(made(fact))].writers.push_back(i);
    }
  }

  int order_ = 0;                   ///< 1 or -1: the loop counts up or down
  bool shares_iterations_ = false;  ///< the threads share the iterations
  /// Elements of memory that are exchanged in some iterations are sorted, not updated.
  enum class Decided : std::uint8_t { No, ByMemory, ByValue };
  std::vector<Decided> decided_;  ///< by component
  std::vector<bool> is_carried_;  ///< by value: a head that the iteration before sets
  std::vector<std::uint32_t> component_;
  std::uint32_t components_ = 0;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<std::uint32_t>> incoming_;
  std::vector<bool> data_;
  struct Read {
    Value by = 0;
    const Use* use = nullptr;
  };
  struct Places {
    std::vector<Read> reads;
    std::vector<std::uint32_t> writers;  ///< facts
  };
  std::vector<Places> places_;
  std::vector<bool> induction_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
