#include <algorithm>
#include <utility>

#include <kernelgen/flow/policy.hpp>

#include "flow/option_text.hpp"
#include "flow/repair_chain.hpp"

namespace kernelgen {
inline namespace v0 {

Decision Policy::decide(const History& history, const SearchFacts& facts) const {
  auto decision = next(history);
  if (facts.earlier == nullptr) return decision;
  const auto* best = best_of(history);
  const auto* chosen = find_result(history, decision.best);
  if (best != nullptr && (chosen == nullptr || score_or_zero(*best) > score_or_zero(*chosen)))
    decision.best = best->action.id;
  return decision;
}

namespace {

Decision with_best(const History& history) {
  Decision decision;
  if (const auto* best = best_of(history)) decision.best = best->action.id;
  return decision;
}

Decision finish(Decision decision, std::string reason) {
  decision.actions.clear();
  decision.finished = true;
  decision.reason = std::move(reason);
  return decision;
}

class OneShotPolicy final : public Policy {
 public:
  explicit OneShotPolicy(OneShotOptions options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "one-shot"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"samples", std::to_string(options_.samples)}, {"temperature", to_text(options_.temperature)}};
  }
  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision = with_best(history);
    for (int index = 1; index <= options_.samples; ++index) {
      Action action;
      action.id = "sample" + std::to_string(index);
      action.kind = PromptKind::Seed;
      action.temperature = options_.temperature;
      if (find_result(history, action.id) == nullptr) decision.actions.push_back(std::move(action));
    }
    return decision.actions.empty() ? finish(std::move(decision), "all samples are done") : decision;
  }
  [[nodiscard]] std::optional<int> max_actions() const override { return options_.samples; }

 private:
  OneShotOptions options_;
};

/// Ranks candidates by the stage that they reached: feedback on the most advanced one helps most.
int progress_of(const ActionResult& result) {
  if (!result.record) return 0;
  switch (result.record->outcome.kind) {
    case OutcomeKind::Correct:
      return 6;
    case OutcomeKind::Suspect:
    case OutcomeKind::Sanitizer:
    case OutcomeKind::OffDistribution:
    case OutcomeKind::LibraryUse:
      return 5;
    case OutcomeKind::Accuracy:
    case OutcomeKind::Race:
    case OutcomeKind::MutatedInput:
      return 4;
    case OutcomeKind::Launch:
    case OutcomeKind::DeviceFault:
    case OutcomeKind::Crash:
    case OutcomeKind::Timeout:
    case OutcomeKind::OutOfMemory:
    case OutcomeKind::WeightSync:
      return 3;
    case OutcomeKind::Interface:
    case OutcomeKind::Resource:
    case OutcomeKind::Import:
      return 2;
    default:
      return 1;
  }
}

/// The candidate that the next attempt starts from; nullptr when there is none. The first id wins a tie.
const ActionResult* most_advanced(const History& history) {
  const ActionResult* found = nullptr;
  const auto rank = [](const ActionResult& result) {
    return std::pair(progress_of(result), result.score().value_or(0));
  };
  for (const auto& [id, result] : history)
    if (result.candidate && (found == nullptr || rank(result) > rank(*found))) found = &result;
  return found;
}

class ReflectPolicy final : public Policy {
 public:
  explicit ReflectPolicy(ReflectOptions options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "reflect"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"attempts", std::to_string(options_.attempts)},
            {"samples", std::to_string(options_.samples)},
            {"temperature", to_text(options_.temperature)},
            {"stop_score", to_text(options_.stop_score)},
            {"profiles", options_.profiles == ProfileUse::Never ? "never" : "before the next prompt"}};
  }

  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision = with_best(history);
    // Only earlier attempts count: the base of a sample must not depend on other samples of its attempt.
    History earlier;
    for (int attempt = 1; attempt <= options_.attempts; ++attempt) {
      const auto* base = most_advanced(earlier);
      const auto* best = best_of(earlier);
      if (best != nullptr && best->score().value_or(0) >= options_.stop_score)
        return finish(std::move(decision), stop_score_reason(options_.stop_score));
      if (base != nullptr && needs_profile(*base, options_.profiles)) {
        decision.profiles.push_back(base->action.id);
        return decision;
      }
      add_samples(history, attempt, base, decision, earlier);
      if (!decision.actions.empty()) return decision;
    }
    return finish(std::move(decision), "all attempts are done");
  }

  [[nodiscard]] std::optional<int> max_actions() const override { return options_.attempts * options_.samples; }

 private:
  /// Adds the missing samples of an attempt to the decision, and the finished ones to `finished`.
  void add_samples(const History& history, int attempt, const ActionResult* base, Decision& decision,
                   History& finished) const {
    const std::string base_id = base == nullptr ? "" : base->action.id;
    for (int sample = 1; sample <= options_.samples; ++sample) {
      Action action;
      action.id = "attempt" + std::to_string(attempt) + "/sample" + std::to_string(sample);
      action.kind = base == nullptr ? PromptKind::Seed : PromptKind::Reflect;
      action.base = base_id;
      action.temperature = options_.temperature;
      const auto* result = find_result(history, action.id);
      if (result == nullptr)
        decision.actions.push_back(std::move(action));
      else
        finished[result->action.id] = *result;
    }
  }

  ReflectOptions options_;
};

class RepairPolicy final : public Policy {
 public:
  explicit RepairPolicy(RepairOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "repair"; }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"max_attempts", std::to_string(options_.max_attempts)},
            {"temperature", to_text(options_.temperature)},
            {"escalations", to_text(options_.escalations)},
            {"strategies", to_text(options_.strategies)}};
  }
  [[nodiscard]] Decision next(const History& history) const override {
    Decision decision = with_best(history);
    const auto* start = find_result(history, start_action().id);
    if (start == nullptr) return finish(std::move(decision), "there is nothing to repair");
    const auto chain = advance_repair_chain(history, start->action, options_);
    if (chain.correct != nullptr) return finish(std::move(decision), "correct");
    if (!chain.next) return finish(std::move(decision), "all repairs failed");
    decision.actions.push_back(*chain.next);
    return decision;
  }
  [[nodiscard]] std::optional<int> max_actions() const override { return std::max(options_.max_attempts, 0); }

 private:
  RepairOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_one_shot_policy(OneShotOptions options) {
  options.samples = std::max(options.samples, 1);
  return std::make_unique<OneShotPolicy>(options);
}

std::unique_ptr<Policy> make_reflect_policy(ReflectOptions options) {
  options.attempts = std::max(options.attempts, 1);
  options.samples = std::max(options.samples, 1);
  return std::make_unique<ReflectPolicy>(options);
}

std::unique_ptr<Policy> make_repair_policy(RepairOptions options) {
  return std::make_unique<RepairPolicy>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
