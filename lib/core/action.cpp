#include <kernelgen/core/action.hpp>

namespace kernelgen {
inline namespace v0 {

bool ActionResult::correct() const {
  const bool has_verdict =
      status == ActionStatus::Evaluated || status == ActionStatus::Duplicate || status == ActionStatus::Unchanged;
  return has_verdict && record && record->outcome.correct();
}

std::optional<double> ActionResult::score() const {
  if (!correct()) return std::nullopt;
  return score_of(*record);
}

const ActionResult* best_of(const History& history) {
  const ActionResult* best = nullptr;
  for (const auto& [id, result] : history) {
    if (!result.correct()) continue;
    if (best == nullptr || result.score().value_or(0) > best->score().value_or(0)) best = &result;
  }
  return best;
}

}  // namespace v0
}  // namespace kernelgen
