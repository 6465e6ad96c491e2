#include <algorithm>
#include <utility>

#include <kernelgen/report/report.hpp>

#include "report/cached_run_report.hpp"
#include "report/page.hpp"
#include "report/run_locations.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Reports are computed from the journals; after a power cut they are computed again.
constexpr WriteOptions k_derived{.durability = Durability::Rename};
/// Writing the reports of a thousand runs takes about a second; many runs may end at the same time.
constexpr std::chrono::seconds k_longest_wait{30};

CachedRunReport damaged_task(const std::string& task, const Error& error) {
  CachedRunReport report;
  report.run.task = task;
  report.run.status = RunStatus::Damaged;
  report.run.reason = error.to_line();
  return report;
}

std::vector<CachedRunReport> load_or_build_reports(const RunLocations& found, Details details) {
  std::vector<CachedRunReport> reports;
  for (const auto& location : found.runs) reports.push_back(load_or_build_report(location, details));
  for (const auto& [task, error] : found.unlisted) reports.push_back(damaged_task(task, error));
  return reports;
}

std::vector<RunReport> runs_of(std::vector<CachedRunReport> reports) {
  std::vector<RunReport> runs;
  runs.reserve(reports.size());
  for (auto& report : reports) runs.push_back(std::move(report.run));
  return runs;
}

/// Writes the figure of a run that has none, or that has changed.
Result<void> write_figure(const CachedRunReport& report) {
  if (report.run.status == RunStatus::Damaged) return {};
  const auto figure = report.location.directory / "figures" / "score.svg";
  std::error_code ignored;
  if (report.text_to_store.empty() && fs::exists(figure, ignored)) return {};
  KERNELGEN_CHECK(make_directories(figure.parent_path()));
  return write_file_atomic(figure, score_figure(report.run), k_derived);
}

}  // namespace

Result<std::vector<RunReport>> read_results(const fs::path& results_directory) {
  KERNELGEN_TRY(const auto found, find_runs(results_directory));
  return runs_of(load_or_build_reports(found, Details::Left));
}

Result<void> write_reports(const fs::path& results_directory, const std::optional<fs::path>& page_parts) {
  // A directory without results gets no lock file.
  KERNELGEN_CHECK(find_runs(results_directory));
  KERNELGEN_TRY(const auto lock, LockFile::acquire({.file = results_directory / ".lock",
                                                    .resource = "the reports of " + results_directory.string(),
                                                    .advice = "they can be written again later",
                                                    .wait = k_longest_wait}));
  KERNELGEN_TRY(const auto found, find_runs(results_directory));
  auto reports = load_or_build_reports(found, page_parts ? Details::Shown : Details::Left);
  for (const auto& report : reports) {
    KERNELGEN_CHECK(write_figure(report));
    // The report is stored last, because it means that the figure is up to date.
    store_report(report);
  }
  std::vector<std::string> details;
  details.reserve(reports.size());
  for (auto& report : reports) details.push_back(std::move(report.details));
  const auto runs = runs_of(std::move(reports));
  const auto write = [&](const char* name, const std::string& text) {
    return write_file_atomic(results_directory / name, text, k_derived);
  };
  KERNELGEN_CHECK(write("usage.csv", usage_csv(runs)));
  KERNELGEN_CHECK(write("detailed_report.json", detailed_json(runs)));
  KERNELGEN_CHECK(write("detailed_report.txt", detailed_text(runs)));
  if (page_parts) {
    KERNELGEN_TRY(const auto page, report_page(runs, details, results_directory, *page_parts));
    KERNELGEN_CHECK(write("detailed_report.html", page));
  }
  KERNELGEN_CHECK(write("summary.csv", summary_csv(runs)));
  return write("summary.json", summary_json(runs));
}

}  // namespace v0
}  // namespace kernelgen
