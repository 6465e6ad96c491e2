#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "detect/loop_graph.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Analyses the values that a loop carries.
class LoopFlow : private LoopGraph {
 public:
  using LoopGraph::LoopGraph;

  std::optional<CarriedState> run() {
    read();
    if (edges_.empty()) return std::nullopt;
    // A real loop carries a few values; a hostile text with more is cut off.
    int candidates = 64;
    std::optional<CarriedState> found;
    for (std::uint32_t component = 0; component < components_ && candidates > 0; ++component) {
      if (!updates(component) || !(fed_by_data(component) || mixes_places_of(component) || feeds_itself(component)))
        continue;
      --candidates;
      auto state = judge(component);
      if (state && (!found || state->kind > found->kind)) found = state;
    }
    return found;
  }

  /// Whether a kernel's result goes, directly or through others, into the same kernel of the next iteration.
  bool carries_launches() {
    read();
    if (edges_.empty()) return false;
    for (std::uint32_t component = 0; component < components_; ++component) {
      const bool carried = std::any_of(members_[component].begin(), members_[component].end(),
                                       [&](std::uint32_t value) { return bool{is_carried_[value]}; });
      if (!carried) continue;
      for (const auto i : incoming_[component]) {
        const auto& edge = edges_[i];
        if (component_[edge.from] != component || !edge.use->launched || edge.use->address) continue;
        const auto& fact = flow_.facts_[edge.fact];
        const bool own = edge.use->location_hash != 0 && edge.use->location_hash == fact.location_hash;
        if (!own || !chosen_by_iteration(fact)) return true;
      }
    }
    return false;
  }

 private:
  std::optional<CarriedState> judge(std::uint32_t component) {
    CarriedState state;
    state.loop = loop_;
    bool carried = false;
    for (const auto value : members_[component]) {
      if (!is_carried_[value]) continue;
      // For a state that is also in memory, the name of its value in registers is better.
      if (!carried || (state.in_memory && !is_memory(value))) state.name = name_of(value);
      state.in_memory = state.in_memory || is_memory(value);
      carried = true;
    }
    if (!carried) return std::nullopt;
    state.kind = kind_of(component);
    const bool closed = !fed_by_data(component) && !mixes_places_of(component);
    // Data decide which half goes on, and nothing else comes in: a bisection.
    if (closed && !state.in_memory && is_chosen_by_data(component)) return std::nullopt;
    if (closed || (state.kind == DependenceKind::Scaled && contracts(component)))
      state.kind = DependenceKind::Arbitrary;
    if (!written_each_step(component, state.kind)) {
      const bool recurs = state.kind == DependenceKind::Arbitrary
                              ? !passes_layers(component)
                              : state.kind == DependenceKind::Scaled && (decays(component) || weights(component));
      if (!recurs || is_index(component)) return std::nullopt;
    }
    describe(component, state);
    return state;
  }

  /// Whether data outside of a cycle decide which of its values goes on.
  [[nodiscard]] bool is_chosen_by_data(std::uint32_t component) const {
    return std::any_of(decisions_.begin(), decisions_.end(), [&](const Decision& decision) {
      const bool is_data = is_memory(decision.from) || data_[decision.from];
      return component_[decision.to] == component && component_[decision.from] != component && is_data;
    });
  }

