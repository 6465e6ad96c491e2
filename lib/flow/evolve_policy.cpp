#include <algorithm>
#include <utility>

#include <kernelgen/flow/policy.hpp>

#include "flow/code_distance.hpp"
#include "flow/option_text.hpp"
#include "flow/repair_chain.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// In every second generation children have two parents.
constexpr int k_crossover_period = 2;
/// An archive is chosen from so many of an island's fastest kernels, so that a decision takes no longer in a long
/// search.
constexpr std::size_t k_most_compared = 32;

/// A kernel of an archive.
struct Member {
  const ActionResult* kernel = nullptr;
  CodeSketch code;
  /// Its distance to the nearest kernel that was kept before it; 1 for the first.
  double novelty = 1;
  /// Its share of the children of its island, against the other members: 1 for the first, a half for the next, ...
  double share = 1;
};

/// The search so far.
struct Population {
  /// The correct kernels of each island, the oldest first.
  std::vector<std::vector<const ActionResult*>> islands;
  /// The first action of every chain, in the order of generations and islands.
  std::vector<Action> roots;
  /// nullptr: none is correct.
  const ActionResult* best = nullptr;

  void add(int island, const ActionResult& kernel) {
    islands[static_cast<std::size_t>(island)].push_back(&kernel);
    if (best == nullptr || score_or_zero(kernel) > score_or_zero(*best)) best = &kernel;
  }

  [[nodiscard]] auto children_of(const std::string& id) const {
    return std::count_if(roots.begin(), roots.end(),
                         [&](const Action& root) { return root.base == id || root.second_base == id; });
  }
};

