#include <boost/json.hpp>
#include <utility>

#include <kernelgen/report/audit_report.hpp>

#include "report/report_json.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_audit_schema = 1;

json::array texts_to_json(const std::vector<std::string>& texts) {
  json::array array;
  for (const auto& text : texts) array.emplace_back(to_utf8(text));
  return array;
}

json::value interval_to_json(const std::optional<Ratio>& ratio) {
  if (!ratio) return nullptr;
  return json::object{{"value", ratio->value}, {"low", ratio->low}, {"high", ratio->high}};
}

json::object claim_to_json(const Claim& claim) {
  return {{"correct", or_null(claim.correct)},
          {"speedup", or_null(claim.speedup)},
          {"interval", interval_to_json(claim.interval)},
          {"kind", claim.kind == SpeedupKind::Score ? "score" : "per_call"},
          {"device", to_utf8(claim.device)},
          {"problems", texts_to_json(claim.problems)}};
}

json::object measurement_to_json(const AuditMeasurement& measurement) {
  json::object over;
  for (const auto& [kind, speedup] : measurement.speedup_over) over[to_string(kind)] = speedup;
  return {{"times", measurement.times},
          {"correct", measurement.correct},
          {"failure", to_utf8(measurement.failure_class)},
          {"message", to_utf8(measurement.failure_message)},
          {"speedup_per_call", interval_to_json(measurement.speedup_per_call)},
          {"score", interval_to_json(measurement.score)},
          {"speedup_over", std::move(over)},
          {"device", to_utf8(measurement.device)},
          {"labels", texts_to_json(measurement.labels)}};
}

}  // namespace

std::string audit_json(const AuditReport& report) {
  json::object counts;
  for (const auto& [verdict, count] : report.counts()) counts[to_string(verdict)] = count;
  json::array findings;
  for (const auto& finding : report.findings)
    findings.push_back(json::object{{"name", to_utf8(finding.name)},
                                    {"task", to_utf8(finding.task)},
                                    {"target", finding.target},
                                    {"candidate_id", finding.candidate_id},
                                    {"verdict", to_string(finding.decision.verdict)},
                                    {"reason", to_utf8(finding.decision.reason)},
                                    {"claim", claim_to_json(finding.claim)},
                                    {"measurement", measurement_to_json(finding.measurement)},
                                    {"error", finding.error ? json::value(to_string(finding.error->code)) : nullptr}});
  return to_pretty_json(json::object{{"schema", k_audit_schema},
                                     {"times", report.times},
                                     {"margin", report.rules.margin},
                                     {"any_device", report.rules.any_device},
                                     {"cancelled", report.cancelled},
                                     {"counts", std::move(counts)},
                                     {"findings", std::move(findings)}});
}

}  // namespace v0
}  // namespace kernelgen
