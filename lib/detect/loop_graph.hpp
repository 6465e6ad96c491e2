#pragma once

/// \file
/// The values of a loop and their dependencies.

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "detect/function_flow.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// The values of one loop as a graph: an edge from each value to those that depend on it.
class LoopGraph {
 public:
  LoopGraph(const FunctionFlow& flow, std::uint32_t loop)
      : flow_(flow), loop_(loop), last_(flow.function_.nodes[loop].last) {}
  ~LoopGraph() {
    for (const auto id : ids_) flow_.numbers_[id] = FunctionFlow::k_no_number;
  }
  LoopGraph(const LoopGraph&) = delete;
  LoopGraph& operator=(const LoopGraph&) = delete;

 protected:
  using Edge = FunctionFlow::Edge;

  [[nodiscard]] bool inside(const Fact& fact) const { return fact.node > loop_ && fact.node < last_; }

  void collect() {
    const auto& facts = flow_.facts_;
    const auto by_node = [](const Fact& fact, std::uint32_t node) { return fact.node < node; };
    first_ = static_cast<std::uint32_t>(std::lower_bound(facts.begin(), facts.end(), loop_, by_node) - facts.begin());
    end_ = static_cast<std::uint32_t>(std::lower_bound(facts.begin(), facts.end(), last_, by_node) - facts.begin());
    regions_ = flow_.regions_in(loop_, first_, end_);
    for (auto i = first_; i < end_; ++i)
      if (inside(facts[i])) flow_.add_edges(i, regions_, edges_, decisions_);
  }

  /// Numbers the values of the loop, so that the work is linear in the loop and not in the program.
  void compact() {
    const auto add_value = [&](NameId id) {
      if (flow_.numbers_[id] == FunctionFlow::k_no_number) ids_.push_back(id);
      flow_.numbers_[id] = 0;
    };
    for (const auto& edge : edges_) {
      add_value(edge.from);
      add_value(edge.to);
    }
    for (const auto& [from, to] : decisions_) {
      add_value(from);
      add_value(to);
    }
    for (auto i = first_; i < end_; ++i) {
      add_value(node_of(flow_.facts_[i]));
      for (const auto& use : flow_.facts_[i].uses)
        if (use.is_select_condition) add_value(node_of(use));  // has no edge, and may have no decision
    }
    std::sort(ids_.begin(), ids_.end());
    for (NameId i = 0; i < ids_.size(); ++i) flow_.numbers_[ids_[i]] = i;
    for (auto& [from, to] : decisions_) {
      from = local(from);
      to = local(to);
    }
    sort_edges();
    find_carried();
  }

  /// Sorts edges by their source, stably.
  void sort_edges() {
    start_.assign(ids_.size() + 1, 0);
    for (auto& edge : edges_) {
      edge.from = local(edge.from);
      edge.to = local(edge.to);
      ++start_[edge.from + 1];
    }
    for (std::size_t i = 1; i < start_.size(); ++i) start_[i] += start_[i - 1];
    std::vector<Edge> sorted(edges_.size());
    auto next = start_;
    for (const auto& edge : edges_) sorted[next[edge.from]++] = edge;
    edges_ = std::move(sorted);
  }

  /// The loop's number for a value.
  [[nodiscard]] NameId local(NameId id) const { return flow_.numbers_[id]; }
  [[nodiscard]] bool occurs(NameId id) const { return flow_.numbers_[id] != FunctionFlow::k_no_number; }