  [[nodiscard]] NameId name_of(std::uint32_t value) const {
    if (!is_memory(value)) return ids_[value];
    // The name by which the source reads it, or writes it, not the root of its aliases.
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact) || component_[made(fact)] != component_[value]) continue;
      for (const auto& use : fact.uses)
        if (use.memory && !use.address && component_[used(use)] == component_[value] && head(used(use)) == value)
          return use.name;
      if (fact.memory && head(made(fact)) == value) return fact.target;
    }
    return ids_[value] - static_cast<NameId>(flow_.count_);
  }

  [[nodiscard]] DependenceKind kind_of(std::uint32_t component) const {
    DependenceKind kind = DependenceKind::Additive;
    (void)any_inside(component, [&](const Edge& edge) {
      kind = std::max(kind, edge.use->kind);
      return false;
    });
    return multiplies_itself(component) || chooses_among_sums(component) || adds_to_logarithm(component)
               ? DependenceKind::Arbitrary
               : kind;
  }

  /// A product of the state with itself is not linear.
  [[nodiscard]] bool multiplies_itself(std::uint32_t component) const {
    std::unordered_map<std::uint64_t, std::uint32_t> products;
    return any_inside(component, [&](const Edge& edge) {
      if (edge.use->product_id == 0) return false;
      const auto [known, added] = products.try_emplace(product(edge.fact, edge.use->product_id), edge.use->factor_id);
      return !added && known->second != edge.use->factor_id;
    });
  }

  /// Sums of the state and of something else, of which the greatest goes on: dynamic programming.
  [[nodiscard]] bool chooses_among_sums(std::uint32_t component) const {
    const bool chooses = decided_[component] != Decided::No ||
                         any_inside(component, [](const Edge& edge) { return edge.use->extremum; });
    return chooses && any_inside(component, [&](const Edge& edge) {
             if (!edge.use->added || edge.use->kind != DependenceKind::Additive) return false;
             const auto& uses = flow_.facts_[edge.fact].uses;
             return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
               return use.id != edge.use->id && use.added && !use.address && !use.is_select_condition &&
                      use.kind <= DependenceKind::Scaled;
             });
           });
  }

  /// Something is added to the state before an exponential, as in log(exp(h + x) + exp(y)): dynamic programming with
  /// logarithms. A sum of exponentials subtracts: exp(h - max(h, y)).
  [[nodiscard]] bool adds_to_logarithm(std::uint32_t component) const {
    std::unordered_set<std::uint64_t> added_to;  // sums with something else
    for (const auto i : incoming_[component]) {
      const auto& edge = edges_[i];
      if (component_[edge.from] != component && edge.use->sum_id != 0 && !edge.use->address)
        added_to.insert(product(edge.fact, edge.use->sum_id));
    }
    return !added_to.empty() && any_inside(component, [&](const Edge& edge) {
      return edge.use->kind == DependenceKind::Exponent && added_to.count(product(edge.fact, edge.use->sum_id)) != 0;
    });
  }

  /// Whether a value goes on changing without data: by a function that is not linear, a product with itself, or as in
  /// s = 69069 s + 1 and s ^= s << 13, the generators of random numbers.
  [[nodiscard]] bool feeds_itself(std::uint32_t component) const {
    if (flow_.side_ == Side::Host) return false;
    struct Ways {
      int count = 0;
      bool shifts = false;
      bool scales = false;
    };
    std::unordered_map<std::uint32_t, Ways> by_fact;
    const bool curved = any_inside(component, [&](const Edge& edge) {
      const auto& use = *edge.use;
      if (use.address) return false;
      auto& ways = by_fact[edge.fact];
      ++ways.count;
      ways.shifts = ways.shifts || (use.kind == DependenceKind::Arbitrary && use.added && use.product_id == 0);
      ways.scales = ways.scales || (use.kind == DependenceKind::Scaled && use.added);
      return use.curved && use.kind == DependenceKind::Arbitrary;
    });
    return curved || multiplies_itself(component) || adds_to_logarithm(component) ||
           std::any_of(by_fact.begin(), by_fact.end(), [&](const auto& fact) {
             return fact.second.count > 1 ? fact.second.shifts
                                          : fact.second.scales && decided_[component] == Decided::No;
           });
  }

  /// Whether elements are made of products of other elements, as in h = W h: more than a sum that is rescaled in place.
  [[nodiscard]] bool contracts(std::uint32_t component) const {
    std::unordered_map<std::uint32_t, bool> known;
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      if (edge.use->kind != DependenceKind::Scaled || !is_memory(edge.from) || component_[edge.from] != component)
        return false;
      const auto memory = head(edge.from);
      const auto [entry, added] = known.try_emplace(memory, false);
      if (added) entry->second = is_carried_[memory] && mixes_places(memory);
      return entry->second;
    });
  }

  /// A sum is a scan, not a reduction, when each step stores its value at a place of its own.
  [[nodiscard]] bool written_each_step(std::uint32_t component, DependenceKind kind) const {
    std::uint32_t update = 0;
    (void)any_inside(component, [&](const Edge& edge) {
      update = std::max(update, flow_.facts_[edge.fact].node);
      return false;
    });
    auto seen = reachable(members_[component], false);
    if (computes(component)) follow_decisions(seen);
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact) || !fact.memory || !chosen_by_iteration(fact)) continue;
      // Two halves of one buffer are the state itself; nothing stays in them.
      if (fact.alternates && component_[made(fact)] == component) continue;
      const auto branch = flow_.branch_begin_[fact.node];
      if (conditional(fact) && !(update > branch && update < flow_.branch_end_[fact.node]) &&
          chooses_iterations(branch) && !chooses_threads(branch) &&
          !(kind == DependenceKind::Arbitrary && is_periodic(branch)))
        continue;
      const bool value = std::any_of(fact.uses.begin(), fact.uses.end(),
                                     [&](const Use& use) { return !use.address && seen[used(use)]; });
      if (value) return true;
    }
    return false;
  }

  /// Whether a branch asks for every n-th iteration. A sum may end there, and another begin.
  [[nodiscard]] bool is_periodic(std::uint32_t branch) const {
    const auto range = flow_.function_.nodes[branch].tokens;
    for (Position at = range.begin; at < range.end; ++at)
      if (flow_.function_.tokens->is(at, "%")) return true;
    return false;
  }

  /// Whether a branch asks nothing of the iteration but what differs between threads: some thread is let in.
  [[nodiscard]] bool chooses_threads(std::uint32_t branch) const {
    constexpr std::uint32_t k_thread = 1U << 31;
    const auto& names = flow_.conditions_[branch];
    const auto is_variable = [&](NameId name) {  // the loop's own facts come first
      auto i = first_;
      while (i < end_ && flow_.facts_[i].node == loop_ && flow_.facts_[i].target != name) ++i;
      return i < end_ && flow_.facts_[i].node == loop_;
    };
    return !names.empty() && std::none_of(names.begin(), names.end(), [&](const auto& asked) {
      const bool differs = (flow_.divergence_mask_[asked.name] & k_thread) != 0;
      return (set_.count(asked.name) != 0 && !differs) || is_variable(asked.name);
    });
  }

  /// A value that a value of the loop decides belongs to it: y = h > 1 ? 1 : 0.
  void follow_decisions(std::vector<bool>& seen) const {
    // Two decisions in a row are enough; the work stays linear.
    for (int hop = 0; hop < 2; ++hop) {
      std::vector<std::uint32_t> queue;
      for (const auto& decision : decisions_)
        if (seen[decision.from] && !seen[decision.to]) queue.push_back(decision.to);
      if (queue.empty()) return;
      const auto more = reachable(std::move(queue), false);
      for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = seen[i] || more[i];
    }
  }

  /// Values that depend on carried ones, or that count: with such a factor, a reduction is rescaled.
  [[nodiscard]] std::vector<bool> running() const {
    auto roots = variables();
    for (std::uint32_t component = 0; component < components_; ++component) {
      if (!cyclic(component)) continue;
      for (const auto value : members_[component])
        if (is_carried_[value]) roots.push_back(value);
    }
    return reachable(std::move(roots), false);
  }

  /// Up to two different factors of a product: enough to find one that differs from a given one.
  struct Factors {
    std::uint32_t first = 0;
    std::uint32_t second = 0;
    void add(std::uint32_t factor) {
      if (first == 0 || first == factor)
        first = factor;
      else
        second = factor;
    }
    [[nodiscard]] bool has_other_than(std::uint32_t factor) const {
      return (first != 0 && first != factor) || (second != 0 && second != factor);
    }
  };
  using Products = std::unordered_map<std::uint64_t, Factors>;
  static std::uint64_t product(std::uint32_t fact, std::uint32_t term) { return (std::uint64_t{fact} << 32) | term; }

  /// The factors that `wanted` accepts, by product.
  template <class Wanted>
  [[nodiscard]] Products products_of(std::uint32_t component, Wanted wanted) const {
    Products products;
    std::uint32_t seen = std::numeric_limits<std::uint32_t>::max();
    for (const auto i : incoming_[component]) {
      const auto index = edges_[i].fact;
      if (index == seen || index == k_no_fact) continue;
      seen = index;
      const auto& fact = flow_.facts_[index];
      const auto varying = varying_places(fact);
      for (const auto& use : fact.uses)
        if (use.product_id != 0 && !use.address && !use.is_select_condition && wanted(use, varying))
          products[product(index, use.product_id)].add(use.factor_id);
    }
    return products;
  }

  /// Whether a factor of the state is data or a constant, and not made of what the loop carries or counts.
  [[nodiscard]] bool is_scaled(std::uint32_t component) const {
    const auto run = running();
    const auto rescaled = products_of(component, [&](const Use& use, const auto&) { return run[used(use)]; });
    bool scaled = false;
    const bool unknown = any_inside(component, [&](const Edge& edge) {
      if (edge.use->kind != DependenceKind::Scaled) return false;
      const auto factors = rescaled.find(product(edge.fact, edge.use->product_id));
      // One of several updates may be a rescaling; another one that is none makes the state decay.
      scaled = scaled || factors == rescaled.end() || !factors->second.has_other_than(edge.use->factor_id);
      return edge.use->product_id == 0;
    });
    return scaled && !unknown;
  }

  /// A running product of data that weights, in each iteration, what goes into a sum: the light that is left.
  [[nodiscard]] bool weights(std::uint32_t component) const {
    if (!is_scaled(component) || !has_varying_factor(component) || is_divided(component)) return false;
    const auto reached = reachable(members_[component], false);
    return std::any_of(edges_.begin(), edges_.end(), [&](const Edge& edge) {
      const auto to = component_[edge.to];
      return reached[edge.from] && to != component && !edge.closed && !edge.use->address && edge.fact != k_no_fact &&
             edge.use->added && component_[edge.from] != to && cyclic(to) && !is_index(to);
    });
  }

  /// Whether data divide the state: of i /= size[d], what is left over are digits.
  [[nodiscard]] bool is_divided(std::uint32_t component) const {
    return any_inside(component, [&](const Edge& edge) {
      const auto& uses = flow_.facts_[edge.fact].uses;
      return edge.use->product_id != 0 && std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
               return use.divides && use.product_id == edge.use->product_id && component_[used(use)] != component;
             });
    });
  }

  /// Whether a register only chooses places in memory: offset = offset * size[d] + at[d].
  [[nodiscard]] bool is_index(std::uint32_t component) const {
    return std::all_of(members_[component].begin(), members_[component].end(), [&](std::uint32_t value) {
      return !is_carried_[value] || (!is_memory(value) && flow_.is_index(ids_[value]));
    });
  }

  /// h = a * h + b, with data or a constant for a: an average or a filter over time, even if only its end is used.
  [[nodiscard]] bool decays(std::uint32_t component) const {
    if (!is_scaled(component)) return false;
    std::unordered_map<std::uint64_t, std::uint32_t> own;  // products of the state, and which factor it is
    (void)any_inside(component, [&](const Edge& edge) {
      if (edge.use->product_id != 0) own.emplace(product(edge.fact, edge.use->product_id), edge.use->factor_id);
      return false;
    });
    // A constant factor may belong to a polynomial: then the data must be weighted, as for an average.
    const bool gated = has_varying_factor(component);
    // g * (1 - h) adds g.
    if (gated && any_inside(component, [](const Edge& edge) { return edge.use->beside_constant; })) return true;
    // The data must be added, not only multiplied: p = p * x is a product.
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      if (component_[edge.from] == component || edge.use->address || edge.fact == k_no_fact) return false;
      if (!edge.use->memory && !data_[edge.from]) return false;
      if (edge.use->product_id == 0) return gated;
      const auto with_state = own.find(product(edge.fact, edge.use->product_id));
      return with_state == own.end() || with_state->second == edge.use->factor_id;  // g * (x - h) adds g * x
    });
  }

  /// Whether a value depends on the iteration: an element by its place, or by a pointer that moves.
  [[nodiscard]] bool varies(const Use& use, const std::unordered_set<std::uint32_t>& places) const {
    return use.memory ? places.count(use.place_id) != 0 || induction_[pointer_of(use)] : bool{induction_[used(use)]};
  }

  /// Whether a product of the state has a factor that depends on the iteration.
  [[nodiscard]] bool has_varying_factor(std::uint32_t component) const {
    const auto factors = products_of(component, [&](const Use& use, const auto& groups) {
      return component_[used(use)] != component && varies(use, groups);
    });
    return std::any_of(incoming_[component].begin(), incoming_[component].end(), [&](std::uint32_t i) {
      const auto& edge = edges_[i];
      if (component_[edge.from] != component || edge.use->product_id == 0) return false;
      const auto found = factors.find(product(edge.fact, edge.use->product_id));
      return found != factors.end() && found->second.has_other_than(edge.use->factor_id);
    });
  }

  /// Whether an iteration reads elements of the state that it chooses, as elimination does: a layer reads all of them.
  [[nodiscard]] bool reads_iterations(std::uint32_t component) const {
    const auto counted = reachable(variables(), true);
    // where(rows == t, row, state)
    const bool replaces = std::any_of(decisions_.begin(), decisions_.end(), [&](const Decision& decision) {
      return counted[decision.from] && component_[decision.to] == component && keeps_head(decision.to);
    });
    return replaces || any_inside(component, [&](const Edge& edge) {
             return edge.use->memory && !edge.use->address &&
                    places_by(counted, flow_.facts_[edge.fact]).count(edge.use->place_id) != 0;
           });
  }

  /// Whether a statement takes the state of the iteration before as it is, in some elements.
  [[nodiscard]] bool keeps_head(Value value) const {
    return any_inside(component_[value], [&](const Edge& edge) {
      return edge.to == value && is_head(edge.from) && edge.use->kind == DependenceKind::Additive && !edge.use->added;
    });
  }

  /// Whether every iteration uses other weights for the state: layers of a network, not steps of time.
  [[nodiscard]] bool passes_layers(std::uint32_t component) const {
    if (reads_iterations(component)) return false;
    const auto outside = [&](const Use& use) { return component_[used(use)] != component; };
    const auto other =
        products_of(component, [&](const Use& use, const auto& g) { return outside(use) && varies(use, g); });
    const auto same =
        products_of(component, [&](const Use& use, const auto& g) { return outside(use) && !varies(use, g); });
    // x / norm(x) only scales; data / h does not.
    std::unordered_set<std::uint64_t> scaled;
    for (const auto i : incoming_[component])
      if (component_[edges_[i].from] == component && !edges_[i].use->divides)
        scaled.insert(product(edges_[i].fact, edges_[i].use->product_id));
    bool weights = false;
    for (const auto i : incoming_[component]) {
      const auto& edge = edges_[i];
      if (component_[edge.from] != component || edge.use->address || edge.use->product_id == 0) continue;
      const auto key = product(edge.fact, edge.use->product_id);
      if (edge.use->divides && scaled.count(key) == 0 && other.count(key) != 0) return false;
      const auto kept = same.find(key);
      if (kept != same.end() && kept->second.has_other_than(edge.use->factor_id)) return false;
      const auto changed = other.find(key);
      weights = weights || (changed != other.end() && changed->second.has_other_than(edge.use->factor_id));
    }
    return weights;
  }

  /// For each place that a fact reads, how it distinguishes programs.
  [[nodiscard]] std::unordered_map<std::uint32_t, std::uint32_t> owners_by_group(const Fact& fact) const {
    std::unordered_map<std::uint32_t, std::uint32_t> masks;
    for (const auto& use : fact.uses)
      if (use.address) masks[use.chooses] |= use.memory ? masks[use.place_id] : flow_.divergence_mask_[use.name];
    return masks;
  }

  void describe(std::uint32_t component, CarriedState& state) const {
    std::uint32_t written = 0;
    std::uint32_t always_read = ~0U;
    bool reads = false;
    for (auto i = first_; i < end_; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      const auto masks = owners_by_group(fact);
      for (const auto& use : fact.uses) {
        if (use.name == state.name && !use.address && state.line == 0) state.line = line_of(fact);
        if (!use.memory || use.address || component_[used(use)] != component) continue;
        const auto mask = masks.find(use.place_id);
        always_read &= (mask == masks.end() ? 0 : mask->second) | flow_.divergence_mask_[use.name];
        reads = true;
      }
      if (!fact.memory || component_[made(fact)] != component) continue;
      for (const auto& use : fact.uses)
        if (use.of_target && use.address && !use.memory) written |= flow_.divergence_mask_[use.name];
    }
    if (state.line == 0) state.line = flow_.function_.nodes[loop_].line;
    constexpr std::uint32_t k_programs = 0x7FFFFFFFU;
    state.shared_by_programs = reads && (written & ~always_read & k_programs) != 0;
    // Where others write what one thread reads, the units are split already.
    if (!reads || (written & ~always_read) == 0) find_serial(component, state);
  }

  [[nodiscard]] int line_of(const Fact& fact) const { return flow_.function_.nodes[fact.node].line; }

  /// A nested loop, with the facts of its header.
  struct Inner {
    std::uint32_t node;
    bool split;  ///< divided among programs or threads
  };

  /// Whether a loop around a write, inside this one, iterates over the units of the state.
  void find_serial(std::uint32_t component, CarriedState& state) const {
    const auto& nodes = flow_.function_.nodes;
    std::vector<Inner> open;
    int attempts = 32;
    for (auto i = first_; i < end_ && attempts > 0; ++i) {
      const auto& fact = flow_.facts_[i];
      if (!inside(fact)) continue;
      while (!open.empty() && nodes[open.back().node].last <= fact.node) open.pop_back();
      if (nodes[fact.node].kind == NodeKind::Loop && !flow_.is_short(fact.node)) {
        if (open.empty() || open.back().node != fact.node) open.push_back({fact.node, false});
        auto& inner = open.back();
        inner.split = inner.split || flow_.divergence_mask_[fact.target] != 0;
        for (const auto& use : fact.uses) inner.split = inner.split || flow_.divergence_mask_[use.name] != 0;
      }
      if (!fact.memory || component_[made(fact)] != component) continue;
      for (const auto& inner : open) {
        if (inner.split || inner.node == fact.node || --attempts < 0) continue;
        if (!iterates_over_units(fact, inner.node)) continue;
        state.serial_loop = inner.node;
        return;
      }
    }
  }

  /// Whether an inner loop reads the state only at places that it chooses: rows, or independently updated values, do
  /// not depend on each other. Units depend on all units.
  [[nodiscard]] bool owns_what_it_reads(std::uint32_t component, std::uint32_t loop,
                                        const std::vector<bool>& counted) const {
    const auto last = flow_.function_.nodes[loop].last;
    const auto before = [](const Fact& fact, std::uint32_t node) { return fact.node < node; };
    auto at = std::lower_bound(flow_.facts_.begin() + first_, flow_.facts_.begin() + end_, loop + 1, before);
    bool reads = false;
    for (; at != flow_.facts_.begin() + end_ && at->node < last; ++at) {
      const auto& fact = *at;
      std::unordered_set<std::uint32_t> chosen;
      for (const auto& use : fact.uses)
        if (use.address && counted[used(use)]) chosen.insert(use.chooses);
      for (const auto& use : fact.uses) {
        if (!use.memory || use.address || component_[used(use)] != component) continue;
        if (chosen.count(use.place_id) == 0) return false;
        reads = true;
      }
    }
    return reads;
  }

  /// Whether an inner loop chooses both the place that a fact writes and the value: copying one value to all places is
  /// no work.
  [[nodiscard]] bool iterates_over_units(const Fact& fact, std::uint32_t loop) const {
    std::vector<std::uint32_t> roots;
    for (auto i = first_; i < end_ && flow_.facts_[i].node <= loop; ++i)
      if (flow_.facts_[i].node == loop && !flow_.facts_[i].memory) roots.push_back(made(flow_.facts_[i]));
    const auto counted = reachable(roots, false);
    if (owns_what_it_reads(component_[made(fact)], loop, counted)) return false;
    const auto varies = reachable(std::move(roots), true);
    bool place = false;
    bool value = false;
    for (const auto& use : fact.uses) {
      place = place || (use.of_target && use.name != fact.target && counted[used(use)]);
      value = value || (!use.of_target && varies[used(use)]);
    }
    return place && value;
  }
};

std::optional<CarriedState> FunctionFlow::carried_by(std::uint32_t loop) const { return LoopFlow(*this, loop).run(); }

bool FunctionFlow::carries_launches(std::uint32_t loop) const { return LoopFlow(*this, loop).carries_launches(); }

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
