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

/// The status of a repair chain.
struct RepairChainStatus {
  /// The next action of the chain; nothing if it has ended.
  std::optional<Action> next;
  /// Its correct action; nullptr while there is none.
  const ActionResult* correct = nullptr;
  /// Its last action that has a judged candidate, correct or not; nullptr while there is none.
  const ActionResult* last = nullptr;
};

/// Follows `root` and its repairs ("root/repair1", ...) through the history. Points into `history`.
///
/// After an unusable reply (no code, no answer) the chain asks again, starting from its last usable candidate. After an
/// error or code that it has seen before it asks for the next escalation, and ends if there is none left. No request is
/// made twice: an equal one gets another temperature.
[[nodiscard]] RepairChainStatus advance_repair_chain(const History& history, const Action& root,
                                                     const RepairOptions& options);

/// The action of the kernel that a run starts from: "start".
[[nodiscard]] Action start_action();

/// The action's result; nullptr when it has not finished.
[[nodiscard]] const ActionResult* find_result(const History& history, const std::string& id);

/// The action's score; 0 where it has none.
[[nodiscard]] double score_or_zero(const ActionResult& result);

/// True if two judged candidates failed with the same error. Line numbers and the size of a deviation do not matter.
[[nodiscard]] bool same_failure(const ActionResult& a, const ActionResult& b);

/// True if the last judged result is nothing new: it has an error of an earlier one, or the code of an action that it
/// builds on. Code of other actions does not count, because the order of two equal candidates depends on how fast they
/// were answered, and no decision may depend on that.
[[nodiscard]] bool is_stuck(const History& history, const std::vector<const ActionResult*>& judged);

/// A temperature near `temperature`, different for each number of steps; 0 steps change nothing.
[[nodiscard]] double changed_temperature(double temperature, int steps);

/// True if a kernel is so near its floor that more requests are not worth their price. Never true for a ratio of 0.
[[nodiscard]] bool is_near_floor(const ActionResult& result, double floor_ratio);

/// A sentence about a kernel near its floor: "its kernel takes 1.04 times the least possible: ...".
[[nodiscard]] std::string near_floor_reason(const ActionResult& result);

/// A sentence about a search that ends because of its stop score.
[[nodiscard]] std::string stop_score_reason(double stop_score);

/// True if a policy must wait for the profile of a result before the next prompt about it.
[[nodiscard]] bool needs_profile(const ActionResult& result, ProfileUse use);

}  // namespace v0
}  // namespace kernelgen
