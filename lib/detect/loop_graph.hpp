#pragma once

/// \file
/// The values of a loop and their dependencies.

#include <algorithm>
#include <limits>
#include <unordered_map>
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
    find_components();
    find_data();
    find_induction();
    find_places();
    if (!release_own_places()) return;
    find_components();
    find_data();
    find_induction();
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
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      return component_[edges_[i].from] == component && !edges_[i].closed;
    });
  }

  /// Whether a cycle does more than keep a value, as one that is set in some iterations.
  [[nodiscard]] bool updates(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      return edges_[i].fact != k_no_fact && component_[edges_[i].from] == component &&
             !edges_[i].closed;
    });
  }

  [[nodiscard]] bool launches(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(),
                       [&](std::uint32_t i) { return edges_[i].use->launched; });
  }

  [[nodiscard]] bool fed_by_data(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      return component_[edge.from] != component && !edge.use->address && (edge.use->memory || data_[edge.from]);
    });
  }

  [[nodiscard]] bool is_memory(std::uint32_t value) const { return ids_[value] >= flow_.count_; }

  /// The loop's own variables.
  [[nodiscard]] std::vector<std::uint32_t> variables() const {
    std::vector<std::uint32_t> found;
    for (auto i = first_; i < end_ && flow_.facts_[i].node == loop_; ++i)
      if (!flow_.facts_[i].memory) found.push_back(flow_.numbers_[flow_.node_of(flow_.facts_[i].target, false)]);
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

  [[nodiscard]] bool chosen_by_iteration(const Fact& fact) const {
    if (!fact.memory) return false;
    if (induction_[pointer_of(fact)]) return true;
    return std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
      return use.of_target && use.address && !use.memory && induction_[used(use)];
    });
  }

  /// The head of a piece of memory is carried unless every iteration has places of its own, and reads only those that
  /// it writes.
  [[nodiscard]] bool carries_memory(std::uint32_t value) const {
    const auto& places = places_[value];
    std::vector<std::uint64_t> written;
    for (const auto index : places.writers) {
      written.push_back(flow_.facts_[index].location_hash);
      if (!chosen_by_iteration(flow_.facts_[index])) return true;
    }
    std::sort(written.begin(), written.end());
    // A read for another value takes nothing from one iteration to the next.
    const bool own = std::all_of(places.reads.begin(), places.reads.end(), [&](const auto& read) {
      return component_[read.first] != component_[value] ||
             std::binary_search(written.begin(), written.end(), read.second);
    });
    return !own;
  }

  /// Finds the readers and writers of each piece of memory, by its head.
  void find_places() {
    places_.resize(ids_.size());
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      for (const auto& use : fact.uses)
        if (use.memory) places_[head(used(use))].reads.emplace_back(made(fact), use.location_hash);
      if (fact.memory) places_[head(made(fact))].writers.push_back(i);
    }
  }

  std::vector<bool> is_carried_;  ///< by value: a head that the iteration before sets
  std::vector<std::uint32_t> component_;
  std::uint32_t components_ = 0;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::vector<std::uint32_t>> incoming_;
  std::vector<bool> data_;
  struct Places {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> reads;  // the reading value, and the place
    std::vector<std::uint32_t> writers;                          // facts
  };
  std::vector<Places> places_;
  std::vector<bool> induction_;
};

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
