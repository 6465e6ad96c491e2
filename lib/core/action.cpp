#include <kernelgen/core/action.hpp>

#include <algorithm>

namespace kernelgen {
inline namespace v0 {

bool ActionResult::correct() const {
  return (status == ActionStatus::Evaluated || status == ActionStatus::Duplicate) && record &&
         record->outcome.correct();
}

std::optional<double> ActionResult::score() const {
  if (!correct()) return std::nullopt;
  return score_of(*record);
}

const ActionResult* best_of(const History& history) {
  const ActionResult* best = nullptr;
  const auto rank = [](const ActionResult& result) { return std::pair(result.score().value_or(0), -result.number); };
  for (const auto& [id, result] : history)
    if (result.correct() && (best == nullptr || rank(result) > rank(*best))) best = &result;
  return best;
}

}  // namespace v0
}  // namespace kernelgen
