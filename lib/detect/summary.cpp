#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "detect/iteration.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Finds what a function makes of its arguments: which last values depend on which first ones.
class Summarizer : private Iteration {
 public:
  explicit Summarizer(const FunctionFlow& flow) : Iteration(flow), function_(flow.function_) {}

  std::vector<Effect> run() && {
    if (function_.parameters.empty()) return {};
    read_body();
    const auto parameters = std::min(function_.parameters.size(), k_max_parameters);
    for (std::size_t i = 0; i < parameters; ++i)
      if (is_object(i)) add_object_effects(i);
    for (std::size_t i = 0; i < parameters; ++i)
      for (const bool memory : {false, true}) add_effects(i, memory, parameters);
    return std::move(effects_);
  }

 private:
  static constexpr std::size_t k_max_parameters = 24;
  static constexpr std::size_t k_max_effects = 128;
  static constexpr std::size_t k_max_edges = 2000;  // times as many members

  /// How a value depends on another one: not at all, as a copy that no statement makes, or with a role.
  struct Reach {
    enum Level : std::uint8_t { None, Copied, Made } level = None;
    Use role;
    /// The same in other products, as m in acc * exp(m - top) + exp(s - top) * v.
    struct Factor {
      std::uint32_t product_id = 0;
      std::uint32_t factor_id = 0;
      DependenceKind kind = DependenceKind::Additive;
      bool divides = false;
    };
    std::array<Factor, 3> others{};

    /// Adds another way; returns whether that says more.
    bool add(const Reach& other) {
      if (other.level == None) return false;
      const auto marks = [](const Use& use) {
        return (use.added ? 1 : 0) + (use.extremum ? 2 : 0) + (use.curved ? 4 : 0);
      };
      const auto before = marks(role);
      const auto both = before | marks(other.role);
      const bool stronger = std::pair(other.level, other.role.kind) > std::pair(level, role.kind);
      const Factor former = factor();
      bool more = stronger || both != before;
      if (stronger) {
        level = other.level;
        role = other.role;
        (void)remember(former);
      } else {
        more = remember(other.factor()) || more;
      }
      for (const auto& each : other.others) more = remember(each) || more;
      role.added = (both & 1) != 0;
      role.extremum = (both & 2) != 0;
      role.curved = (both & 4) != 0;
      return more;
    }
    /// Follows a use of the value.
    void pass(const Use& use) {
      level = Made;
      role.kind = std::max(role.kind, use.kind);
      role.added = role.added || use.added;
      role.extremum = role.extremum || use.extremum;
      role.curved = role.curved || use.curved;
      for (auto& each : others) each.kind = std::max(each.kind, use.kind);
      if (use.product_id == 0) return;
      role.product_id = use.product_id;
      role.factor_id = use.factor_id;
      role.divides = use.divides;
      others = {};
    }

   private:
    [[nodiscard]] Factor factor() const { return {role.product_id, role.factor_id, role.kind, role.divides}; }
    bool remember(const Factor& factor) {
      if (factor.product_id == 0 || factor.product_id == role.product_id) return false;
      for (auto& each : others) {
        if (each.product_id == factor.product_id) return false;
        if (each.product_id != 0) continue;
        each = factor;
        return true;
      }
      return false;
    }
  };
  using Reached = std::vector<Reach>;  ///< by value

  [[nodiscard]] bool is_object(std::size_t parameter) const {
    return (parameter == 0 && !function_.members.empty()) || flow_.parameters_[parameter].size() > 1;
  }

  /// How every value depends on `queue`.
  [[nodiscard]] Reached reached_from(std::vector<Value> queue) const {
    Reached reached(ids_.size());
    for (const auto start : queue) reached[start].level = Reach::Copied;
    follow(queue, reached);
    // The greater of a and b.
    for (const auto& decision : decisions_) {
      if (!decision.compares || reached[decision.from].level == Reach::None) continue;
      auto& chosen = reached[decision.to];
      if (chosen.level == Reach::None || chosen.role.extremum) continue;
      chosen.role.extremum = true;
      queue.push_back(decision.to);
    }
    follow(queue, reached);
    return reached;
  }

