#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <kernelgen/core/version.hpp>
#include <kernelgen/report/audit_report.hpp>
#include <kernelgen/report/kernelbench_exchange.hpp>
#include <kernelgen/store/journal.hpp>
#include <kernelgen/store/results_directory.hpp>

#include "report/solution_files.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_audit_record_bytes = 64u << 20;
constexpr const char* k_claim_option = "claim.";
/// The score with which an imported run has reached its goal, as of runs without another one.
constexpr double k_goal = 1;

/// A sample of a task, with its claim. A file without a kernel is an attempt that failed.
struct ImportedSample {
  KernelBenchSample sample;
  Result<Candidate> candidate;
  Claim claim;
};

/// The samples of one task.
struct ImportedTask {
  TaskSource task;
  std::vector<ImportedSample> samples;
};

std::string attempt_id(const KernelBenchSample& sample) { return fmt::format("sample{}", sample.sample); }

/// Records of an audit by task and kernel.
using RecordIndex = std::map<std::pair<std::string, std::string>, std::vector<EvaluationRecord>>;

Result<RecordIndex> read_records(const fs::path& directory) {
  RecordIndex index;
  if (directory.empty()) return index;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    const auto text = read_file(entry->path(), k_max_audit_record_bytes);
    auto record = text ? parse_record(*text) : Result<EvaluationRecord>(text.error());
    if (!record) continue;
    auto& same = index[{record->task_content_id, record->candidate_id}];
    same.push_back(*std::move(record));
  }
  if (error) return Error{ErrorCode::NotFound, "cannot list " + directory.string() + ": " + error.message()};
  return index;
}

/// The record that stands for several: the first in which the kernel was not correct, else that with the median score.
const EvaluationRecord& representative(std::vector<EvaluationRecord>& records) {
  for (const auto& record : records)
    if (!record.outcome.correct()) return record;
  std::sort(records.begin(), records.end(),
            [](const auto& a, const auto& b) { return score_of(a).value_or(0) < score_of(b).value_or(0); });
  return records[records.size() / 2];
}

RunStarted start_of(const KernelBenchImport& request, const ImportedTask& imported) {
  std::map<std::string, std::string> options;
  for (const auto& sample : imported.samples)
    options[k_claim_option + attempt_id(sample.sample)] = to_json(sample.claim);
  const auto first = std::find_if(imported.samples.begin(), imported.samples.end(),
                                  [](const auto& sample) { return sample.candidate.has_value(); });
  const auto folder = fs::absolute(request.run_directory).lexically_normal();
  const auto name = folder.has_filename() ? folder.filename() : folder.parent_path().filename();
  return {.kernelgen_version = std::string(version()),
          .task = imported.task,
          .target = first == imported.samples.end() ? Target::Torch : first->candidate->target,
          .policy = k_imported_policy,
          .options = {options.begin(), options.end()},
          .model = request.model.empty() ? name.string() : request.model};
}

Result<void> check_journal(const Journal& journal, const RunStarted& wanted, const fs::path& directory) {
  if (journal.events().empty()) return {};
  const auto* started = std::get_if<RunStarted>(&journal.events().front().body);
  if (started != nullptr && started->policy == wanted.policy && started->options == wanted.options &&
      started->task.content_id == wanted.task.content_id)
    return {};
  return Error{ErrorCode::InvalidArgument,
               directory.string() + " holds another run; import into another directory or under another name"};
}

ActionResult result_of(const ImportedSample& sample, int number, RecordIndex& records, const TaskSource& task) {
  ActionResult result{.action = {.id = attempt_id(sample.sample), .kind = PromptKind::Seed}, .number = number};
  if (!sample.candidate) {
    result.status = ActionStatus::NoCode;
    result.message = sample.candidate.error().message;
    return result;
  }
  result.status = ActionStatus::NotJudged;
  result.message = "imported, and not judged";
  result.candidate = *sample.candidate;
  const auto found = records.find({task.content_id, sample.candidate->id});
  if (found == records.end()) return result;
  result.status = ActionStatus::Evaluated;
  result.message.clear();
  result.record = representative(found->second);
  result.record->labels.push_back("imported");
  return result;
}

/// Whether it is known if an attempt is correct.
bool has_verdict(const ActionResult& result) { return result.record || result.status == ActionStatus::NoCode; }

