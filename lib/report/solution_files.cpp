#include "report/solution_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "support/files.hpp"
#include "support/natural_order.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "task/kernelbench_layout.hpp"
#include "task/task_numbers.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_claims_bytes = 64u << 20;

bool is_source_name(const std::string& name) {
  if (name.starts_with(".") || name == "__init__.py") return false;
  for (const char* extension : {".py", ".cpp", ".cc", ".cxx", ".c", ".cu", ".hip"})
    if (name.ends_with(extension)) return true;
  return false;
}

Result<TaskSource> find_named_task(const std::string& level, const std::string& task, const TaskLocator& locator) {
  const auto name = level.empty() ? task : level + '/' + task;
  if (locator.kernelbench_dir.empty())
    return Error{ErrorCode::NotFound,
                 "task " + name + " is looked for in a KernelBench checkout, and none is given (KERNELBENCH_DIR)"};
  KERNELGEN_TRY(const auto path, find_in_kernelbench(name, {.level = level, .task = task}, locator.kernelbench_dir));
  return load_task_source(path.string(), locator);
}

/// The level and the rest of a name such as "level1_19_ReLU"; an empty level where it has none.
std::pair<std::string, std::string> split_level(const std::string& stem) {
  constexpr std::string_view k_level = "level";
  if (!stem.starts_with(k_level)) return {"", stem};
  std::size_t end = k_level.size();
  const auto start = stem[end] == '_' ? ++end : end;
  while (end < stem.size() && stem[end] >= '0' && stem[end] <= '9') ++end;
  if (end == start || end + 1 >= stem.size() || (stem[end] != '_' && stem[end] != '-')) return {"", stem};
  return {"level" + stem.substr(start, end - start), stem.substr(end + 1)};
}

/// The claims of claims.json beside a file, by the name of the file.
Result<std::map<std::string, Claim>> claims_beside(const fs::path& folder) {
  const auto file = folder / "claims.json";
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::map<std::string, Claim>{};
  KERNELGEN_TRY(const auto text, read_file(file, k_max_claims_bytes));
  return parse_claims(text).context(file.string());
}

std::string sample_name(const KernelBenchSample& sample, const std::string& task) {
  return fmt::format("level{}/{} sample {}", sample.level, task.empty() ? std::to_string(sample.problem) : task,
                     sample.sample);
}

/// Adds a kernel with its task, or the reason why it has none.
void add_file(const fs::path& file, const std::string& name, const Result<TaskSource>& task, Claim claim,
              const SolutionSources& sources, FoundSolutions& found) {
  auto candidate = read_solution(file);
  if (!candidate || !task) {
    const auto& error = candidate ? task.error() : candidate.error();
    return found.unpaired.push_back({.name = name, .claim = std::move(claim), .reason = error.to_line()});
  }
  found.solutions.push_back({.name = name,
                             .task = *task,
                             .candidate = *std::move(candidate),
                             .claim = std::move(claim),
                             .options = sources.options});
}

void add_sample(const fs::path& directory, const KernelBenchSample& sample, Claim claim, const SolutionSources& sources,
                FoundSolutions& found) {
  const auto task = sources.task.empty() ? find_numbered_task(sample.level, sample.problem, sources.locator)
                                         : load_task_source(sources.task, sources.locator);
  add_file(directory / kernel_file_name(sample), sample_name(sample, task ? task->name : ""), task, std::move(claim),
           sources, found);
}

Claim take_claim(std::map<KernelBenchSample, Claim>& claims, const KernelBenchSample& sample) {
  const auto claim = claims.find(sample);
  return claim == claims.end() ? Claim{} : std::move(claims.extract(claim).mapped());
}

bool defines(std::string_view source, std::string_view beginning) {
  const auto lines = split_lines(source);
  return std::any_of(lines.begin(), lines.end(), [&](auto line) {
    return line.starts_with(beginning) &&
           (line.size() == beginning.size() || !std::isalnum(static_cast<unsigned char>(line[beginning.size()])));
  });
}

}  // namespace

Result<std::vector<fs::path>> source_files_in(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(directory, error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (is_source_name(entry->path().filename().string()) && entry->is_regular_file(ignored))
      files.push_back(entry->path());
  }
  if (error) return Error{ErrorCode::Io, "cannot list " + directory.string() + ": " + error.message()};
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return naturally_less(a.filename().string(), b.filename().string()); });
  return files;
}

Result<TaskSource> find_numbered_task(int level, int problem, const TaskLocator& locator) {
  return find_named_task(fmt::format("level{}", level), std::to_string(problem), locator);
}

