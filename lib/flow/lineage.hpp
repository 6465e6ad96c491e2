#pragma once

#include <vector>

#include <kernelgen/core/action.hpp>

namespace kernelgen {
inline namespace v0 {

/// The finished actions that an action builds on, ordered by number: its ancestors in the tree, the repairs before it,
/// and the lineage of the action that it starts from. All of them have finished when it is issued, so the result does
/// not depend on what else runs.
[[nodiscard]] std::vector<const ActionResult*> lineage_of(const History& history, const Action& action);

}  // namespace v0
}  // namespace kernelgen
