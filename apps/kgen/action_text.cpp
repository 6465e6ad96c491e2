#include "action_text.hpp"

#include "layout.hpp"
#include "option_hints.hpp"

namespace kernelgen::cli {

std::string outcome_text(const ActionResult& result) {
  if (result.analysis) return result.analysis->worth_optimizing ? "worth optimizing" : "not worth optimizing";
  if (result.critique) return "critique";
  if (result.record) return result.record->outcome.to_class();
  return std::string(to_string(result.status));
}

std::string_view outcome_color(const ActionResult& result) {
  if (result.analysis || result.critique) return "";
  if (!result.correct()) return result.record && result.record->outcome.kind == OutcomeKind::Suspect ? k_yellow : k_red;
  return result.score().value_or(0) >= 1 ? k_green : k_yellow;
}

std::string outcome_message(const ActionResult& result) {
  if (result.analysis)
    return result.analysis->correction.empty() ? result.analysis->reason : "corrected: " + result.analysis->correction;
  if (result.correct()) return "";
  if (!result.message.empty()) return add_option_hints(result.message);
  return result.record ? add_option_hints(result.record->outcome.message) : "";
}

}  // namespace kernelgen::cli
