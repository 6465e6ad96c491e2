#include "action_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout.hpp"
#include "option_hints.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {

std::string sanitizers_line(const EvaluationRecord& record) {
  std::vector<std::string> parts;
  for (const auto& report : record.sanitizers) {
    std::string status(to_string(report.status));
    std::replace(status.begin(), status.end(), '_', ' ');
    parts.push_back(fmt::format("{}{}{}{}", report.tool, report.tool == "none" ? ": " : " " + status,
                                report.reason.empty() || report.tool == "none" ? "" : ": ", report.reason));
  }
  return join(parts, "; ");
}

std::string outcome_text(const ActionResult& result) {
  if (result.analysis) return result.analysis->worth_optimizing ? "worth optimizing" : "not worth optimizing";
  if (result.critique) return "critique";
  if (result.correct() && !result.record->sanitizers.empty()) return "correct, watched";
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
  if (result.correct()) return sanitizers_line(*result.record);
  if (!result.message.empty()) return add_option_hints(result.message);
  return result.record ? add_option_hints(result.record->outcome.message) : "";
}

}  // namespace kernelgen::cli
