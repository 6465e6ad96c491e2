#include <algorithm>
#include <utility>

#include <kernelgen/flow/policy.hpp>

#include "flow/line.hpp"
#include "flow/option_text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr const char* k_correctness = "correctness";
constexpr const char* k_optimization = "optimization";
/// Critics are read, not sampled for variety.
constexpr double k_critic_temperature = 0.2;

/// What the rounds so far came to.
struct Standing {
  const ActionResult* best = nullptr;
  /// Judged candidates in their order; the last one is what a failure is mended from.
  std::vector<const ActionResult*> judged;
  /// Failures since the last correct one, or since the search went back to the best one.
  int failures = 0;
  /// Rescues that were asked for since.
  std::size_t rescues = 0;
  /// What the last round was asked for, when nothing of it could be judged.
  const Action* unanswered = nullptr;
  /// Replies in a row that nothing could be judged of.
  int unusable = 0;

  void add(const ActionResult& result) {
    if (!result.candidate || !result.record) {
      unanswered = &result.action;
      ++unusable;
      return;
    }
    unanswered = nullptr;
    unusable = 0;
    if (result.correct()) {
      failures = 0;
      rescues = 0;
      judged.clear();
      if (best == nullptr || score_or_zero(result) > score_or_zero(*best)) best = &result;
    } else {
      ++failures;
      judged.push_back(&result);
    }
  }

  /// Forgets the failures: what they were made from was mended in vain.
  void give_up() {
    failures = 0;
    rescues = 0;
    judged.clear();
  }
};

class RoundsPolicy final : public Policy {
 public:
  explicit RoundsPolicy(RoundsOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "rounds"; }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"rounds", std::to_string(options_.rounds)},
            {"temperature", to_text(options_.temperature)},
            {"patience", std::to_string(options_.patience)},
            {"goal", to_text(options_.goal)},
            {"strategy", options_.strategy},
            {"rescues", to_text(options_.rescues)},
            {"floor_ratio", to_text(options_.floor_ratio)},
            {"profiles", options_.profiles == ProfileUse::Never ? "never" : "before advice"}};
  }

  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision;
    Standing standing;
    for (int round = 1; round <= options_.rounds; ++round) {
      auto coder = coder_of(round, history, standing, decision);
      if (!coder) return decision;
      const auto* result = find_result(history, coder->id);
      if (result == nullptr) {
        decision.actions.push_back(*std::move(coder));
        return decision;
      }
      standing.add(*result);
      if (standing.best != nullptr) decision.best = standing.best->action.id;
      if (auto reason = enough(standing.best)) return finish(std::move(decision), *std::move(reason));
    }
    return finish(std::move(decision), "all rounds are done");
  }

 private:
  static Decision finish(Decision decision, std::string reason) {
    decision.finished = true;
    decision.reason = std::move(reason);
    return decision;
  }

  [[nodiscard]] std::optional<std::string> enough(const ActionResult* best) const {
    if (best == nullptr) return std::nullopt;
    if (options_.goal > 0 && score_or_zero(*best) >= options_.goal) return "the goal was reached";
    if (is_near_floor(*best, options_.floor_ratio)) return near_floor_reason(*best);
    return std::nullopt;
  }

  static std::string id_of(int round) { return "round" + std::to_string(round); }

  /// The kernel that this round asks for. Nothing when a profile or a critic comes first; it stands in the decision
  /// then.
  std::optional<Action> coder_of(int round, const History& history, Standing& standing, Decision& decision) const {
    if (standing.unanswered != nullptr) {
      // The same once more, from the same critique.
      Action again = *standing.unanswered;
      again.id = id_of(round);
      again.temperature = changed_temperature(options_.temperature, standing.unusable);
      return again;
    }
    if (standing.best != nullptr && standing.failures >= options_.patience) standing.give_up();
    const bool failed = standing.failures > 0;
    const auto* base = failed ? standing.judged.back() : standing.best;
    if (base == nullptr) return first(round);
    if (needs_profile(*base, options_.profiles)) {
      decision.profiles.push_back(base->action.id);
      return std::nullopt;
    }
    const auto critic = critic_of(round - 1, *base);
    const auto* critique = find_result(history, critic.id);
    if (critique == nullptr) {
      decision.actions.push_back(critic);
      return std::nullopt;
    }
    Action action;
    action.id = id_of(round);
    action.kind = failed ? PromptKind::Repair : PromptKind::Reflect;
    action.base = base->action.id;
    if (critique->critique) action.analysis = critic.id;
    action.temperature = options_.temperature;
    if (failed) rescue(action, standing);
    return action;
  }

  [[nodiscard]] Action first(int round) const {
    Action action;
    action.id = id_of(round);
    action.kind = PromptKind::Seed;
    action.variant = options_.strategy;
    action.temperature = options_.temperature;
    return action;
  }

  /// Its place is after the round whose kernel it reads, or after the one that failed where it reads the best again;
  /// then it is asked at another temperature.
  [[nodiscard]] Action critic_of(int round, const ActionResult& base) const {
    Action action;
    action.id = id_of(round) + "/critic";
    action.kind = PromptKind::Critic;
    action.base = base.action.id;
    action.variant = base.correct() ? k_optimization : k_correctness;
    const bool again = base.action.id != id_of(round);
    action.temperature = std::min(k_critic_temperature, options_.temperature);
    if (again) action.temperature = changed_temperature(action.temperature, 1 + round % k_most_changes);
    return action;
  }

  void rescue(Action& action, Standing& standing) const {
    if (!is_stuck(standing.judged)) return;
    // The critic sees what failed; a way that ignores it would be no round.
    while (standing.rescues < options_.rescues.size() && options_.rescues[standing.rescues] == k_restart)
      ++standing.rescues;
    if (standing.rescues >= options_.rescues.size()) return;
    action.variant = options_.rescues[standing.rescues++];
    action.temperature = changed_temperature(options_.temperature, static_cast<int>(standing.rescues));
  }

  static constexpr int k_most_changes = 7;

  RoundsOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_rounds_policy(RoundsOptions options) {
  options.rounds = std::max(options.rounds, 1);
  options.patience = std::max(options.patience, 1);
  return std::make_unique<RoundsPolicy>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
