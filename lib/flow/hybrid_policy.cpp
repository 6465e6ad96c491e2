#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include <kernelgen/flow/policy.hpp>

#include "flow/option_text.hpp"
#include "flow/repair_chain.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Analyses are parsed, so they need no variety.
constexpr double k_analysis_temperature = 0.2;

// What the next prompt of a stage says. The numbers stand beside the attempts in the prompt: in a text of ours they
// would make it another prompt on every machine.
constexpr std::string_view k_after_gain =
    "The kernel above is the last answer to this same focus. Go on in this focus if there is more to gain; if there is "
    "not, return the file unchanged.";
constexpr std::string_view k_after_loss =
    "The last answer to this focus was correct, but not faster than the kernel above by as much as counts. Its numbers "
    "are among the earlier attempts. Take another way within this focus.";
constexpr std::string_view k_after_failure =
    "The last answer to this focus was not correct; its failure is among the earlier attempts. Take a way within this "
    "focus that cannot fail so.";
constexpr std::string_view k_after_no_change =
    "The last answer to this focus was the kernel above, unchanged but for comments and blanks. Look once more: name "
    "what limits this kernel "
    "within this focus, and change that. Return it unchanged only if nothing is left.";

class HybridPolicy final : public Policy {
 public:
  explicit HybridPolicy(HybridOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "hybrid"; }

  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options() const override {
    return {{"seeds", std::to_string(options_.seeds)},
            {"strategies", to_text(options_.strategies)},
            {"temperature", to_text(options_.temperature)},
            {"seed_repairs", std::to_string(options_.seed_repairs)},
            {"optimize_repairs", std::to_string(options_.optimize_repairs)},
            {"stage_repairs", std::to_string(options_.stage_repairs)},
            {"stage_tries", std::to_string(options_.stage_tries)},
            {"analyze", options_.analyze ? "yes" : "no"},
            {"stages", to_text(options_.stages)},
            {"skip_stages_score", to_text(options_.skip_stages_score)},
            {"min_stage_gain", to_text(options_.min_stage_gain)},
            {"stop_score", to_text(options_.stop_score)},
            {"escalations", to_text(options_.escalations)},
            {"floor_ratio", to_text(options_.floor_ratio)},
            {"profiles", options_.profiles == ProfileUse::Never ? "never" : "before the next prompt"},
            {"early_exit", options_.early_exit == EarlyExit::No ? "no" : "yes"}};
  }

  [[nodiscard]] Decision next(const History& history) const override { return decide(history, {}); }

  [[nodiscard]] Decision decide(const History& history, const SearchFacts& facts) const override {
    Decision decision;
    const ActionResult* best = search(history, decision);
    for (const auto& id : earlier_ids(facts)) best = better_of(best, find_result(history, id));
    if (best != nullptr) decision.best = best->action.id;
    if (!decision.actions.empty() || !decision.profiles.empty()) return decision;
    // What was open when the run was continued may be the best one yet.
    for (const auto& id : earlier_ids(facts))
      if (find_result(history, id) == nullptr) return decision;
    if (best == nullptr) return finish(std::move(decision), "no seed and no optimized kernel was correct");
    if (!best->score()) return finish(std::move(decision), "the best kernel has no time that counts; nothing to tune");
    if (is_near_floor(*best, options_.floor_ratio)) return finish(std::move(decision), near_floor_reason(*best));
    const bool skips = options_.skip_stages_score > 0 && score_or_zero(*best) >= options_.skip_stages_score;
    if (skips && best->recurrence == Recurrence::Persistent)
      return finish(std::move(decision), "the best kernel is persistent and has a score of at least " +
                                             to_text(options_.skip_stages_score) + "; stages are skipped");
    return tune(history, facts, *best, std::move(decision));
  }

  [[nodiscard]] std::optional<int> max_actions() const override {
    const auto chain = [](int repairs) { return 1 + std::max(repairs, 0); };
    // A seed is followed by its repairs, an analysis, and an optimized kernel with its repairs.
    const int after_seed = options_.analyze ? 1 + chain(options_.optimize_repairs) : 0;
    const int start = options_.has_start ? chain(options_.seed_repairs) - 1 + after_seed : 0;
    return start + options_.seeds * (chain(options_.seed_repairs) + after_seed) +
           static_cast<int>(most_stages(options_.stages)) * options_.stage_tries * chain(options_.stage_repairs);
  }

 private:
  /// Ids of the actions before the run was continued.
  static const std::set<std::string>& earlier_ids(const SearchFacts& facts) {
    static const std::set<std::string> k_none;
    return facts.earlier == nullptr ? k_none : *facts.earlier;
  }

