#include "flow/line.hpp"

#include <algorithm>
#include <cctype>

namespace kernelgen {
inline namespace v0 {
namespace {

/// The message without its digits: "max error 0.31" and "max error 0.29" are the same error.
std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char byte) { return std::isdigit(byte) != 0; });
  return text;
}

bool same_error(const ActionResult& a, const ActionResult& b) {
  return a.record && b.record && a.record->outcome.to_class() == b.record->outcome.to_class() &&
         without_digits(a.record->outcome.message) == without_digits(b.record->outcome.message);
}

bool is_judged(const ActionResult& result) { return result.candidate && result.record; }

Action repair_action(const Action& root, int attempt, const RepairOptions& options, const ActionResult* last,
                     const ActionResult* before_last) {
  Action action = root;
  action.id = root.id + "/repair" + std::to_string(attempt);
  action.temperature = options.temperature;
  // Nothing to repair yet: the same request again, now with the failure among its history.
  if (last == nullptr) return action;
  action.kind = PromptKind::Repair;
  action.base = last->action.id;
  action.analysis.clear();
  const bool stuck =
      last->status == ActionStatus::Duplicate || (before_last != nullptr && same_error(*last, *before_last));
  action.variant = stuck && last->action.variant != k_rethink ? k_rethink : "";
  return action;
}

}  // namespace

const ActionResult* find_result(const History& history, const std::string& id) {
  const auto found = history.find(id);
  return found == history.end() ? nullptr : &found->second;
}

LineStatus follow_line(const History& history, const Action& root, const RepairOptions& options) {
  LineStatus status;
  const ActionResult* before_last = nullptr;
  Action action = root;
  for (int attempt = 0; attempt <= std::max(options.max_attempts, 0); ++attempt) {
    if (attempt > 0) action = repair_action(root, attempt, options, status.last, before_last);
    const auto* result = find_result(history, action.id);
    if (result == nullptr) {
      status.next = action;
      return status;
    }
    if (!is_judged(*result)) continue;
    before_last = status.last;
    status.last = result;
    if (result->correct()) {
      status.correct = result;
      return status;
    }
  }
  return status;
}

}  // namespace v0
}  // namespace kernelgen
