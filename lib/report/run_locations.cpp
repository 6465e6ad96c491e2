#include "report/run_locations.hpp"

#include <algorithm>
#include <system_error>

#include "support/natural_order.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Names of the directories in a directory.
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

Error no_results(const fs::path& directory, const std::string& why) {
  return {ErrorCode::InvalidArgument, directory.string() + " is no results directory: " + why};
}

void find_runs_of(const fs::path& directory, const std::string& task, RunLocations& found) {
  if (is_run(directory)) found.runs.push_back({directory, task, ""});
  const auto names = subdirectories(directory);
  if (!names) return static_cast<void>(found.unlisted.emplace_back(task, names.error()));
  for (const auto& name : *names)
    if (is_run(directory / name)) found.runs.push_back({directory / name, task, name});
}

}  // namespace

bool is_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(directory / "events.jsonl", ignored));
}

Result<RunLocations> find_runs(const fs::path& results) {
  std::error_code ignored;
  if (!fs::exists(results, ignored)) return no_results(results, "it does not exist");
  if (!fs::is_directory(results, ignored)) return no_results(results, "it is no directory");
  if (is_run(results)) return no_results(results, "it is a run; give the directory that holds the tasks");
  KERNELGEN_TRY(const auto tasks, subdirectories(results));
  RunLocations found;
  for (const auto& task : tasks) find_runs_of(results / task, task, found);
  if (found.runs.empty() && found.unlisted.empty()) return no_results(results, "it holds no run");
  return found;
}

}  // namespace v0
}  // namespace kernelgen