  /// The correct one with the higher score, the first of two equal ones; nullptr where none is correct.
  static const ActionResult* better_of(const ActionResult* first, const ActionResult* second) {
    if (second == nullptr || !second->correct()) return first;
    return first == nullptr || score_or_zero(*second) > score_or_zero(*first) ? second : first;
  }

  static Decision finish(Decision decision, std::string reason) {
    decision.finished = true;
    decision.reason = std::move(reason);
    return decision;
  }

  [[nodiscard]] RepairOptions repairs(int attempts) const {
    return {.max_attempts = attempts,
            .temperature = options_.temperature,
            .escalations = options_.escalations,
            .strategies = options_.strategies};
  }

  /// The actions at which repair chains begin: that of the kernel to start from, and the seeds.
  [[nodiscard]] std::vector<Action> roots() const {
    std::vector<Action> roots;
    if (options_.has_start) roots.push_back(start_action());
    for (int index = 0; index < options_.seeds; ++index) roots.push_back(seed(index));
    return roots;
  }

  [[nodiscard]] Action seed(int index) const {
    Action action;
    action.id = "seed" + std::to_string(index + 1);
    action.kind = PromptKind::Seed;
    action.temperature = options_.temperature;
    if (options_.strategies.empty()) {
      // Without strategies the seeds differ by temperature only.
      constexpr double k_step = 0.15;
      action.temperature = std::min(options_.temperature + k_step * index, std::max(1.0, options_.temperature));
    } else {
      action.variant = options_.strategies[static_cast<std::size_t>(index) % options_.strategies.size()];
    }
    return action;
  }

  /// Adds the seeds, analyses and optimized kernels that are wanted; returns the best correct result so far, or
  /// nullptr. All seeds are asked for at once, unless a good one ends the search. Then they are asked for one after the
  /// other, so that the search does not depend on the order of the answers.
  const ActionResult* search(const History& history, Decision& decision) const {
    const ActionResult* best = nullptr;
    const auto consider = [&](const ActionResult* result) { best = better_of(best, result); };
    for (const auto& root : roots()) {
      const auto chain = advance_repair_chain(history, root, repairs(options_.seed_repairs));
      consider(chain.correct);
      if (chain.next)
        decision.actions.push_back(*chain.next);
      else if (chain.last != nullptr)
        consider(optimize(history, root.id, *chain.last, decision));
      const bool enough = best != nullptr && score_or_zero(*best) >= options_.stop_score;
      const bool waits = !decision.actions.empty() || !decision.profiles.empty();
      if (options_.stop_score > 0 && (enough || waits)) break;
    }
    return best;
  }

  /// Adds the analysis and the optimized kernel after a seed with a finished chain. It need not be correct: a better
  /// algorithm may still help it.
  const ActionResult* optimize(const History& history, const std::string& seed_id, const ActionResult& base,
                               Decision& decision) const {
    if (!options_.analyze || is_near_floor(base, options_.floor_ratio)) return nullptr;
    if (needs_profile(base, options_.profiles)) {
      decision.profiles.push_back(base.action.id);
      return nullptr;
    }
    Action analysis;
    analysis.id = seed_id + "/analysis";
    analysis.kind = PromptKind::Analysis;
    analysis.base = base.action.id;
    analysis.temperature = std::min(k_analysis_temperature, options_.temperature);
    const auto* answer = find_result(history, analysis.id);
    if (answer == nullptr) {
      decision.actions.push_back(analysis);
      return nullptr;
    }
    if (!answer->analysis || !answer->analysis->worth_optimizing) return nullptr;
    Action root;
    root.id = seed_id + "/optimize";
    root.kind = PromptKind::Optimize;
    root.base = base.action.id;
    root.analysis = analysis.id;
    root.temperature = options_.temperature;
    const auto chain = advance_repair_chain(history, root, repairs(options_.optimize_repairs));
    if (chain.next) decision.actions.push_back(*chain.next);
    return chain.correct;
  }

  /// A stage with its number in the run, from 1.
  struct NumberedStage {
    std::string name;
    int number = 1;
    /// What its first prompt says about answers to the same focus before the run was continued.
    std::string instructions{};
  };

  /// The highest number of a stage before the run was continued; 0 without any.
  static int last_number(const SearchFacts& facts) {
    constexpr std::string_view k_stem = "stage";
    int last = 0;
    for (const std::string_view id : earlier_ids(facts)) {
      int number = 0;
      if (!id.starts_with(k_stem)) continue;
      std::from_chars(id.data() + k_stem.size(), id.data() + id.size(), number);
      last = std::max(last, number);
    }
    return last;
  }

