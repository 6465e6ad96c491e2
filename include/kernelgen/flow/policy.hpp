#pragma once

/// \file
/// Policy: decides which steps a search takes. Decisions are pure; the engine carries them out.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/flow/stages.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The next step of a policy.
struct Decision {
  /// Actions that must finish next. Running and finished ones may be among them.
  std::vector<Action> actions;
  /// Ids of correct results that must have a profile before the policy goes on (ActionResult::profile). Without a
  /// profiler, the profile says that there is none.
  std::vector<std::string> profiles;
  /// Id of the action with the best candidate so far; empty: none is correct.
  std::string best;
  /// True if the search is over.
  bool finished = false;
  /// The reason for the end of the search, in one line.
  std::string reason;
};

/// What a policy may know beside the history. The same at every resume.
struct SearchFacts {
  /// nullptr: it is not described.
  const TaskDescription* task = nullptr;
  Target target = Target::Cpp;
  /// Threads of a CPU that a kernel may use; unset for other targets than `cpp`, and where it is unknown.
  std::optional<int> threads{};
  /// Ids of the actions that began before the run was continued (FlowRequest::continues). nullptr: it was not.
  const std::set<std::string>* earlier = nullptr;
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
  /// The same for policies that want to know the facts as well; this is what the engine calls. Unless overridden it is
  /// next(), with the best of all results where the run was continued, so that the best never gets worse.
  [[nodiscard]] virtual Decision decide(const History& history, const SearchFacts& facts) const;
  /// Upper bound on the actions of a search, without the known results. Unset: the policy cannot tell.
  [[nodiscard]] virtual std::optional<int> max_actions() const { return std::nullopt; }
};

/// The escalation that starts again from the task, with another strategy hint, instead of repairing.
inline constexpr const char* k_restart = "restart";
/// The default escalations: requests that a repair chain makes, one after the other and each once, when the same error
/// or the same code comes back. They are names of repair prompts, and k_restart.
[[nodiscard]] std::vector<std::string> default_escalations();

/// Options for repairing a failed candidate.
struct RepairOptions {
  int max_attempts = 4;
  double temperature = 0.7;
  /// Empty: a candidate that fails again as before is given up.
  std::vector<std::string> escalations = default_escalations();
  /// Strategy hints for a restart, used in turn from the one after that of the chain's root. Empty: a restart has none.
  std::vector<std::string> strategies{};
};

/// Whether a correct kernel is profiled before the next prompt about it: an analysis, a critique, a stage or another
/// attempt. This needs a profiler.
enum class ProfileUse { Never, BeforeNextPrompt };

/// Options of the hybrid policy: seeds -> repairs -> analysis -> optimized kernel -> repairs -> stages.
struct HybridOptions {
  int seeds = 2;
  /// Whether the search starts from a kernel besides, as if it were a seed: FlowRequest::start.
  bool has_start = false;
  /// Strategy hints of the seeds, used in turn. Empty: seeds differ by temperature alone.
  std::vector<std::string> strategies;
  double temperature = 0.7;
  int seed_repairs = 4;
  int optimize_repairs = 3;
  int stage_repairs = 1;
  /// Whether seeds are analysed. Without that there are no optimized kernels.
  bool analyze = true;
  /// Names of stages, in their order. k_auto_stages stands for those that suit the task.
  std::vector<std::string> stages{std::string(k_auto_stages)};
  /// Maximal number of kernels for one stage, without repairs: it is asked for again while it gains, and once more,
  /// with the numbers, after a kernel that is no faster or unchanged.
  int stage_tries = 3;
  /// The stages are skipped when the best kernel is persistent and its score is at least this; 0: never.
  double skip_stages_score = 0;
  /// The least gain in score for which a stage is kept, as a fraction of the best score.
  double min_stage_gain = 0.02;
  /// Seeds are asked for one after the other until a score is at least this; 0: all at once.
  double stop_score = 0;
  std::vector<std::string> escalations = default_escalations();
  /// A kernel that takes at most this many times its floor (ActionResult::headroom) is neither analysed nor tuned; 0:
  /// every kernel is.
  double floor_ratio = 1.1;
  /// Whether profiles are taken before an analysis and before each stage.
  ProfileUse profiles = ProfileUse::Never;
  /// Whether stages are skipped if the profile shows their aim as reached; see all_stages().
  EarlyExit early_exit = EarlyExit::No;
};