Result<TaskSource> find_task_of_file(const fs::path& file, const TaskLocator& locator) {
  if (const auto sample = parse_kernel_file_name(file.filename().string()))
    return find_numbered_task(sample->level, sample->problem, locator);
  auto [level, rest] = split_level(file.stem().string());
  if (level.empty())
    if (const auto above = level_above(fs::absolute(file))) level = "level" + *above;
  const auto number = leading_number(rest);
  if (!level.empty() && number) return find_named_task(level, std::to_string(*number), locator);
  auto named = find_named_task(level, rest, locator);
  if (named || !number || named.error().code != ErrorCode::NotFound) return named;
  return find_named_task("", std::to_string(*number), locator);
}

Result<Candidate> read_solution(const fs::path& file) {
  const auto invalid = [&](const std::string& why) {
    return Error{ErrorCode::InvalidArgument, file.filename().string() + ' ' + why};
  };
  KERNELGEN_TRY(auto source, read_file(file, k_max_solution_bytes));
  if (!is_valid_utf8(source) || source.find('\0') != source.npos) return invalid("is no UTF-8 text");
  if (trim(source).empty()) return invalid("is empty");
  const auto target = guess_target(file.filename().string(), source);
  if (!target) return invalid("is in no language of a kernel");
  if (!is_native(*target) && !defines(source, "class ModelNew") && !contains(source, "ModelNew =")) {
    if (defines(source, "class Model") && defines(source, "def get_inputs"))
      return invalid("is a task (class Model, get_inputs), and no kernel");
    return invalid("defines no ModelNew");
  }
  return make_candidate(*target, guess_language(file.filename().string(), *target), std::move(source));
}

std::map<KernelBenchSample, Claim> claims_by_sample(const KernelBenchRun& run, const TaskLocator& locator,
                                                    const BaselineTimes& baseline_times) {
  std::set<int> levels;
  for (const auto& kernel : run.kernels) levels.insert(kernel.level);
  std::map<KernelBenchSample, Claim> claims;
  for (const auto& result : run.claims.results)
    // The file's entries have no level: they are about the kernels of every level that the folder holds.
    for (const int level : levels.empty() ? std::set<int>{0} : levels) {
      std::optional<double> reference_ms;
      if (!result.reference_ms && !baseline_times.empty())
        if (const auto task = find_numbered_task(level, result.problem, locator))
          if (const auto time = baseline_times.find({level, task->name + ".py"}); time != baseline_times.end())
            reference_ms = time->second;
      claims[{level, result.problem, result.sample}] = claim_of(result, reference_ms);
    }
  return claims;
}

Result<void> add_run_folder(const fs::path& directory, const SolutionSources& sources, FoundSolutions& found) {
  KERNELGEN_TRY(const auto run, read_kernelbench_run(directory));
  auto claims = claims_by_sample(run, sources.locator, sources.baseline_times);
  for (const auto& kernel : run.kernels) add_sample(directory, kernel, take_claim(claims, kernel), sources, found);
  std::set<std::pair<int, int>> present;
  for (const auto& kernel : run.kernels) present.insert({kernel.problem, kernel.sample});
  for (auto& [sample, claim] : claims)
    if (present.insert({sample.problem, sample.sample}).second)
      found.unpaired.push_back({.name = fmt::format("problem {} sample {}", sample.problem, sample.sample),
                                .claim = std::move(claim),
                                .reason = "there is a claim, and no file of a kernel"});
  for (const auto& problem : run.claims.problems)
    found.notes.push_back((directory / "eval_results.json").string() + ": " + problem);
  return {};
}

Result<void> add_source_files(const std::vector<fs::path>& files, const SolutionSources& sources,
                              FoundSolutions& found) {
  const auto folder = files.front().has_parent_path() ? files.front().parent_path() : fs::path(".");
  KERNELGEN_TRY(auto claims, claims_beside(folder));
  std::map<KernelBenchSample, Claim> samples;
  for (const auto& file : files) {
    const auto name = file.filename().string();
    if (const auto sample = parse_kernel_file_name(name)) {
      if (samples.empty()) {
        KERNELGEN_TRY(const auto run, read_kernelbench_run(folder));
        samples = claims_by_sample(run, sources.locator, sources.baseline_times);
      }
      add_sample(folder, *sample, take_claim(samples, *sample), sources, found);
      continue;
    }
    const auto task = sources.task.empty() ? find_task_of_file(file, sources.locator)
                                           : load_task_source(sources.task, sources.locator);
    const auto claim = claims.find(name);
    add_file(file, name, task, claim == claims.end() ? Claim{} : claim->second, sources, found);
    claims.erase(name);
  }
  return {};
}

}  // namespace v0
}  // namespace kernelgen