  /// What to say about the last answer to this focus before the run was continued, if it is this kernel or started from
  /// it.
  static std::string words_on_earlier(const History& history, const SearchFacts& facts, const std::string& name,
                                      const ActionResult& kernel) {
    const ActionResult* last = nullptr;
    for (const auto& id : earlier_ids(facts)) {
      const auto* result = find_result(history, id);
      const bool is_about = result != nullptr && result->action.kind == PromptKind::Stage &&
                            result->action.variant == name && result->candidate &&
                            (id == kernel.action.id || result->action.base == kernel.action.id);
      if (is_about && (last == nullptr || result->number > last->number)) last = result;
    }
    if (last == nullptr) return "";
    if (last->action.id == kernel.action.id) return std::string(k_after_gain);
    if (!last->correct()) return std::string(k_after_failure);
    return std::string(is_unchanged(*last, kernel) ? k_after_no_change : k_after_loss);
  }

  [[nodiscard]] Action stage_action(const NumberedStage& stage, int attempt, const ActionResult& base,
                                    std::string instructions) const {
    Action action;
    action.id = "stage" + std::to_string(stage.number);
    if (attempt > 1) action.id += "/again" + std::to_string(attempt - 1);
    action.kind = PromptKind::Stage;
    action.base = base.action.id;
    action.variant = stage.name;
    action.temperature = options_.temperature;
    action.instructions = std::move(instructions);
    return action;
  }

  [[nodiscard]] bool gains(const ActionResult& answer, const ActionResult& best) const {
    return score_or_zero(answer) > score_or_zero(best) * (1 + options_.min_stage_gain);
  }

  [[nodiscard]] static TunedKernel tuned(const ActionResult& kernel, const SearchFacts& facts) {
    return {.profile = kernel.profile ? &*kernel.profile : nullptr,
            .headroom = kernel.headroom,
            .recurrence = kernel.recurrence,
            .threads = facts.threads};
  }

  /// Earlier versions knew the same code only by its id.
  [[nodiscard]] static bool is_unchanged(const ActionResult& answer, const ActionResult& base) {
    return answer.status == ActionStatus::Unchanged || answer.candidate->id == base.candidate->id;
  }

  /// Asks for one stage after the other. Each starts from the best kernel and replaces it only when it is faster.
  [[nodiscard]] Decision tune(const History& history, const SearchFacts& facts, const ActionResult& start,
                              Decision decision) const {
    const ActionResult* best = &start;
    std::string skipped;
    const auto stages = expand_stages(options_.stages, {facts.task, facts.target, start.recurrence});
    int number = last_number(facts);
    for (const auto& name : stages) {
      // A stage that is skipped keeps its number.
      ++number;
      if (is_near_floor(*best, options_.floor_ratio)) return finish(std::move(decision), near_floor_reason(*best));
      if (needs_profile(*best, options_.profiles)) {
        decision.profiles.push_back(best->action.id);
        return decision;
      }
      if (auto reason = reason_to_skip(name, tuned(*best, facts), options_.early_exit)) {
        skipped += (skipped.empty() ? "; skipped " : ", ") + name + " (" + *reason + ')';
        continue;
      }
      best = tune_stage(history, {name, number, words_on_earlier(history, facts, name, *best)}, *best, decision);
      decision.best = best->action.id;
      if (!decision.actions.empty() || !decision.profiles.empty()) return decision;
    }
    return finish(std::move(decision), stages.empty()
                                           ? "the seeds and their optimized kernels are done; no stages follow"
                                           : "all stages are done" + skipped);
  }

  /// Adds the next action of a stage, or a profile that it needs. Returns the best kernel so far.
  const ActionResult* tune_stage(const History& history, const NumberedStage& stage, const ActionResult& start,
                                 Decision& decision) const {
    const ActionResult* best = &start;
    std::string instructions = stage.instructions;
    bool has_lost = false;
    for (int attempt = 1; attempt <= options_.stage_tries; ++attempt) {
      if (is_near_floor(*best, options_.floor_ratio)) break;
      if (needs_profile(*best, options_.profiles)) {
        decision.profiles.push_back(best->action.id);
        break;
      }
      const Action root = stage_action(stage, attempt, *best, std::move(instructions));
      const auto chain = advance_repair_chain(history, root, repairs(options_.stage_repairs));
      if (chain.next) decision.actions.push_back(*chain.next);
      if (chain.next || chain.correct == nullptr) break;
      if (gains(*chain.correct, *best)) {
        instructions = k_after_gain;
        best = chain.correct;
        has_lost = false;
      } else if (has_lost) {
        break;
      } else {
        instructions = is_unchanged(*chain.correct, *best) ? k_after_no_change : k_after_loss;
        has_lost = true;
      }
    }
    return best;
  }

  HybridOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_hybrid_policy(HybridOptions options) {
  options.seeds = std::max(options.seeds, options.has_start ? 0 : 1);
  options.stage_tries = std::max(options.stage_tries, 1);
  return std::make_unique<HybridPolicy>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