class EvolvePolicy final : public Policy {
 public:
  explicit EvolvePolicy(EvolveOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "evolve"; }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"islands", std::to_string(options_.islands)},
            {"archive", std::to_string(options_.archive)},
            {"generations", std::to_string(options_.generations)},
            {"strategies", to_text(options_.strategies)},
            {"temperature", to_text(options_.temperature)},
            {"seed_repairs", std::to_string(options_.seed_repairs)},
            {"child_repairs", std::to_string(options_.child_repairs)},
            {"stop_score", to_text(options_.stop_score)},
            {"escalations", to_text(options_.escalations)},
            {"floor_ratio", to_text(options_.floor_ratio)},
            {"profiles", options_.profiles == ProfileUse::Never ? "never" : "before the next prompt"}};
  }

  /// A generation is over when the chains of all its children are: what comes next does not depend on their order.
  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision;
    Population population;
    population.islands.resize(static_cast<std::size_t>(options_.islands));
    if (options_.has_start) start(history, population, decision);
    for (int generation = 0; generation <= options_.generations; ++generation) {
      if (auto reason = generation > 0 ? reason_to_end(population.best) : std::nullopt)
        return finish(std::move(decision), *std::move(reason));
      breed(history, generation, population, decision);
      if (population.best != nullptr) decision.best = population.best->action.id;
      if (!decision.actions.empty() || !decision.profiles.empty()) return decision;
    }
    return finish(std::move(decision), "all generations are done");
  }

  [[nodiscard]] std::optional<int> max_actions() const override {
    const auto chain = [](int repairs) { return 1 + std::max(repairs, 0); };
    const int start = options_.has_start ? chain(options_.seed_repairs) - 1 : 0;  // itself it needs no prompt
    return start +
           options_.islands * (chain(options_.seed_repairs) + options_.generations * chain(options_.child_repairs));
  }

 private:
  using Archive = std::vector<Member>;

  static Decision finish(Decision decision, std::string reason) {
    decision.finished = true;
    decision.reason = std::move(reason);
    return decision;
  }

  [[nodiscard]] std::optional<std::string> reason_to_end(const ActionResult* best) const {
    if (best == nullptr) return "no seed was correct";
    if (!best->score()) return "the best kernel has no time that counts; nothing to compare";
    if (options_.stop_score > 0 && score_or_zero(*best) >= options_.stop_score)
      return stop_score_reason(options_.stop_score);
    if (is_near_floor(*best, options_.floor_ratio)) return near_floor_reason(*best);
    return std::nullopt;
  }

  /// The kernel that the search starts from belongs to the first island, as if it were a seed.
  void start(const History& history, Population& population, Decision& decision) const {
    population.roots.push_back(start_action());
    const auto chain = advance_repair_chain(history, population.roots.back(), repairs(0));
    if (chain.next) decision.actions.push_back(*chain.next);
    if (chain.correct != nullptr) population.add(0, *chain.correct);
  }

  static std::string id_of(int island, int generation) {
    return "i" + std::to_string(island + 1) + "g" + std::to_string(generation);
  }

  /// Adds the correct kernels of a generation to the population, and what is missing to the decision.
  void breed(const History& history, int generation, Population& population, Decision& decision) const {
    std::vector<Archive> archives;
    std::vector<const ActionResult*> born(population.islands.size(), nullptr);
    for (int island = 0; island < options_.islands; ++island) {
      const auto* known = find_result(history, id_of(island, generation));
      if (known == nullptr && archives.empty()) archives = archives_of(population);
      auto root = known != nullptr  ? known->action
                  : generation == 0 ? seed(island)
                                    : child(island, generation, archives, population);
      population.roots.push_back(root);
      const auto* base = find_result(history, root.base);
      if (known == nullptr && base != nullptr && needs_profile(*base, options_.profiles)) {
        want_profile(root.base, decision);
        continue;
      }
      const auto chain = advance_repair_chain(history, root, repairs(generation));
      if (chain.next) decision.actions.push_back(*chain.next);
      born[static_cast<std::size_t>(island)] = chain.correct;
    }
    for (int island = 0; island < options_.islands; ++island)
      if (const auto* kernel = born[static_cast<std::size_t>(island)]) population.add(island, *kernel);
  }

  static void want_profile(const std::string& id, Decision& decision) {
    auto& wanted = decision.profiles;
    if (std::find(wanted.begin(), wanted.end(), id) == wanted.end()) wanted.push_back(id);
  }

  [[nodiscard]] RepairOptions repairs(int generation) const {
    return {.max_attempts = generation == 0 ? options_.seed_repairs : options_.child_repairs,
            .temperature = options_.temperature,
            .escalations = options_.escalations,
            .strategies = options_.strategies};
  }

  [[nodiscard]] Action seed(int island) const {
    Action action;
    action.id = id_of(island, 0);
    action.kind = PromptKind::Seed;
    if (!options_.strategies.empty())
      action.variant = options_.strategies[static_cast<std::size_t>(island) % options_.strategies.size()];
    // Seeds of one strategy differ by temperature only.
    const auto same = options_.strategies.empty() ? island : island / static_cast<int>(options_.strategies.size());
    action.temperature = changed_temperature(options_.temperature, same);
    return action;
  }

  [[nodiscard]] std::vector<Archive> archives_of(const Population& population) const {
    std::vector<Archive> archives;
    for (const auto& kernels : population.islands) archives.push_back(archive_of(kernels));
    return archives;
  }

  /// The diverse kernels of an island: the fastest one, then always the one with the highest product of score and
  /// novelty. The older of two equal ones; no code twice.
  [[nodiscard]] Archive archive_of(std::vector<const ActionResult*> kernels) const {
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const auto* a, const auto* b) { return score_or_zero(*a) > score_or_zero(*b); });
    kernels.resize(std::min(kernels.size(), k_most_compared));
    Archive left, kept;
    for (const auto* kernel : kernels) left.push_back({kernel, sketch_of(*kernel->candidate)});
    const auto value = [](const Member& member) { return score_or_zero(*member.kernel) * member.novelty; };
    while (!left.empty() && static_cast<int>(kept.size()) < options_.archive) {
      const auto next =
          std::max_element(left.begin(), left.end(), [&](const auto& a, const auto& b) { return value(a) < value(b); });
      if (value(*next) <= 0) break;
      next->share = kept.empty() ? 1 : kept.back().share / 2;
      kept.push_back(std::move(*next));
      left.erase(next);
      for (auto& member : left) member.novelty = std::min(member.novelty, distance_of(member.code, kept.back().code));
    }
    return kept;
  }

  /// Asks for a child of one kernel, or of two.
  static Action mutation_or_crossover(const Member& parent, const Member* partner) {
    Action action;
    action.kind = partner == nullptr ? PromptKind::Reflect : PromptKind::Crossover;
    action.base = parent.kernel->action.id;
    if (partner != nullptr) action.second_base = partner->kernel->action.id;
    return action;
  }

  /// The next child of an island: of the member that has had the fewest children for its share, and in some generations
  /// also of one of the other islands that is chosen in the same way, and by its distance to the first.
  [[nodiscard]] Action child(int island, int generation, const std::vector<Archive>& archives,
                             const Population& population) const {
    std::vector<const Member*> own, others;
    for (std::size_t i = 0; i < archives.size(); ++i)
      for (const auto& member : archives[i]) (i == static_cast<std::size_t>(island) ? own : others).push_back(&member);
    // An island without a kernel gets its first from another; a single island has no others.
    if (own.empty()) own = others;
    if (others.empty()) others = own;
    const auto claim = [&](const Member& member) {
      return member.share / static_cast<double>(1 + population.children_of(member.kernel->action.id));
    };
    const auto& parent = *highest(own, claim);
    const auto claim_as_partner = [&](const Member& member) {
      return claim(member) * distance_of(member.code, parent.code);
    };
    const auto* partner = generation % k_crossover_period == 0 ? highest(others, claim_as_partner) : nullptr;
    if (partner != nullptr && claim_as_partner(*partner) <= 0) partner = nullptr;
    auto action = mutation_or_crossover(parent, partner);
    action.id = id_of(island, generation);
    action.temperature = changed_temperature(options_.temperature, times_asked(action, population.roots));
    return action;
  }

  /// The first member with the highest value.
  template <class Value>
  static const Member* highest(const std::vector<const Member*>& members, const Value& value) {
    return *std::max_element(members.begin(), members.end(),
                             [&](const auto* a, const auto* b) { return value(*a) < value(*b); });
  }

  /// How often the same was asked for before: each time at another temperature.
  static int times_asked(const Action& action, const std::vector<Action>& roots) {
    return static_cast<int>(std::count_if(roots.begin(), roots.end(), [&](const Action& root) {
      return root.base == action.base && root.second_base == action.second_base;
    }));
  }

  EvolveOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_evolve_policy(EvolveOptions options) {
  options.islands = std::max(options.islands, 1);
  options.archive = std::max(options.archive, 1);
  options.generations = std::max(options.generations, 0);
  return std::make_unique<EvolvePolicy>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
