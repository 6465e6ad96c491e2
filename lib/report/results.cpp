#include <algorithm>
#include <functional>
#include <utility>

#include <kernelgen/report/report.hpp>

#include "report/cached_run_report.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/natural_order.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Reports are computed from the journals; after a power cut they are computed again.
constexpr WriteOptions k_derived{.durability = Durability::Rename};
/// Writing the reports of a thousand runs takes about a second; many runs may end at the same time.
constexpr std::chrono::seconds k_longest_wait{30};

bool is_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(directory / "events.jsonl", ignored));
}

/// Names of the directories in a directory. Links to directories are left out, so that nothing is read twice or
/// endlessly.
Result<std::vector<std::string>> subdirectories(const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_directory(entry->symlink_status(ignored))) names.push_back(entry->path().filename().string());
  }
  if (error) return Error{ErrorCode::Io, "cannot list " + directory.string() + ": " + error.message()};
  std::sort(names.begin(), names.end(), naturally_less);
  return names;
}

CachedRunReport damaged_task(const std::string& task, const Error& error) {
  CachedRunReport report;
  report.run.task = task;
  report.run.status = RunStatus::Damaged;
  report.run.reason = error.to_line();
  return report;
}

Error no_results(const fs::path& directory, const std::string& why) {
  return {ErrorCode::InvalidArgument, directory.string() + " is no results directory: " + why};
}

/// The runs of a results directory, in natural order of their names, and a report for each task that cannot be listed.
/// Only names were read.
struct FoundRuns {
  std::vector<RunLocation> locations;
  std::vector<CachedRunReport> damaged;
};

void find_runs_of(const fs::path& directory, const std::string& task, FoundRuns& found) {
  if (is_run(directory)) found.locations.push_back({directory, task, ""});
  const auto names = subdirectories(directory);
  if (!names) return found.damaged.push_back(damaged_task(task, names.error()));
  for (const auto& name : *names)
    if (is_run(directory / name)) found.locations.push_back({directory / name, task, name});
}

Result<FoundRuns> find_runs(const fs::path& results) {
  std::error_code ignored;
  if (!fs::exists(results, ignored)) return no_results(results, "it does not exist");
  if (!fs::is_directory(results, ignored)) return no_results(results, "it is no directory");
  if (is_run(results)) return no_results(results, "it is a run; give the directory that holds the tasks");
  KERNELGEN_TRY(const auto tasks, subdirectories(results));
  FoundRuns found;
  for (const auto& task : tasks) find_runs_of(results / task, task, found);
  if (found.locations.empty() && found.damaged.empty()) return no_results(results, "it holds no run");
  return found;
}

/// Makes the reports one after the other. `keep` stores what belongs to one, so that its text need not stay in memory.
Result<std::vector<RunReport>> make_reports(const FoundRuns& found,
                                            const std::function<Result<void>(const CachedRunReport&)>& keep) {
  std::vector<RunReport> runs;
  runs.reserve(found.locations.size() + found.damaged.size());
  for (const auto& location : found.locations) {
    auto report = load_or_build_report(location);
    KERNELGEN_CHECK(keep(report));
    runs.push_back(std::move(report.run));
  }
  for (const auto& report : found.damaged) runs.push_back(report.run);
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
  return make_reports(found, [](const CachedRunReport&) { return Result<void>(); });
}

Result<void> write_reports(const fs::path& results_directory) {
  // A directory without results gets no lock file.
  KERNELGEN_CHECK(find_runs(results_directory));
  KERNELGEN_TRY(const auto lock, LockFile::acquire({.file = results_directory / ".lock",
                                                    .resource = "the reports of " + results_directory.string(),
                                                    .advice = "they can be written again later",
                                                    .wait = k_longest_wait}));
  KERNELGEN_TRY(const auto found, find_runs(results_directory));
  const auto keep = [](const CachedRunReport& report) -> Result<void> {
    KERNELGEN_CHECK(write_figure(report));
    // The report is stored last, because it means that the figure is up to date.
    store_report(report);
    return {};
  };
  KERNELGEN_TRY(const auto runs, make_reports(found, keep));
  const auto write = [&](const char* name, const std::string& text) {
    return write_file_atomic(results_directory / name, text, k_derived);
  };
  KERNELGEN_CHECK(write("usage.csv", usage_csv(runs)));
  KERNELGEN_CHECK(write("detailed_report.json", detailed_json(runs)));
  KERNELGEN_CHECK(write("detailed_report.txt", detailed_text(runs)));
  KERNELGEN_CHECK(write("summary.csv", summary_csv(runs)));
  return write("summary.json", summary_json(runs));
}

}  // namespace v0
}  // namespace kernelgen