  void follow(std::vector<Value>& queue, Reached& reached) const {
    std::unordered_map<std::uint32_t, std::uint32_t> factors;  // by product
    while (!queue.empty()) {
      const auto at = queue.back();
      queue.pop_back();
      for (auto i = start_[at]; i < start_[at + 1]; ++i) {
        const auto& edge = edges_[i];
        if (edge.use->address && ids_[edge.to] != k_return) continue;
        if (reached[edge.to].add(along(edge, reached[at], factors))) queue.push_back(edge.to);
      }
    }
  }

  [[nodiscard]] Reach along(const Edge& edge, Reach reach,
                            std::unordered_map<std::uint32_t, std::uint32_t>& factors) const {
    if (edge.fact == k_no_fact) return reach;
    const auto& use = *edge.use;
    reach.pass(use);
    if (use.product_id == 0) return reach;
    const auto [known, added] = factors.try_emplace(use.product_id, use.factor_id);
    // A square, unless two members that were copied together are the factors.
    if (!added && known->second != use.factor_id && !flow_.has_members_[owner_of(edge.from)]) {
      reach.role.kind = DependenceKind::Arbitrary;
      reach.role.curved = true;
    }
    return reach;
  }

  [[nodiscard]] NameId owner_of(Value value) const {
    const auto node = ids_[value];
    return flow_.owners_[node < flow_.count_ ? node : node - static_cast<NameId>(flow_.count_)];
  }
  [[nodiscard]] Reach last_of(const Reached& reached, NameId node) const {
    const auto value = last_value(node);
    return value == k_no_value ? Reach{} : reached[value];
  }
  [[nodiscard]] bool occurs(NameId node) const { return flow_.numbers_[node] != FunctionFlow::k_no_number; }

  void add(const Reach& reach, Effect effect) {
    if (reach.level != Reach::Made || effects_.size() >= k_max_effects) return;
    effect.role = reach.role;
    if (effect.of_member) effect.role.extremum = effect.role.added = false;  // perhaps of different members
    effects_.push_back(effect);
    for (const auto& other : reach.others) {
      if (other.product_id == 0 || effects_.size() >= k_max_effects) return;
      effect.role.product_id = other.product_id;
      effect.role.factor_id = other.factor_id;
      effect.role.kind = other.kind;
      effect.role.divides = other.divides;
      effects_.push_back(effect);
    }
  }

  void add_effects(std::size_t from, bool memory, std::size_t parameters) {
    std::vector<Value> starts;
    for (const auto part : flow_.parameters_[from])
      if (occurs(node_of(part, memory))) starts.push_back(flow_.numbers_[node_of(part, memory)]);
    if (starts.empty()) return;
    const auto reached = reached_from(starts);
    if (memory ? !returns_object() || !is_object(from) : !add_returned_object(from)) {
      bool several = false;
      for (const auto& fact : flow_.facts_) {
        if (fact.target != k_return || fact.element == 0) continue;
        several = true;
        add(reached[made(fact)], {.from = from, .from_memory = memory, .returns = true, .element = fact.element});
      }
      const auto whole = several ? Reach{} : last_of(reached, node_of(k_return, false));
      add(whole, {.from = from, .from_memory = memory, .returns = true});
    }
    for (std::size_t to = 0; to < parameters; ++to) {
      if (to == from && is_object(to)) continue;  // see add_object_effects
      for (const auto part : flow_.parameters_[to]) {
        add(last_of(reached, node_of(part, true)), {.from = from, .from_memory = memory, .to = to, .to_memory = true});
        // A pointer that moves is a copy of the caller's.
        const bool moves = to == from && (memory || occurs(node_of(part, true)));
        if (flow_.side_ == Side::Device && function_.parameters[to].by_reference && !moves)
          add(last_of(reached, node_of(part, false)), {.from = from, .from_memory = memory, .to = to});
      }
    }
    if (memory) add_decisions(from, std::move(starts), parameters);
  }

