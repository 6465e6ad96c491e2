#include <algorithm>
#include <utility>

#include <kernelgen/flow/policy.hpp>

#include "flow/option_text.hpp"
#include "flow/repair_chain.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr const char* k_correctness = "correctness";
constexpr const char* k_optimization = "optimization";
/// Critiques are parsed, so they need no variety.
constexpr double k_critic_temperature = 0.2;

/// The state of the search after the rounds so far.
struct RoundState {
  const ActionResult* best = nullptr;
  /// Judged candidates in their order; after a failure the last one is repaired.
  std::vector<const ActionResult*> judged;
  /// Failures since the last correct one, or since the search went back to the best one.
  int failures = 0;
  /// Escalations since then.
  std::size_t escalations = 0;
  /// The action of the last round, if its reply held nothing to judge.
  const Action* unanswered = nullptr;
  /// Number of replies in a row without anything to judge.
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
      escalations = 0;
      judged.clear();
      if (best == nullptr || score_or_zero(result) > score_or_zero(*best)) best = &result;
    } else {
      ++failures;
      judged.push_back(&result);
    }
  }

  /// Resets the failures, because repairing their kernel has not helped.
  void give_up() {
    failures = 0;
    escalations = 0;
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
            {"stop_score", to_text(options_.stop_score)},
            {"strategy", options_.strategy},
            {"escalations", to_text(options_.escalations)},
            {"floor_ratio", to_text(options_.floor_ratio)},
            {"profiles", options_.profiles == ProfileUse::Never ? "never" : "before the next prompt"}};
  }

  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision;
    RoundState state;
    for (int round = 1; round <= options_.rounds; ++round) {
      auto coder = coder_of(round, history, state, decision);
      if (!coder) return decision;
      const auto* result = find_result(history, coder->id);
      if (result == nullptr) {
        decision.actions.push_back(*std::move(coder));
        return decision;
      }
      state.add(*result);
      if (state.best != nullptr) decision.best = state.best->action.id;
      if (auto reason = enough(state.best)) return finish(std::move(decision), *std::move(reason));
    }
    return finish(std::move(decision), "all rounds are done");
  }

  /// There is at most one critic between two rounds.
  [[nodiscard]] std::optional<int> max_actions() const override { return std::max(2 * options_.rounds - 1, 0); }

 private:
  static Decision finish(Decision decision, std::string reason) {
    decision.finished = true;
    decision.reason = std::move(reason);
    return decision;
  }

  [[nodiscard]] std::optional<std::string> enough(const ActionResult* best) const {
    if (best == nullptr) return std::nullopt;
    if (options_.stop_score > 0 && score_or_zero(*best) >= options_.stop_score)
      return stop_score_reason(options_.stop_score);
    if (is_near_floor(*best, options_.floor_ratio)) return near_floor_reason(*best);
    return std::nullopt;
  }

  static std::string id_of(int round) { return "round" + std::to_string(round); }

  /// The request for the kernel of this round; nothing if a profile or a critic comes first, which is then in the
  /// decision.
  std::optional<Action> coder_of(int round, const History& history, RoundState& state, Decision& decision) const {
    if (state.unanswered != nullptr) {
      // The same request again, from the same critique.
      Action again = *state.unanswered;
      again.id = id_of(round);
      again.temperature = changed_temperature(options_.temperature, state.unusable);
      return again;
    }
    if (state.best != nullptr && state.failures >= options_.patience) state.give_up();
    const bool failed = state.failures > 0;
    const auto* base = failed ? state.judged.back() : state.best;
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
    if (failed) escalate(action, history, state);
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

  /// The critic after `round`. It reads the kernel of that round, or, after a failure, the best one again; then it is
  /// asked at another temperature.
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

  void escalate(Action& action, const History& history, RoundState& state) const {
    if (!is_stuck(history, state.judged)) return;
    // A restart would ignore the critique of the failure.
    while (state.escalations < options_.escalations.size() && options_.escalations[state.escalations] == k_restart)
      ++state.escalations;
    if (state.escalations >= options_.escalations.size()) return;
    action.variant = options_.escalations[state.escalations++];
    action.temperature = changed_temperature(options_.temperature, static_cast<int>(state.escalations));
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
