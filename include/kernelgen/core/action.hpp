#pragma once

/// \file
/// One step of a search and its result: the values that policies decide on and that the journal keeps.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/headroom.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/prompt.hpp>
#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How a kernel treats the time dimension of its task. Stored by name.
enum class Recurrence {
  Persistent,    ///< a loop that carries state stands inside a device kernel
  PerStep,       ///< the host launches kernels in a loop over steps
  NotRecurrent,  ///< neither
  Unknown,       ///< the source could not be understood
};
[[nodiscard]] std::string_view to_string(Recurrence recurrence);
[[nodiscard]] std::optional<Recurrence> parse_recurrence(std::string_view name);

/// The answer to an analysis prompt.
struct Analysis {
  bool worth_optimizing = true;
  std::string reason;
  std::string bottleneck;
  std::string method;
  std::string plan;
  /// The model's own words: "3x", "about 2 times".
  std::string expected_speedup;
  /// "full_sequence", "final_state_only" or "other".
  std::string output_requirement;
  /// The real return value of the reference, where the model's differs. Empty: no contradiction is known.
  std::string correction{};
  bool operator==(const Analysis&) const = default;
};

/// One request to a model, and for code the evaluation of what it wrote. Two actions with the same id are the same.
struct Action {
  /// The action's place in the tree: "seed1", "seed1/repair2", "seed1/analysis", "stage1".
  std::string id;
  PromptKind kind = PromptKind::Seed;
  /// Id of the action with the candidate to start from. Empty: from the task alone.
  std::string base;
  /// Id of the action with the analysis or critique to follow. Empty: none.
  std::string analysis;
  /// Name of the seed's strategy hint, of the stage, of the way to repair, or of the critic's subject ("correctness",
  /// "optimization"). Empty: none.
  std::string variant;
  double temperature = 0.7;
  /// What a policy has to say to the model beside what the prompt's kind says: a section of its own in the prompt,
  /// unchanged. Empty: nothing.
  std::string instructions{};
  /// Id of the action with the other candidate of a crossover. Empty: there is none.
  std::string second_base{};
  bool operator==(const Action&) const = default;
};

/// How an action ended. Stored by name.
enum class ActionStatus {
  Evaluated,    ///< there is a candidate and a record
  Analyzed,     ///< there is an analysis or a critique
  NoCode,       ///< the reply held nothing that could be used
  Duplicate,    ///< the reply held a candidate that had been evaluated before; the record is the earlier one
  Unchanged,    ///< the reply to a stage held the kernel to tune, but for comments and blanks; the record is its own
  ModelFailed,  ///< no reply: refused, timed out, broken
  NotJudged,    ///< the machinery failed, so nothing is known about the candidate
};
[[nodiscard]] std::string_view to_string(ActionStatus status);
[[nodiscard]] std::optional<ActionStatus> parse_action_status(std::string_view name);

/// The result of an action.
struct ActionResult {
  Action action;
  /// Number in the names of the action's files: prompt_N.txt, code_N.cpp, ... Given once, never reused.
  int number = 0;
  ActionStatus status = ActionStatus::NoCode;
  /// One line for NoCode, ModelFailed and NotJudged.
  std::string message;
  std::optional<Candidate> candidate;
  std::optional<EvaluationRecord> record;
  std::optional<Analysis> analysis;
  /// The text of a critic.
  std::optional<std::string> critique;
  std::optional<Recurrence> recurrence;
  /// Distance of the kernel from its floor; absent where it is not correct or no floor is known.
  std::optional<Headroom> headroom;
  /// Profile of the kernel, once a policy asked for it; see Decision::profiles.
  std::optional<Profile> profile;
  /// What the reply says that its code changed, in one line. Empty: nothing, or an earlier version recorded the result.
  std::string change{};

  /// True if the status is Evaluated, Duplicate or Unchanged, and the outcome is Correct.
  [[nodiscard]] bool correct() const;
  /// score_of() the record; nothing unless correct.
  [[nodiscard]] std::optional<double> score() const;
};

/// All results so far, by action id.
using History = std::map<std::string, ActionResult>;

/// The correct action with the highest score; the first id wins a tie, so the order of completion does not matter. A
/// correct action without a score ranks below all scores. nullptr when nothing is correct.
[[nodiscard]] const ActionResult* best_of(const History& history);

}  // namespace v0
}  // namespace kernelgen