/// Writes the attempts that the journal lacks.
Result<void> write_run(const KernelBenchImport& request, const ImportedTask& imported, RecordIndex& records,
                       KernelBenchExchange& outcome) {
  KERNELGEN_TRY(const auto directory, run_directory(request.results_directory, imported.task.name, request.name));
  KERNELGEN_CHECK(make_directories(directory));
  KERNELGEN_TRY(const auto journal, open_run_journal(directory, [] { return std::chrono::system_clock::now(); }));
  const auto start = start_of(request, imported);
  KERNELGEN_CHECK(check_journal(*journal, start, directory));
  if (journal->events().empty()) KERNELGEN_CHECK(journal->append(start));
  auto history = history_of(journal->events());
  const auto is_finished = [](const Event& event) { return std::holds_alternative<RunFinished>(event.body); };
  std::string best;
  for (const auto& event : journal->events())
    if (const auto* changed = std::get_if<BestChanged>(&event.body)) best = changed->action_id;
  int number = 0;
  for (const auto& sample : imported.samples) {
    ++number;
    ++outcome.kernels;
    auto known = history.find(attempt_id(sample.sample));
    if (known == history.end()) {
      auto result = result_of(sample, number, records, imported.task);
      KERNELGEN_CHECK(journal->append(ActionIssued{number, result.action, {.kind = PromptKind::Seed, .text = ""}}));
      KERNELGEN_CHECK(journal->append(ActionFinished{result}));
      known = history.emplace(result.action.id, std::move(result)).first;
    }
    if (has_verdict(known->second)) ++outcome.judged;
  }
  const auto* now_best = best_of(history);
  if (now_best != nullptr && now_best->action.id != best)
    KERNELGEN_CHECK(journal->append(BestChanged{now_best->action.id}));
  const auto was_judged = [](const auto& entry) { return has_verdict(entry.second); };
  const auto& events = journal->events();
  // A run without verdicts is not over: nothing is known about its kernels.
  if (std::all_of(history.begin(), history.end(), was_judged) &&
      std::none_of(events.begin(), events.end(), is_finished))
    KERNELGEN_CHECK(journal->append(RunFinished{"imported", now_best != nullptr && now_best->score() >= k_goal}));
  return {};
}

/// The tasks of a folder with their samples, in the order of the files.
Result<std::vector<ImportedTask>> collect(const KernelBenchImport& request, KernelBenchExchange& outcome) {
  KERNELGEN_TRY(const auto run, read_kernelbench_run(request.run_directory));
  auto claims = claims_by_sample(run, request.locator, request.baseline_times);
  for (const auto& problem : run.claims.problems) outcome.left_out.push_back("eval_results.json: " + problem);
  std::vector<ImportedTask> tasks;
  std::pair<int, int> last{-1, -1};
  for (const auto& kernel : run.kernels) {
    const auto file = kernel_file_name(kernel);
    auto candidate = read_solution(request.run_directory / file);
    auto task = find_numbered_task(kernel.level, kernel.problem, request.locator);
    if (!task || (!candidate && candidate.error().code != ErrorCode::InvalidArgument)) {
      outcome.left_out.push_back(file + ": " + (task ? candidate.error() : task.error()).to_line());
      continue;
    }
    const std::pair place{kernel.level, kernel.problem};
    if (place != last) tasks.push_back({*std::move(task), {}});
    last = place;
    const auto claim = claims.find(kernel);
    tasks.back().samples.push_back({kernel, std::move(candidate), claim == claims.end() ? Claim{} : claim->second});
  }
  return tasks;
}

}  // namespace

std::optional<Claim> imported_claim(const std::vector<std::pair<std::string, std::string>>& run_options,
                                    const std::string& action_id) {
  for (const auto& [name, value] : run_options) {
    if (name != k_claim_option + action_id) continue;
    if (auto claim = parse_claim(value)) return *std::move(claim);
  }
  return std::nullopt;
}

Result<KernelBenchExchange> import_kernelbench_run(const KernelBenchImport& request) {
  KernelBenchExchange outcome;
  KERNELGEN_TRY(const auto tasks, collect(request, outcome));
  KERNELGEN_TRY(auto records, read_records(request.records_directory));
  for (const auto& task : tasks) {
    KERNELGEN_CHECK(write_run(request, task, records, outcome));
    ++outcome.tasks;
  }
  return outcome;
}

}  // namespace v0
}  // namespace kernelgen
