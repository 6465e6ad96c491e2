#pragma once

/// \file
/// Repair chains: one root action and the repairs after it. Every policy that repairs is made of them.

#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/flow/policy.hpp>

namespace kernelgen {
inline namespace v0 {

/// How far a repair chain has come.
struct RepairChainStatus {
  /// What the chain asks for next; nothing when it has ended.
  std::optional<Action> next;
  /// Its correct action; nullptr while there is none.
  const ActionResult* correct = nullptr;
  /// Its last action that has a judged candidate, correct or not; nullptr while there is none.
  const ActionResult* last = nullptr;
};

/// Follows `root` and its repairs ("root/repair1", ...) through the history. Points into `history`.
///
/// A reply that cannot be used (no code, no answer) is asked for again from the last candidate that can. An error that
/// the chain has seen before, and code that it has seen before, ask for the next escalation; when all were tried the
/// chain ends. No request is ever made twice: what would be the same has another temperature.
[[nodiscard]] RepairChainStatus advance_repair_chain(const History& history, const Action& root,
                                                     const RepairOptions& options);

/// The action's result; nullptr when it has not finished.
[[nodiscard]] const ActionResult* find_result(const History& history, const std::string& id);

/// The action's score; 0 where it has none.
[[nodiscard]] double score_or_zero(const ActionResult& result);

/// Whether two judged candidates failed with the same error: at another line, or off by another amount, it still is.
[[nodiscard]] bool same_failure(const ActionResult& a, const ActionResult& b);

/// Whether the last of the judged results tells nothing new: an error of those before it, or the code of an action that
/// it builds on. Code of other actions does not count: which of two equal candidates came first depends on how fast
/// they were answered, and no decision may.
[[nodiscard]] bool is_stuck(const History& history, const std::vector<const ActionResult*>& judged);

/// A temperature near `temperature` that is another one for each of the first `steps`; 0 steps change nothing.
[[nodiscard]] double changed_temperature(double temperature, int steps);

/// Whether a kernel is so near to its floor that nothing more should be paid for it. A ratio of 0 says never.
[[nodiscard]] bool is_near_floor(const ActionResult& result, double floor_ratio);

/// "its kernel takes 1.04 times the least possible: ...".
[[nodiscard]] std::string near_floor_reason(const ActionResult& result);

/// Whether a policy must wait for the profile of a result before it asks anything about it.
[[nodiscard]] bool needs_profile(const ActionResult& result, ProfileUse use);

}  // namespace v0
}  // namespace kernelgen
