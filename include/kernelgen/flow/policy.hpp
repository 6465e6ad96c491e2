#pragma once

/// \file
/// Policy: which steps a search takes. Pure decisions; the engine has the effects.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/flow/stages.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What a policy wants next.
struct Decision {
  /// All actions it wants to see finished next; those that run or are finished already may be among them.
  std::vector<Action> actions;
  /// Ids of correct results whose profile it wants to see before it goes on (ActionResult::profile). Where there is no
  /// profiler, the profile is there all the same and says so.
  std::vector<std::string> profiles;
  /// The action whose candidate is the best so far; empty: none is correct.
  std::string best;
  /// No more actions, ever, for this history.
  bool finished = false;
  /// Why it is finished, in one line.
  std::string reason;
};

/// A search strategy. Implementations are immutable.
class Policy {
 public:
  virtual ~Policy() = default;
  /// Part of what a resumed run must have in common with the run before.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Its settings as `name value`; part of what a resumed run must have in common.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> options() const = 0;
  /// A function of the history alone, whatever the order in which actions finished. A decision without actions and
  /// profiles that is not finished, while nothing runs, is a bug.
  [[nodiscard]] virtual Decision next(const History& history) const = 0;
  /// No search takes more actions than this, known results not counted. Unset: the policy cannot tell.
  [[nodiscard]] virtual std::optional<int> max_actions() const { return std::nullopt; }
};

/// The escalation that is no repair: it begins anew from the task alone, with another strategy hint.
inline constexpr const char* k_restart = "restart";
/// What a repair chain asks for when the same error, or the same code, comes back: one after the other, each once.
/// Names of repair prompts, and k_restart.
[[nodiscard]] std::vector<std::string> default_escalations();

/// How often and how a failed candidate is repaired.
struct RepairOptions {
  int max_attempts = 4;
  double temperature = 0.7;
  /// Empty: a candidate that fails again as before is given up.
  std::vector<std::string> escalations = default_escalations();
  /// Strategy hints for a restart, used in turn from the one after that of the chain's root. Empty: a restart has none.
  std::vector<std::string> strategies{};
};

/// Whether kernels are profiled for what is asked next. The engine needs a profiler for that.
enum class ProfileUse { Never, BeforeAdvice };

/// seeds -> repairs -> analysis -> optimized kernel -> repairs -> stages.
struct HybridOptions {
  int seeds = 2;
  /// Strategy hints of the seeds, used in turn. Empty: seeds differ by temperature alone.
  std::vector<std::string> strategies;
  double temperature = 0.7;
  int seed_repairs = 4;
  int optimize_repairs = 3;
  int stage_repairs = 1;
  std::vector<std::string> stages{"grid_and_parallel", "block_tiling", "memory_and_tuning"};
  /// The stages are skipped when the best kernel is persistent and its score is at least this.
  double threshold = 2.0;
  /// A stage is kept when it is faster than the best by this fraction.
  double epsilon = 0.02;
  /// Seeds one after the other, until a score is at least this; 0: all of them at once.
  double stop_at_score = 0;
  std::vector<std::string> escalations = default_escalations();
  /// A kernel whose time is at most this many times its floor (ActionResult::headroom) is neither analysed nor tuned;
  /// 0: every kernel is.
  double floor_ratio = 1.1;
  /// Profiles are taken before an analysis and before each stage.
  ProfileUse profiles = ProfileUse::Never;
  /// Stages whose aim the profile shows as reached are left out; see all_stages().
  EarlyExit early_exit = EarlyExit::No;
};

/// InvalidArgument is not possible: options out of range are clamped to the nearest sensible value.
[[nodiscard]] std::unique_ptr<Policy> make_hybrid_policy(HybridOptions options);

/// Independent samples of the seed prompt; the baseline of every study.
struct OneShotOptions {
  int samples = 1;
  double temperature = 0.7;
};
/// The policy "one-shot".
[[nodiscard]] std::unique_ptr<Policy> make_one_shot_policy(OneShotOptions options);

/// Attempts of several samples each; every attempt after the first starts from feedback on the best sample so far.
struct ReflectOptions {
  int attempts = 3;
  int samples = 3;
  double temperature = 0.7;
  /// Enough: no further attempt once a score is at least this.
  double goal = 1.0;
  /// A correct sample that did not reach the goal is profiled before the next attempt starts from it.
  ProfileUse profiles = ProfileUse::Never;
};
/// The policy "reflect".
[[nodiscard]] std::unique_ptr<Policy> make_reflect_policy(ReflectOptions options);

/// One coder, one critic: in every round the critic says what is wrong with the last kernel, or what holds the best one
/// up, and the coder writes the next one from that.
struct RoundsOptions {
  /// Kernels that are written at most.
  int rounds = 10;
  double temperature = 0.7;
  /// After so many failures in a row the next kernel starts from the best one again.
  int patience = 3;
  /// Enough: no further round once a score is at least this; 0: all rounds.
  double goal = 0;
  /// Strategy hint of the first kernel. Empty: none.
  std::string strategy;
  std::vector<std::string> escalations = default_escalations();
  /// The same as HybridOptions::floor_ratio.
  double floor_ratio = 1.1;
  ProfileUse profiles = ProfileUse::Never;
};
/// The policy "rounds".
[[nodiscard]] std::unique_ptr<Policy> make_rounds_policy(RoundsOptions options);

/// Repairs the candidate of the action "start" of the history.
[[nodiscard]] std::unique_ptr<Policy> make_repair_policy(RepairOptions options);

}  // namespace v0
}  // namespace kernelgen