  /// What the memory of a parameter only decides: where the kernel is launched again it is an effect as well.
  void add_decisions(std::size_t from, std::vector<Value> starts, std::size_t parameters) {
    Reached reached(ids_.size());
    for (const auto start : starts) reached[start].level = Reach::Copied;
    follow(starts, reached);
    for (const auto& decision : decisions_)
      if (reached[decision.from].level != Reach::None) starts.push_back(decision.to);
    if (starts.empty()) return;
    Reach decided;
    decided.level = Reach::Made;
    decided.role = {.kind = DependenceKind::Arbitrary, .is_select_condition = true};
    for (const auto start : starts) reached[start].add(decided);
    follow(starts, reached);
    for (std::size_t to = 0; to < parameters; ++to)
      for (const auto part : flow_.parameters_[to])
        if (const auto reach = last_of(reached, node_of(part, true)); reach.role.is_select_condition)
          add(reach, {.from = from, .from_memory = true, .to = to, .to_memory = true});
  }

  [[nodiscard]] static bool is_object_return(const Fact& fact) {
    return fact.target == k_return && fact.returns_object;
  }
  [[nodiscard]] bool returns_object() const {
    return edges_.size() <= k_max_edges && std::any_of(flow_.facts_.begin(), flow_.facts_.end(), is_object_return);
  }

  /// The object that the function returns, made of another one: its members are told apart by their names, as in
  /// add_object_effects. Returns whether it returns one.
  bool add_returned_object(std::size_t object) {
    if (!is_object(object) || !returns_object()) return false;
    const auto& facts = flow_.facts_;
    Reach all;
    for (const auto member : flow_.parameters_[object]) {
      std::vector<Value> starts;
      for (const bool memory : {false, true})
        if (occurs(node_of(member, memory))) starts.push_back(flow_.numbers_[node_of(member, memory)]);
      if (starts.empty()) continue;
      const auto reached = reached_from(std::move(starts));
      const auto name = flow_.name(member);
      bool own = false;  // the member of that name is made of it
      for (const auto& fact : facts) {
        if (!is_object_return(fact)) continue;
        own = own || (fact.member == name && reached[made(fact)].level == Reach::Made);
        for (const auto& use : fact.uses)
          own = own || (fact.member.empty() && flow_.name(use.name) == name && reached[used(use)].level == Reach::Made);
      }
      for (const auto& fact : facts) {
        if (!is_object_return(fact)) continue;
        if (!fact.member.empty() && (fact.member == name || !own)) all.add(reached[made(fact)]);
        for (const auto& use : fact.uses)
          if (fact.member.empty() && (flow_.name(use.name) == name || !own)) all.add(reached[used(use)]);
      }
    }
    add(all, {.from = object, .returns = true, .of_member = true});
    return true;
  }

  /// The effects of a function on an object of several members. A member that only depends on itself, such as the
  /// counter of a running mean, says nothing about the others.
  void add_object_effects(std::size_t object) {
    if (edges_.size() > k_max_edges) return;
    std::array<Reach, 4> all{};  // by from_memory, to_memory
    for (const auto member : flow_.parameters_[object]) {
      for (const bool from_memory : {false, true}) {
        const auto from = node_of(member, from_memory);
        if (!occurs(from)) continue;
        const auto reached = reached_from({flow_.numbers_[from]});
        const bool own = last_of(reached, from).level == Reach::Made;
        for (const auto other : flow_.parameters_[object])
          for (const bool to_memory : {false, true}) {
            const auto to = node_of(other, to_memory);
            if (to == from || !own) all[(from_memory ? 2U : 0U) + (to_memory ? 1U : 0U)].add(last_of(reached, to));
          }
      }
    }
    for (std::size_t i = 0; i < all.size(); ++i)
      add(all[i], {.from = object, .from_memory = i > 1, .to = object, .to_memory = i % 2 == 1, .of_member = true});
  }

  const Function& function_;
  std::vector<Effect> effects_;
};

Summary FunctionFlow::summarize() const {
  Summary summary;
  for (const auto& parameter : function_.parameters) summary.parameters.push_back(parameter.name);
  summary.method = !function_.members.empty();
  const auto others = side_ == Side::Host ? side_effects() : SideEffects{};
  summary.side_effects = others.reads;
  summary.writes_others = others.writes;
  summary.effects = Summarizer(*this).run();
  return summary;
}

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
