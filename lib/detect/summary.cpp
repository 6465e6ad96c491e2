#include <algorithm>
#include <array>

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
  static constexpr std::size_t k_max_effects = 48;
  static constexpr std::size_t k_max_edges = 2000;  // times as many members

  /// How strongly a value depends on another one: not at all, as a copy that no statement makes, or with a kind.
  using Level = std::uint8_t;
  static constexpr Level k_copied = 1;
  static constexpr Level k_made = 2;  // and the kind

  [[nodiscard]] bool is_object(std::size_t parameter) const {
    return (parameter == 0 && !function_.members.empty()) || flow_.parameters_[parameter].size() > 1;
  }

  /// By value: its level with respect to `queue`.
  [[nodiscard]] std::vector<Level> reached_from(std::vector<Value> queue) const {
    std::vector<Level> reached(ids_.size(), 0);
    for (const auto start : queue) reached[start] = k_copied;
    while (!queue.empty()) {
      const auto at = queue.back();
      queue.pop_back();
      for (auto i = start_[at]; i < start_[at + 1]; ++i) {
        const auto& edge = edges_[i];
        if (edge.use->address && ids_[edge.to] != k_return) continue;
        const auto made = static_cast<Level>(k_made + static_cast<Level>(edge.use->kind));
        const auto level = edge.fact == k_no_fact ? reached[at] : std::max(reached[at], made);
        if (reached[edge.to] >= level) continue;
        reached[edge.to] = level;
        queue.push_back(edge.to);
      }
    }
    return reached;
  }

  [[nodiscard]] Level level_of(const std::vector<Level>& reached, NameId node) const {
    const auto value = last_value(node);
    return value == k_no_value ? Level{0} : reached[value];
  }
  [[nodiscard]] bool occurs(NameId node) const { return flow_.numbers_[node] != FunctionFlow::k_no_number; }

  void add(Level level, Effect effect) {
    if (level < k_made || effects_.size() >= k_max_effects) return;
    effect.kind = static_cast<DependenceKind>(level - k_made);
    effects_.push_back(effect);
  }

  void add_effects(std::size_t from, bool memory, std::size_t parameters) {
    std::vector<Value> starts;
    for (const auto part : flow_.parameters_[from])
      if (occurs(node_of(part, memory))) starts.push_back(flow_.numbers_[node_of(part, memory)]);
    if (starts.empty()) return;
    const auto reached = reached_from(std::move(starts));
    if (memory ? !returns_object() || !is_object(from) : !add_returned_object(from))
      add(level_of(reached, node_of(k_return, false)), {.from = from, .from_memory = memory, .returns = true});
    for (std::size_t to = 0; to < parameters; ++to) {
      if (to == from && is_object(to)) continue;  // see add_object_effects
      for (const auto part : flow_.parameters_[to]) {
        add(level_of(reached, node_of(part, true)), {.from = from, .from_memory = memory, .to = to, .to_memory = true});
        // A pointer that moves is a copy of the caller's.
        const bool moves = to == from && (memory || occurs(node_of(part, true)));
        if (flow_.side_ == Side::Device && function_.parameters[to].by_reference && !moves)
          add(level_of(reached, node_of(part, false)), {.from = from, .from_memory = memory, .to = to});
      }
    }
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
    Level level = 0;
    for (const auto member : flow_.parameters_[object]) {
      std::vector<Value> starts;
      for (const bool memory : {false, true})
        if (occurs(node_of(member, memory))) starts.push_back(flow_.numbers_[node_of(member, memory)]);
      if (starts.empty()) continue;
      const auto reached = reached_from(std::move(starts));
      for (const auto& fact : facts) {
        if (!is_object_return(fact)) continue;
        const auto same = [&](const Use& use) { return flow_.name(use.name) == flow_.name(member); };
        const bool own = std::any_of(fact.uses.begin(), fact.uses.end(),
                                     [&](const Use& use) { return same(use) && reached[used(use)] >= k_made; });
        for (const auto& use : fact.uses)
          if (same(use) || !own) level = std::max(level, reached[used(use)]);
      }
    }
    add(level, {.from = object, .returns = true, .of_member = true});
    return true;
  }

  /// The effects of a function on an object of several members. A member that only depends on itself, such as the
  /// counter of a running mean, says nothing about the others.
  void add_object_effects(std::size_t object) {
    if (edges_.size() > k_max_edges) return;
    std::array<Level, 4> levels{};  // by from_memory, to_memory
    for (const auto member : flow_.parameters_[object]) {
      for (const bool from_memory : {false, true}) {
        const auto from = node_of(member, from_memory);
        if (!occurs(from)) continue;
        const auto reached = reached_from({flow_.numbers_[from]});
        const bool own = level_of(reached, from) >= k_made;
        for (const auto other : flow_.parameters_[object])
          for (const bool to_memory : {false, true}) {
            const auto to = node_of(other, to_memory);
            auto& level = levels[(from_memory ? 2U : 0U) + (to_memory ? 1U : 0U)];
            if (to == from || !own) level = std::max(level, level_of(reached, to));
          }
      }
    }
    for (std::size_t i = 0; i < levels.size(); ++i)
      add(levels[i], {.from = object, .from_memory = i > 1, .to = object, .to_memory = i % 2 == 1, .of_member = true});
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
