#pragma once

/// \file
/// A line: one root action and the repairs after it. Every policy is made of lines.

#include <optional>
#include <string>

#include <kernelgen/core/action.hpp>
#include <kernelgen/flow/policy.hpp>

namespace kernelgen {
inline namespace v0 {

/// Where a line stands.
struct LineStatus {
  /// What the line wants next; nothing when it ended.
  std::optional<Action> next;
  /// Its correct action; nullptr while there is none.
  const ActionResult* correct = nullptr;
  /// Its last action that has a judged candidate, correct or not; nullptr while there is none.
  const ActionResult* last = nullptr;
};

/// The name of the repair prompt that asks for another approach.
inline constexpr const char* k_rethink = "rethink";

/// Follows `root` and its repairs ("root/repair1", ...) through the history. Points into `history`.
///
/// A reply that cannot be used (no code, no answer) is asked for again from the last candidate that can; the same
/// error or the same code twice in a row asks for another approach, never the same thing once more.
[[nodiscard]] LineStatus follow_line(const History& history, const Action& root, const RepairOptions& options);

/// The action's result; nullptr when it has not finished.
[[nodiscard]] const ActionResult* find_result(const History& history, const std::string& id);

}  // namespace v0
}  // namespace kernelgen
