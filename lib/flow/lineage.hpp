#pragma once

#include <vector>

#include <kernelgen/core/action.hpp>

namespace kernelgen {
inline namespace v0 {

/// The finished actions that an action builds on, by number: the steps above it in the tree, the repairs before it, and
/// the same of the action it starts from. All of them have finished when it is issued, so that it does not matter what
/// else runs meanwhile.
[[nodiscard]] std::vector<const ActionResult*> lineage_of(const History& history, const Action& action);

}  // namespace v0
}  // namespace kernelgen
