#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <kernelgen/report/kernelbench_exchange.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>
#include <kernelgen/store/results_directory.hpp>

#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "task/kernelbench_layout.hpp"
#include "task/task_numbers.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// A kernel that will be a file of the run folder.
struct ExportedKernel {
  KernelBenchSample sample;
  std::string source;
  std::optional<EvaluationRecord> record;
};

/// The level of a task: that of its folder, else what the task says.
std::optional<int> level_of_task(const TaskSource& task) {
  constexpr int k_networks = 3;
  if (const auto above = level_above(task.path); above && above->size() == 1) return above->front() - '0';
  switch (task.level) {
    case TaskLevel::SingleOperator:
      return 1;
    case TaskLevel::Fusion:
      return 2;
    case TaskLevel::Network:
      return k_networks;
    case TaskLevel::Unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

/// The kernel that stands for a run: the best one, else the last one with a verdict; nullptr when there is none.
const ActionResult* kernel_of_run(const History& history, const RunReport& run) {
  if (run.best)
    if (const auto best = history.find(run.best->id); best != history.end()) return &best->second;
  const ActionResult* last = nullptr;
  for (const auto& [id, result] : history)
    if (result.candidate && result.record && is_verdict_for_kernelbench(result.record->outcome) &&
        (last == nullptr || last->number < result.number))
      last = &result;
  return last;
}

/// Collects what is exported, and what is left out.
class ExportCollector {
 public:
  explicit ExportCollector(const KernelBenchExport& request) : request_(request) {}

  Result<void> add(const RunReport& run) {
    const auto name = run.name.empty() ? run.task : run.task + '/' + run.name;
    if (run.status == RunStatus::Damaged) return leave_out(name, "its journal cannot be read");
    KERNELGEN_TRY(const auto directory, run_directory(request_.results_directory, run.task, run.name));
    KERNELGEN_TRY(const auto events, read_run_events(directory));
    const auto* started = events.empty() ? nullptr : std::get_if<RunStarted>(&events.front().body);
    if (started == nullptr) return leave_out(name, "it has not begun");
    const auto level = level_of_task(started->task);
    const auto number = leading_number(started->task.name);
    if (!level || !number) return leave_out(name, "its task has no level and number of KernelBench");
    levels.insert(*level);
    if (request_.level && *request_.level != *level) return {};
    add_kernels(run, name, history_of(events), {*level, *number, 0});
    return {};
  }

  std::vector<ExportedKernel> kernels;
  std::set<int> levels;
  std::vector<std::string> left_out;

 private:
  Result<void> leave_out(const std::string& name, const std::string& why) {
    left_out.push_back(name + ": " + why);
    return {};
  }

  void add_kernels(const RunReport& run, const std::string& name, const History& history, KernelBenchSample place) {
    if (run.policy != k_imported_policy) {
      const auto* kernel = kernel_of_run(history, run);
      if (kernel == nullptr) return left_out.push_back(name + ": it has no kernel with a verdict");
      return add_kernel(name, *kernel, place);
    }
    std::map<int, const ActionResult*> attempts;
    for (const auto& [id, result] : history) attempts[result.number] = &result;
    for (const auto& [number, result] : attempts) {
      constexpr std::string_view k_sample = "sample";
      if (!result->candidate || !result->action.id.starts_with(k_sample)) continue;
      add_kernel(name + ' ' + result->action.id, *result, place);
    }
  }

  void add_kernel(const std::string& name, const ActionResult& result, KernelBenchSample place) {
    const auto& candidate = *result.candidate;
    if (is_native(candidate.target))
      return left_out.push_back(
          fmt::format("{}: a kernel for {} is no Python module with a ModelNew", name, to_string(candidate.target)));
    place.sample = next_sample_[{place.level, place.problem}]++;
    auto record = result.record;
    if (!record) left_out.push_back(name + ": its file is there, without an entry, because it was not judged");
    if (record && !is_verdict_for_kernelbench(record->outcome)) {
      left_out.push_back(
          fmt::format("{}: its file is there, without an entry, because of {}", name, record->outcome.to_class()));
      record.reset();
    }
    kernels.push_back({place, candidate.source, std::move(record)});
  }

  const KernelBenchExport& request_;
  std::map<std::pair<int, int>, int> next_sample_;
};

Result<void> check_folder(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return {};
  if (!fs::is_directory(directory, error))
    return Error{ErrorCode::InvalidArgument, directory.string() + " is no folder"};
  bool has_run = fs::exists(directory / "eval_results.json", error);
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
    has_run = has_run || parse_kernel_file_name(entry->path().filename().string());
  if (error) return Error{ErrorCode::Io, "cannot list " + directory.string() + ": " + error.message()};
  if (!has_run) return {};
  return Error{ErrorCode::InvalidArgument, directory.string() + " holds a run already; export into another folder"};
}

Result<void> check_collected(const ExportCollector& collected, const KernelBenchExport& request) {
  std::vector<std::string> levels;
  for (const int level : collected.levels) levels.push_back(std::to_string(level));
  if (!request.level && levels.size() > 1)
    return Error{ErrorCode::InvalidArgument, "the results hold tasks of the levels " + join(levels, ", ") +
                                                 ", and a run folder of KernelBench holds one: choose a level"};
  if (!collected.kernels.empty()) return {};
  const auto why = collected.left_out.empty() ? std::string("no task has this level") : collected.left_out.front();
  return Error{ErrorCode::InvalidArgument,
               request.results_directory.string() + " holds nothing that can be exported (" + why + ")"};
}

}  // namespace

Result<KernelBenchExchange> export_kernelbench_run(const KernelBenchExport& request) {
  KERNELGEN_TRY(const auto runs, read_results(request.results_directory));
  KERNELGEN_CHECK(check_folder(request.run_directory));
  ExportCollector collected(request);
  for (const auto& run : runs) KERNELGEN_CHECK(collected.add(run));
  KERNELGEN_CHECK(check_collected(collected, request));
  KERNELGEN_CHECK(make_directories(request.run_directory));
  KernelBenchExchange outcome{.left_out = std::move(collected.left_out)};
  std::vector<JudgedSample> judged;
  std::set<int> tasks;
  for (auto& kernel : collected.kernels) {
    KERNELGEN_CHECK(write_file_atomic(request.run_directory / kernel_file_name(kernel.sample), kernel.source));
    tasks.insert(kernel.sample.problem);
    if (kernel.record) judged.push_back({kernel.sample, *std::move(kernel.record)});
  }
  // Written last: a folder without it is not complete.
  KERNELGEN_CHECK(write_file_atomic(request.run_directory / "eval_results.json", eval_results_json(judged)));
  outcome.tasks = static_cast<int>(tasks.size());
  outcome.kernels = static_cast<int>(collected.kernels.size());
  outcome.judged = static_cast<int>(judged.size());
  return outcome;
}

}  // namespace v0
}  // namespace kernelgen
