#include <algorithm>
#include <functional>
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

/// Makes the reports one after the other. `keep` stores what belongs to one, so that its texts need not stay in memory.
Result<std::vector<RunReport>> make_reports(const RunLocations& found, Details details,
                                            const std::function<Result<void>(CachedRunReport&)>& keep) {
  std::vector<RunReport> runs;
  runs.reserve(found.runs.size() + found.unlisted.size());
  const auto add = [&](CachedRunReport report) -> Result<void> {
    KERNELGEN_CHECK(keep(report));
    runs.push_back(std::move(report.run));
    return {};
  };
  for (const auto& location : found.runs) KERNELGEN_CHECK(add(load_or_build_report(location, details)));
  for (const auto& [task, error] : found.unlisted) KERNELGEN_CHECK(add(damaged_task(task, error)));
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
  return make_reports(found, Details::Left, [](CachedRunReport&) { return Result<void>(); });
}

Result<void> write_reports(const fs::path& results_directory, const std::optional<fs::path>& page_parts) {
  // A directory without results gets no lock file.
  KERNELGEN_CHECK(find_runs(results_directory));
  KERNELGEN_TRY(const auto lock, LockFile::acquire({.file = results_directory / ".lock",
                                                    .resource = "the reports of " + results_directory.string(),
                                                    .advice = "they can be written again later",
                                                    .wait = k_longest_wait}));
  KERNELGEN_TRY(const auto found, find_runs(results_directory));
  std::vector<std::string> details;
  const auto keep = [&](CachedRunReport& report) -> Result<void> {
    KERNELGEN_CHECK(write_figure(report));
    // The report is stored last, because it means that the figure is up to date.
    store_report(report);
    details.push_back(std::move(report.details));
    return {};
  };
  KERNELGEN_TRY(const auto runs, make_reports(found, page_parts ? Details::Shown : Details::Left, keep));
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
