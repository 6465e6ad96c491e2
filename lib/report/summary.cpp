#include <kernelgen/report/report.hpp>

#include <boost/json.hpp>

#include "core/json.hpp"
#include "report/report_json.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_summary_schema = 1;

json::object statistics(const Totals& totals) {
  json::object object;
  object["runs"] = totals.runs;
  for (const auto status :
       {RunStatus::Success, RunStatus::Partial, RunStatus::Failed, RunStatus::Unfinished, RunStatus::Damaged}) {
    const auto found = totals.by_status.find(status);
    object[to_string(status)] = found == totals.by_status.end() ? 0 : found->second;
  }
  object["success_percent"] = totals.success_percent;
  object["correct_percent"] = totals.correct_percent;
  object["mean"] = totals.mean;
  object["mean_scored"] = or_null(totals.mean_scored);
  object["geometric_mean"] = or_null(totals.geometric_mean);
  object["lower_quartile"] = or_null(totals.lower_quartile);
  object["median"] = or_null(totals.median);
  object["upper_quartile"] = or_null(totals.upper_quartile);
  object["fast_1"] = totals.fast_1;
  object["failures"] = counts_to_json(totals.failures);
  object["usage"] = to_json_object(totals.usage);
  return object;
}

/// Runs without a correct kernel, with how their last attempt failed.
json::array failed_runs(const std::vector<RunReport>& runs) {
  json::array list;
  for (const auto& run : runs) {
    if (run.status != RunStatus::Failed && run.status != RunStatus::Damaged) continue;
    json::object failure{{"task", run.task}, {"run", run.name}, {"class", last_failure_class(run)}};
    failure["classes"] = counts_to_json(run.failures());
    failure["reason"] = run.reason;
    list.push_back(std::move(failure));
  }
  return list;
}

}  // namespace

std::string summary_json(const std::vector<RunReport>& runs) {
  json::array list;
  for (const auto& run : runs) list.push_back(run_to_json(run));
  return to_pretty_json(json::object{{"schema", k_summary_schema},
                                     {"runs", std::move(list)},
                                     {"failed_runs", failed_runs(runs)},
                                     {"totals", statistics(totals_of(runs))}});
}

}  // namespace v0
}  // namespace kernelgen
