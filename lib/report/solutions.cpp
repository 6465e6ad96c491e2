#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include <kernelgen/report/audit_report.hpp>
#include <kernelgen/report/kernelbench_exchange.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/journal.hpp>
#include <kernelgen/store/results_directory.hpp>

#include "report/solution_files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} && end.ptr == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// The conditions under which a run's kernels were judged.
EvaluationOptions options_of_run(EvaluationOptions options, const RunStarted& started) {
  for (const auto& [name, value] : started.options) {
    if (name == "precision") options.precision = parse_precision(value).value_or(options.precision);
    if (name == "library_use") options.library_use = parse_library_use(value).value_or(options.library_use);
    if (name == "rtol") options.rtol = number_of(value);
    if (name == "atol") options.atol = number_of(value);
    if (name != "shrink") continue;
    options.shrink.clear();
    for (const auto word : split(value, ' ')) {
      const auto equals = word.find('=');
      const auto number = equals == word.npos ? std::nullopt : number_of(std::string(word.substr(equals + 1)));
      if (number) options.shrink.emplace_back(std::string(word.substr(0, equals)), static_cast<std::int64_t>(*number));
    }
  }
  return options;
}

Claim claim_of_best(const RunReport& run) {
  Claim claim{.correct = true, .kind = SpeedupKind::Score, .device = run.device};
  if (!run.best->score) return claim;
  claim.speedup = run.best->score->value;
  claim.interval = run.best->score;
  return claim;
}

/// Adds the kernels of one run. Returns whether it has any.
Result<bool> add_run(const fs::path& results, const RunReport& run, const SolutionSources& sources,
                     FoundSolutions& found) {
  const auto name = run.name.empty() ? run.task : run.task + '/' + run.name;
  if (run.status == RunStatus::Damaged) {
    found.unpaired.push_back({.name = name, .reason = "its journal cannot be read: " + run.reason});
    return true;
  }
  const bool is_imported = run.policy == k_imported_policy;
  if (!run.best && !is_imported) return false;
  KERNELGEN_TRY(const auto directory, run_directory(results, run.task, run.name));
  KERNELGEN_TRY(const auto events, read_run_events(directory));
  const auto* started = events.empty() ? nullptr : std::get_if<RunStarted>(&events.front().body);
  if (started == nullptr) return false;
  const auto options = options_of_run(sources.options, *started);
  bool has_kernel = false;
  for (const auto& [id, result] : history_of(events)) {
    if (!result.candidate || (!is_imported && id != run.best->id)) continue;
    has_kernel = true;
    auto claim = is_imported ? imported_claim(started->options, id).value_or(Claim{}) : claim_of_best(run);
    found.solutions.push_back({.name = is_imported ? name + ' ' + id : name,
                               .task = started->task,
                               .candidate = *result.candidate,
                               .claim = std::move(claim),
                               .options = options});
  }
  return has_kernel;
}

Result<void> add_results(const fs::path& directory, const std::vector<RunReport>& runs, const SolutionSources& sources,
                         FoundSolutions& found) {
  int without = 0;
  for (const auto& run : runs) {
    KERNELGEN_TRY(const bool has_kernel, add_run(directory, run, sources, found));
    if (!has_kernel) ++without;
  }
  if (without > 0)
    found.notes.push_back(fmt::format("{}: {} run{} without a correct kernel, of which nothing is claimed",
                                      directory.string(), without, without == 1 ? "" : "s"));
  return {};
}

bool is_run_folder(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory / "eval_results.json", error)) return true;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error))
    if (parse_kernel_file_name(entry->path().filename().string())) return true;
  return false;
}

bool holds_journal(const fs::path& directory) {
  std::error_code ignored;
  return fs::exists(directory / "events.jsonl", ignored);
}

Result<void> add_path(const fs::path& path, const SolutionSources& sources, FoundSolutions& found) {
  std::error_code ignored;
  const auto status = fs::status(path, ignored);
  if (!fs::exists(status)) return Error{ErrorCode::NotFound, path.string() + " does not exist"};
  if (fs::is_regular_file(status)) return add_source_files({path}, sources, found);
  if (!fs::is_directory(status))
    return Error{ErrorCode::InvalidArgument, path.string() + " is neither a folder nor a file"};
  if (is_run_folder(path)) return add_run_folder(path, sources, found);
  auto runs = read_results(path);
  if (runs) return add_results(path, *runs, sources, found);
  if (holds_journal(path)) return runs.error();
  KERNELGEN_TRY(const auto files, source_files_in(path));
  if (files.empty())
    return Error{ErrorCode::InvalidArgument,
                 path.string() +
                     " holds no kernels: it is no results directory, no run folder of KernelBench, and has "
                     "no source files"};
  return add_source_files(files, sources, found);
}

/// Names are unique: where several paths give the same one, the path is put before it.
void add_found(const fs::path& path, bool is_only, FoundSolutions part, FoundSolutions& all,
               std::set<std::string>& names) {
  const auto full_name = [&](const std::string& name) {
    if (is_only && names.insert(name).second) return name;
    const auto folder = path.has_filename() ? path.filename() : path.parent_path().filename();
    auto shown = fs::is_directory(path) ? folder.string() + ": " + name : name;
    for (int number = 2; !names.insert(shown).second; ++number)
      shown = fmt::format("{}: {}{}", path.string(), name, number == 2 ? "" : fmt::format(" ({})", number - 1));
    return shown;
  };
  for (auto& solution : part.solutions) {
    solution.name = full_name(solution.name);
    all.solutions.push_back(std::move(solution));
  }
  for (auto& unpaired : part.unpaired) {
    unpaired.name = full_name(unpaired.name);
    all.unpaired.push_back(std::move(unpaired));
  }
  for (auto& note : part.notes) all.notes.push_back(std::move(note));
}

}  // namespace

Result<FoundSolutions> find_solutions(const SolutionSources& sources) {
  if (sources.paths.empty()) return Error{ErrorCode::InvalidArgument, "an audit needs a folder or a file"};
  FoundSolutions all;
  std::set<std::string> names;
  std::set<fs::path> seen;
  for (const auto& path : sources.paths) {
    std::error_code ignored;
    if (!seen.insert(fs::weakly_canonical(path, ignored)).second) {
      all.notes.push_back(path.string() + " is named twice and counts once");
      continue;
    }
    FoundSolutions part;
    KERNELGEN_CHECK(add_path(path, sources, part));
    add_found(path, sources.paths.size() == 1, std::move(part), all, names);
  }
  return all;
}

}  // namespace v0
}  // namespace kernelgen
