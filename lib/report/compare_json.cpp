#include <boost/json.hpp>
#include <utility>

#include <kernelgen/core/version.hpp>
#include <kernelgen/report/compare.hpp>

#include "report/page.hpp"
#include "report/report_json.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_comparison_schema = 1;

json::array names_to_json(const std::vector<std::string>& names) {
  json::array array;
  for (const auto& name : names) array.emplace_back(name);
  return array;
}

json::object side_to_json(const SideTotals& totals) {
  return {{"tasks", totals.tasks},
          {"correct", totals.correct},
          {"faster", totals.faster},
          {"geometric_mean", or_null(totals.geometric_mean)},
          {"evaluations", totals.evaluations},
          {"minutes", totals.minutes},
          {"usage", to_json_object(totals.usage)}};
}

json::object task_to_json(const TaskResult& task) {
  const auto part = [&](double Ratio::*member) { return task.score ? json::value((*task.score).*member) : nullptr; };
  return {{"correct", task.is_correct},
          {"score", part(&Ratio::value)},
          {"score_low", part(&Ratio::low)},
          {"score_high", part(&Ratio::high)},
          {"failure", task.is_correct ? "" : task.failure_class},
          {"runs", task.runs},
          {"unfinished", task.unfinished},
          {"device", task.device},
          {"precision", task.precision ? json::value(to_string(*task.precision)) : json::value(nullptr)},
          {"conditions", names_to_json(task.conditions)},
          {"evaluations", task.evaluations},
          {"minutes", task.minutes},
          {"tokens", or_null(task.usage.total_tokens())},
          {"cost", or_null(task.usage.cost)}};
}

json::object comparison_to_json(const SetComparison& comparison) {
  json::array pairs;
  for (const auto& pair : comparison.pairs)
    pairs.push_back(json::object{{"task", pair.base.task},
                                 {"outcome", to_string(pair.outcome)},
                                 {"ratio", or_null(pair.ratio)},
                                 {"base", task_to_json(pair.base)},
                                 {"other", task_to_json(pair.other)}});
  const auto& table = comparison.correctness;
  return {{"base", comparison.base_name},
          {"other", comparison.other_name},
          {"tasks", comparison.pairs.size()},
          {"won", comparison.won},
          {"lost", comparison.lost},
          {"tied", comparison.tied},
          {"neither_correct", comparison.neither_correct},
          {"not_timed", comparison.not_timed},
          {"ratio",
           {{"tasks", comparison.ratio.tasks},
            {"geometric_mean", or_null(comparison.ratio.value)},
            {"low", or_null(comparison.ratio.low)},
            {"high", or_null(comparison.ratio.high)},
            {"bootstrap_resamples", k_bootstrap_resamples},
            {"bootstrap_seed", k_bootstrap_seed}}},
          {"correctness",
           {{"both", table.both},
            {"only_base", table.only_base},
            {"only_other", table.only_other},
            {"neither", table.neither},
            {"mcnemar_p", comparison.correctness_p},
            {"mcnemar_p_holm", comparison.adjusted_p}}},
          {"base_totals", side_to_json(comparison.base_totals)},
          {"other_totals", side_to_json(comparison.other_totals)},
          {"only_in_base", names_to_json(comparison.only_base)},
          {"only_in_other", names_to_json(comparison.only_other)},
          {"excluded", names_to_json(comparison.excluded)},
          {"warnings", names_to_json(comparison.warnings)},
          {"pairs", std::move(pairs)}};
}

json::object report_to_json(const ComparisonReport& report) {
  json::array sets, comparisons;
  for (std::size_t i = 0; i < report.sets.size(); ++i) {
    json::object set{{"directory", report.sets[i].name}};
    for (auto& member : side_to_json(report.totals[i])) set.insert(std::move(member));
    sets.push_back(std::move(set));
  }
  for (const auto& comparison : report.comparisons) comparisons.push_back(comparison_to_json(comparison));
  return {{"schema", k_comparison_schema}, {"sets", std::move(sets)}, {"comparisons", std::move(comparisons)}};
}

}  // namespace

std::string comparison_json(const ComparisonReport& report) { return to_pretty_json(report_to_json(report)); }

Result<std::string> comparison_page(const ComparisonReport& report, const std::filesystem::path& page_parts) {
  auto data = report_to_json(report);
  data["kind"] = "compare";
  data["version"] = version();
  return make_page(data, {}, page_parts);
}

Result<void> write_comparison_page(const ComparisonReport& report, const std::filesystem::path& page_parts,
                                   const std::filesystem::path& file) {
  KERNELGEN_TRY(const auto page, comparison_page(report, page_parts));
  return write_file_atomic(file, page, {.durability = Durability::Rename});
}

}  // namespace v0
}  // namespace kernelgen