  /// Finds the values that an iteration may take from the previous one. A write through one pointer says nothing about
  /// its aliases, so definitions count by the name in the text.
  void find_carried() {
    exposed_.assign(ids_.size(), false);
    assigned_.assign(ids_.size(), false);
    std::unordered_map<NameId, std::uint32_t> defined_until;
    const auto memory_name = [&](NameId name) {
      return flow_.side_ == Side::Host ? name : name + static_cast<NameId>(flow_.count_);
    };
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      for (const auto& use : fact.uses) {
        if (use.is_select_condition) continue;
        const auto defined = defined_until.find(use.memory ? memory_name(use.name) : use.name);
        if (defined != defined_until.end() && fact.node < defined->second) continue;
        exposed_[local(node_of(use))] = true;
      }
      assigned_[local(node_of(fact))] = true;
      const auto until = conditional(fact) ? flow_.branch_end_[fact.node] : last_;
      auto& defined = defined_until[fact.memory ? memory_name(fact.target) : fact.target];
      const bool partial = fact.partial && flow_.side_ == Side::Host;
      if (!fact.swaps && !fact.appends && !partial) defined = std::max(defined, until);
      if (fact.declares && !flow_.aliased_[fact.target]) defined_until[memory_name(fact.target)] = last_;
    }
  }

  /// Whether the fact depends on a branch inside the loop.
  [[nodiscard]] bool conditional(const Fact& fact) const {
    return flow_.branch_begin_[fact.node] > loop_ && flow_.branch_end_[fact.node] <= last_;
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
          if (edge.of_target) continue;  // the place of a write does not affect its value
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
    members_.resize(components_);
    for (std::uint32_t i = 0; i < count; ++i) members_[component_[i]].push_back(i);
    incoming_.resize(components_);
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
        if (reached[edge.to] || edge.of_target || (edge.address && !through_addresses)) continue;
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
      if (edge.from_memory) roots.push_back(edge.from);
    data_ = reachable(std::move(roots), false);
  }

  [[nodiscard]] bool cyclic(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      return component_[edges_[i].from] == component && !edges_[i].of_target;
    });
  }

  [[nodiscard]] bool launches(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(),
                       [&](std::uint32_t i) { return edges_[i].launched; });
  }

  [[nodiscard]] bool fed_by_data(std::uint32_t component) const {
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      return component_[edge.from] != component && !edge.address && (edge.from_memory || data_[edge.from]);
    });
  }

  [[nodiscard]] bool is_memory(std::uint32_t value) const { return ids_[value] >= flow_.count_; }

  /// Finds the values that distinguish iterations: the loop's own variables, and counters.
  void find_induction() {
    std::vector<std::uint32_t> roots;
    const auto add = [&](NameId name) {
      if (occurs(name)) roots.push_back(local(name));
    };
    for (auto i = first_; i < end_; ++i)
      if (flow_.facts_[i].node == loop_) add(node_of(flow_.facts_[i].target, false));
    for (std::uint32_t component = 0; component < components_; ++component) {
      if (!cyclic(component) || fed_by_data(component) || launches(component)) continue;
      for (const auto value : members_[component])
        if (!is_memory(value) && assigned_[value] && exposed_[value]) roots.push_back(value);
    }
    induction_ = reachable(std::move(roots), true);
  }

  [[nodiscard]] bool chosen_by_iteration(const Fact& fact) const {
    if (!fact.memory) return false;
    const auto pointer = node_of(fact.target, false);
    if (occurs(pointer) && induction_[local(pointer)]) return true;
    return std::any_of(fact.uses.begin(), fact.uses.end(), [&](const Use& use) {
      return use.of_target && use.address && !use.memory && induction_[local(node_of(use.name, false))];
    });
  }

  /// Memory is carried unless every iteration has places of its own, and reads only those that it writes.
  [[nodiscard]] bool carries_memory(std::uint32_t value) const {
    if (!exposed_[value] || !assigned_[value]) return false;
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

  /// Finds the readers and writers of each piece of memory.
  void find_places() {
    places_.resize(ids_.size());
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      const auto target = local(node_of(fact));
      for (const auto& use : fact.uses)
        if (use.memory) places_[local(memory_of(use.name))].reads.emplace_back(target, use.location_hash);
      if (fact.memory) places_[target].writers.push_back(i);
    }
  }

  [[nodiscard]] NameId memory_of(NameId name) const { return flow_.memory_of(name, regions_); }
  [[nodiscard]] NameId node_of(NameId name, bool memory) const {
    return memory ? memory_of(name) : flow_.node_of(name, false);
  }
  [[nodiscard]] NameId node_of(const Use& use) const { return node_of(use.name, use.memory); }
  [[nodiscard]] NameId node_of(const Fact& fact) const { return node_of(fact.target, fact.memory); }

  const FunctionFlow& flow_;
  Regions regions_;
  std::uint32_t loop_;
  std::uint32_t last_;
  std::uint32_t first_ = 0;
  std::uint32_t end_ = 0;
  std::vector<Edge> edges_;
  /// From the value that decides to the value that is chosen.
  std::vector<std::pair<NameId, NameId>> decisions_;
  std::vector<NameId> ids_;
  std::vector<std::uint32_t> start_;
  std::vector<bool> exposed_;
  std::vector<bool> assigned_;
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
