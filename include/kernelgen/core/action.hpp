#pragma once

/// \file
/// A step of a search and what came of it: the values that a policy decides on and that the journal keeps.

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

/// What an analysis reply said (requirement R29).
struct Analysis {
  bool worth_optimizing = true;
  std::string reason;
  std::string bottleneck;
  std::string method;
  std::string plan;
  /// As the model wrote it: "3x", "about 2 times".
  std::string expected_speedup;
  /// "full_sequence", "final_state_only" or "other".
  std::string output_requirement;
  /// What the reference was found to return where the model says something else. Empty: no contradiction is known.
  std::string correction{};
  bool operator==(const Analysis&) const = default;
};

/// One request to a model, and for code the evaluation of what it wrote. Two actions with the same id are the same.
struct Action {
  /// Its place in the tree: "seed1", "seed1/repair2", "seed1/analysis", "stage1".
  std::string id;
  PromptKind kind = PromptKind::Seed;
  /// The action whose candidate this one starts from. Empty: from the task alone.
  std::string base;
  /// The action whose analysis, or whose critique, this one follows. Empty: none.
  std::string analysis;
  /// Name of the strategy hint of a seed, of the stage, of the way to repair, or of what a critic looks at
  /// ("correctness", "optimization"). Empty: none.
  std::string variant;
  double temperature = 0.7;
  bool operator==(const Action&) const = default;
};

/// How an action ended. Stored by name.
enum class ActionStatus {
  Evaluated,    ///< there is a candidate and a record
  Analyzed,     ///< there is an analysis or a critique
  NoCode,       ///< the reply held nothing that could be used
  Duplicate,    ///< the reply held a candidate that had been evaluated before; the record is that one's
  ModelFailed,  ///< no reply: refused, timed out, broken
  NotJudged,    ///< the machinery failed: nothing is known about the candidate
};
[[nodiscard]] std::string_view to_string(ActionStatus status);
[[nodiscard]] std::optional<ActionStatus> parse_action_status(std::string_view name);

/// What came of an action.
struct ActionResult {
  Action action;
  /// Number of its files: prompt_N.txt, code_N.cpp, ... Given once, never reused.
  int number = 0;
  ActionStatus status = ActionStatus::NoCode;
  /// One line for NoCode, ModelFailed and NotJudged.
  std::string message;
  std::optional<Candidate> candidate;
  std::optional<EvaluationRecord> record;
  std::optional<Analysis> analysis;
  /// What a critic wrote.
  std::optional<std::string> critique;
  std::optional<Recurrence> recurrence;
  /// How far the kernel is from its floor; absent where it is not correct or no floor is known.
  std::optional<Headroom> headroom;
  /// Where its time goes, once a policy wanted to know; see Decision::profiles.
  std::optional<Profile> profile;

  /// Evaluated or Duplicate, and the outcome is Correct.
  [[nodiscard]] bool correct() const;
  /// score_of() its record; nothing unless correct.
  [[nodiscard]] std::optional<double> score() const;
};

/// What is known so far, by action id.
using History = std::map<std::string, ActionResult>;

/// The correct action with the highest score; the first id wins a tie, so the order of completion does not matter. A
/// correct one without a score stands below all scores. nullptr when nothing is correct.
[[nodiscard]] const ActionResult* best_of(const History& history);

}  // namespace v0
}  // namespace kernelgen
