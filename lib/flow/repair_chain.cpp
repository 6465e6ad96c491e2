#include "flow/repair_chain.hpp"

#include <algorithm>
#include <cmath>

#include <kernelgen/prompt/error_classifier.hpp>

#include "flow/lineage.hpp"
#include "flow/option_text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A text for the error of a result, without its line number or the size of its deviation.
std::string fingerprint_of(const ActionResult& result) {
  if (!result.record) return "";
  return classify_error(*result.record, result.candidate ? result.candidate->source : "").fingerprint;
}

bool is_judged(const ActionResult& result) { return result.candidate && result.record; }

double rounded(double number, double steps) { return std::round(number * steps) / steps; }

/// Follows a repair chain through the history.
class RepairChain {
 public:
  RepairChain(const History& history, const Action& root, const RepairOptions& options)
      : history_(history), root_(root), options_(options) {}

  /// The next action after the results so far; nothing if everything was tried.
  std::optional<Action> next(int attempt) {
    Action action = root_;
    if (attempt > 0) action.id = root_.id + "/repair" + std::to_string(attempt);
    if (!judged_.empty()) {
      const bool stuck = judged_since_escalation_ && is_stuck(history_, judged_);
      if (stuck && escalations_ >= options_.escalations.size()) return std::nullopt;
      action = stuck ? escalate(std::move(action)) : repair(std::move(action), "");
    }
    vary_temperature(action);
    asked_.push_back(action);
    return action;
  }

  void add(const ActionResult& result) {
    if (!is_judged(result)) return;
    judged_.push_back(&result);
    judged_since_escalation_ = true;
  }

  [[nodiscard]] const ActionResult* last() const { return judged_.empty() ? nullptr : judged_.back(); }

 private:
  Action escalate(Action action) {
    const auto& name = options_.escalations[escalations_++];
    judged_since_escalation_ = false;
    if (name != k_restart) action = repair(std::move(action), name);
    if (name == k_restart && root_.kind == PromptKind::Seed) action.variant = next_strategy();
    action.temperature = changed_temperature(action.temperature, static_cast<int>(escalations_));
    return action;
  }

  Action repair(Action action, const std::string& variant) {
    action.kind = PromptKind::Repair;
    action.base = judged_.back()->action.id;
    action.second_base.clear();
    action.analysis.clear();
    action.variant = variant;
    action.temperature = options_.temperature;
    return action;
  }

  /// Changes the temperature of an action that equals an earlier one.
  void vary_temperature(Action& action) const {
    constexpr int k_most_steps = 16;
    const double wanted = action.temperature;
    const auto same = [&](Action earlier) {
      earlier.id = action.id;
      return earlier == action;
    };
    for (int step = 1; step <= k_most_steps && std::any_of(asked_.begin(), asked_.end(), same); ++step)
      action.temperature = changed_temperature(wanted, step);
  }

  /// The next strategy hint in turn, from the one after the root's own.
  std::string next_strategy() {
    const auto& all = options_.strategies;
    if (all.empty()) return "";
    const auto own = std::find(all.begin(), all.end(), root_.variant);
    const std::size_t start = own == all.end() ? 0 : static_cast<std::size_t>(own - all.begin()) + 1;
    return all[(start + restarts_++) % all.size()];
  }

  const History& history_;
  const Action& root_;
  const RepairOptions& options_;
  std::vector<const ActionResult*> judged_;
  std::vector<Action> asked_;
  /// Number of escalations that were asked for.
  std::size_t escalations_ = 0;
  std::size_t restarts_ = 0;
  bool judged_since_escalation_ = true;
};

}  // namespace

std::vector<std::string> default_escalations() { return {"rethink", "simplify", "other_algorithm", k_restart}; }

Action start_action() {
  Action action;
  action.id = "start";
  return action;
}

const ActionResult* find_result(const History& history, const std::string& id) {
  const auto found = history.find(id);
  return found == history.end() ? nullptr : &found->second;
}

double score_or_zero(const ActionResult& result) { return result.score().value_or(0); }

bool same_failure(const ActionResult& a, const ActionResult& b) {
  const auto fingerprint = fingerprint_of(a);
  return !fingerprint.empty() && fingerprint == fingerprint_of(b);
}

bool is_stuck(const History& history, const std::vector<const ActionResult*>& judged) {
  if (judged.empty()) return false;
  const auto& last = *judged.back();
  const auto same_code = [&](const auto* earlier) {
    return earlier->record && earlier->candidate && earlier->candidate->id == last.candidate->id;
  };
  const auto lineage = lineage_of(history, last.action);
  if (std::any_of(lineage.begin(), lineage.end(), same_code)) return true;
  return std::any_of(judged.begin(), judged.end() - 1,
                     [&](const auto* earlier) { return same_failure(*earlier, last); });
}

double changed_temperature(double temperature, int steps) {
  constexpr double k_step = 0.1, k_hottest = 1.0, k_hundredths = 100;
  if (steps <= 0) return temperature;
  // Higher temperatures first, then lower ones, then those between.
  for (const double first : {k_step, k_step / 2}) {
    for (const double direction : {1.0, -1.0}) {
      for (double offset = first;; offset += k_step) {
        const double changed = rounded(temperature + direction * offset, k_hundredths);
        if (changed < 0 || changed > std::max(k_hottest, temperature)) break;
        if (--steps == 0) return changed;
      }
    }
  }
  return temperature;
}

bool is_near_floor(const ActionResult& result, double floor_ratio) {
  return floor_ratio > 0 && result.headroom && result.headroom->ratio <= floor_ratio;
}

std::string near_floor_reason(const ActionResult& result) {
  return "no further request is worth its price: " + result.headroom.value_or(Headroom{}).sentence;
}

std::string stop_score_reason(double stop_score) {
  return "the best score is at least " + to_text(stop_score) + ", at which the search ends";
}

bool needs_profile(const ActionResult& result, ProfileUse use) {
  return use == ProfileUse::BeforeNextPrompt && result.correct() && !result.profile;
}

RepairChainStatus advance_repair_chain(const History& history, const Action& root, const RepairOptions& options) {
  RepairChainStatus status;
  RepairChain chain(history, root, options);
  for (int attempt = 0; attempt <= std::max(options.max_attempts, 0); ++attempt) {
    auto action = chain.next(attempt);
    if (!action) return status;
    const auto* result = find_result(history, action->id);
    if (result == nullptr) {
      status.next = std::move(action);
      return status;
    }
    chain.add(*result);
    status.last = chain.last();
    if (result->correct()) {
      status.correct = result;
      return status;
    }
  }
  return status;
}

}  // namespace v0
}  // namespace kernelgen