/// Makes the hybrid policy. Options out of range are clamped to the nearest sensible value.
[[nodiscard]] std::unique_ptr<Policy> make_hybrid_policy(HybridOptions options);

/// Options of the one-shot policy: independent samples of the seed prompt, the control of every study.
struct OneShotOptions {
  int samples = 1;
  double temperature = 0.7;
};
/// The policy "one-shot".
[[nodiscard]] std::unique_ptr<Policy> make_one_shot_policy(OneShotOptions options);

/// Options of the reflect policy: attempts of several samples each. Every attempt after the first starts from feedback
/// on the best sample so far.
struct ReflectOptions {
  int attempts = 3;
  int samples = 3;
  double temperature = 0.7;
  /// No further attempt is made once a score is at least this.
  double stop_score = 1.0;
  /// Whether a correct sample below the stop score is profiled before the next attempt starts from it.
  ProfileUse profiles = ProfileUse::Never;
};
/// The policy "reflect".
[[nodiscard]] std::unique_ptr<Policy> make_reflect_policy(ReflectOptions options);

/// Options of the rounds policy, with a coder and a critic. In every round the critic says what is wrong with the last
/// kernel, or what limits the best one, and the coder writes the next kernel from that.
struct RoundsOptions {
  /// Maximal number of kernels.
  int rounds = 10;
  double temperature = 0.7;
  /// Number of failures in a row after which the next kernel starts from the best one again.
  int patience = 3;
  /// No further round is made once a score is at least this; 0: all rounds.
  double stop_score = 0;
  /// Strategy hint of the first kernel. Empty: none.
  std::string strategy;
  std::vector<std::string> escalations = default_escalations();
  /// The same as HybridOptions::floor_ratio.
  double floor_ratio = 1.1;
  ProfileUse profiles = ProfileUse::Never;
};
/// The policy "rounds".
[[nodiscard]] std::unique_ptr<Policy> make_rounds_policy(RoundsOptions options);

/// Options of the evolve policy: islands, each with a small archive of diverse correct kernels. In every generation
/// each island gets one child, made of one kernel of its archive or of two.
struct EvolveOptions {
  int islands = 2;
  /// Whether the first island has a kernel to start from, besides its seed: FlowRequest::start.
  bool has_start = false;
  /// Maximal number of kernels in the archive of an island.
  int archive = 4;
  /// Maximal number of children of an island; a budget may end the search earlier.
  int generations = 10;
  /// Strategy hints of the seeds, used in turn. Empty: seeds differ by temperature alone.
  std::vector<std::string> strategies;
  double temperature = 0.7;
  int seed_repairs = 4;
  int child_repairs = 1;
  /// No further generation is begun once a score is at least this; 0: all generations.
  double stop_score = 0;
  std::vector<std::string> escalations = default_escalations();
  /// The same as HybridOptions::floor_ratio.
  double floor_ratio = 1.1;
  /// Whether a kernel is profiled before the prompt for its child.
  ProfileUse profiles = ProfileUse::Never;
};
/// The policy "evolve". Options out of range are clamped to the nearest sensible value.
[[nodiscard]] std::unique_ptr<Policy> make_evolve_policy(EvolveOptions options);

/// Makes the policy that repairs the candidate of the action "start" of the history.
[[nodiscard]] std::unique_ptr<Policy> make_repair_policy(RepairOptions options);

}  // namespace v0
}  // namespace kernelgen
