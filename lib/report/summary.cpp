#include <fmt/format.h>

#include <boost/json.hpp>
#include <utility>

#include <kernelgen/report/report.hpp>

#include "report/csv.hpp"
#include "report/report_json.hpp"
#include "support/json_text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_summary_schema = 1;

/// The runs without a correct kernel, each with the classes of its failures.
json::array failed_runs(const std::vector<RunReport>& runs) {
  json::array list;
  for (const auto& run : runs) {
    if (run.status != RunStatus::Failed && run.status != RunStatus::Damaged) continue;
    list.push_back(json::object{{"task", run.task},
                                {"run", run.name},
                                {"last_class", last_failure_class(run)},
                                {"classes", counts_to_json(run.failures())},
                                {"reason", run.reason}});
  }
  return list;
}

/// The text of a cell; empty for null.
std::string to_cell(const json::value& value) {
  if (value.is_null()) return "";
  if (const auto* text = value.if_string()) return std::string(*text);
  if (const auto* number = value.if_double()) return fmt::format("{}", *number);
  return json::serialize(value);
}

}  // namespace

std::string summary_json(const std::vector<RunReport>& runs) {
  json::array list;
  for (const auto& run : runs) list.push_back(run_to_json(run));
  const auto totals = totals_of(runs);
  auto object = statistics_to_json(totals);
  object["failures"] = counts_to_json(totals.failures);
  object["usage"] = to_json_object(totals.usage);
  object["time"] = to_json_object(time_figures_of(runs));
  return to_pretty_json(json::object{{"schema", k_summary_schema},
                                     {"runs", std::move(list)},
                                     {"failed_runs", failed_runs(runs)},
                                     {"totals", std::move(object)}});
}

std::string summary_csv(const std::vector<RunReport>& runs) {
  std::vector<std::string> header;
  for (const auto& member : run_to_json({})) header.emplace_back(member.key());
  std::string text = csv_row(header);
  for (const auto& run : runs) {
    std::vector<std::string> row;
    for (const auto& member : run_to_json(run)) row.push_back(to_cell(member.value()));
    text += csv_row(row);
  }
  return text;
}

}  // namespace v0
}  // namespace kernelgen
