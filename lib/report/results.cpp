#include <algorithm>
#include <cctype>
#include <utility>

#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>

#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Reports are computed from the journals; after a power cut they are computed again.
constexpr WriteOptions k_derived{.durability = Durability::Rename};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The digits at `place` without leading zeros; `place` moves behind them.
std::string_view take_number(std::string_view text, std::size_t& place) {
  const auto begin = place;
  while (place < text.size() && is_digit(text[place])) ++place;
  auto digits = text.substr(begin, place - begin);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

/// "9_Relu" before "10_Gelu".
bool naturally_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto left = take_number(a, i), right = take_number(b, j);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  if ((i < a.size()) != (j < b.size())) return j < b.size();
  return a < b;
}

bool is_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(directory / "events.jsonl", ignored));
}

/// Names of the directories in a directory; a link to one is none, so nothing is met twice or without end.
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

RunReport damaged(const std::string& task, const std::string& name, const Error& error) {
  RunReport run;
  run.task = task;
  run.name = name;
  run.status = RunStatus::Damaged;
  run.reason = error.to_line();
  return run;
}

RunReport read_run(const fs::path& directory, const std::string& task, const std::string& name) {
  const auto events = read_run_events(directory);
  return events ? report_run(task, name, *events) : damaged(task, name, events.error());
}

void read_task(const fs::path& directory, const std::string& task, std::vector<RunReport>& runs) {
  if (is_run(directory)) runs.push_back(read_run(directory, task, ""));
  const auto names = subdirectories(directory);
  if (!names) return runs.push_back(damaged(task, "", names.error()));
  for (const auto& name : *names)
    if (is_run(directory / name)) runs.push_back(read_run(directory / name, task, name));
}

Error no_results(const fs::path& directory, const std::string& why) {
  return {ErrorCode::InvalidArgument, directory.string() + " is no results directory: " + why};
}

}  // namespace

Result<std::vector<RunReport>> read_results(const fs::path& results_directory) {
  std::error_code ignored;
  if (!fs::exists(results_directory, ignored)) return no_results(results_directory, "it does not exist");
  if (!fs::is_directory(results_directory, ignored)) return no_results(results_directory, "it is no directory");
  if (is_run(results_directory))
    return no_results(results_directory, "it is a run; give the directory that holds the tasks");
  KERNELGEN_TRY(const auto tasks, subdirectories(results_directory));
  std::vector<RunReport> runs;
  for (const auto& task : tasks) read_task(results_directory / task, task, runs);
  if (runs.empty()) return no_results(results_directory, "it holds no run");
  return runs;
}

Result<void> write_reports(const fs::path& results_directory) {
  KERNELGEN_TRY(const auto runs, read_results(results_directory));
  return write_reports(results_directory, runs);
}

Result<void> write_reports(const fs::path& results_directory, const std::vector<RunReport>& runs) {
  for (const auto& run : runs) {
    if (run.status == RunStatus::Damaged) continue;
    const auto figures = results_directory / run.task / run.name / "figures";
    KERNELGEN_CHECK(make_directories(figures));
    KERNELGEN_CHECK(write_file_atomic(figures / "score.svg", score_figure(run), k_derived));
  }
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
