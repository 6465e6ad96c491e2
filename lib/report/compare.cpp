#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <kernelgen/report/compare.hpp>

#include "report/report_json.hpp"
#include "report/report_names.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// The labels that change what a score means.
std::vector<std::string> conditions_of(const RunReport& run) {
  std::vector<std::string> conditions;
  if (!run.best) return conditions;
  for (const auto& label : run.best->labels)
    for (const char* beginning : {"shrunk", "non-standard tolerance", "quick"})
      if (label.starts_with(beginning)) conditions.push_back(label);
  std::sort(conditions.begin(), conditions.end());
  return conditions;
}

/// True if the task has no better run yet: a correct kernel wins over none, and a higher score over a lower one.
bool is_better(const RunReport& run, const TaskResult& task) {
  if (!run.best) return false;
  if (!task.is_correct) return true;
  return run.best->score && (!task.score || task.score->value < run.best->score->value);
}

void add_usage(UsageReport& sum, const UsageReport& more) {
  const auto add = [](auto& to, const auto& number) {
    if (number) to = to.value_or(0) + *number;
  };
  sum.requests += more.requests;
  sum.answered += more.answered;
  sum.failed += more.failed;
  sum.deferred += more.deferred;
  sum.unknown += more.unknown;
  add(sum.tokens.input_tokens, more.tokens.input_tokens);
  add(sum.tokens.output_tokens, more.tokens.output_tokens);
  add(sum.tokens.cached_tokens, more.tokens.cached_tokens);
  add(sum.tokens.reasoning_tokens, more.tokens.reasoning_tokens);
  sum.latency_seconds += more.latency_seconds;
  add(sum.cost, more.cost);
}

void add_run(const RunReport& run, TaskResult& task) {
  ++task.runs;
  if (run.status == RunStatus::Damaged) {
    ++task.damaged;
    return;
  }
  if (run.status == RunStatus::Unfinished) ++task.unfinished;
  // Without a correct kernel, device and precision class are those of the last evaluation.
  if (is_better(run, task) || (!task.is_correct && task.device.empty())) {
    task.device = run.device;
    task.precision = run.precision;
    task.conditions = conditions_of(run);
  }
  if (is_better(run, task)) task.score = run.best->score;
  task.is_correct = task.is_correct || run.best;
  if (!run.best) task.failure_class = last_failure_class(run);
  if (task.content_id.empty()) task.content_id = run.content_id;
  task.evaluations += run.evaluations;
  task.minutes += run.minutes;
  add_usage(task.usage, usage_of(run.requests));
  for (const auto& request : run.requests)
    if (request.status == RequestStatus::Answered && !request.cost) ++task.requests_without_cost;
}

void count_outcome(PairOutcome outcome, SetComparison& comparison) {
  switch (outcome) {
    case PairOutcome::Won:
      ++comparison.won;
      return;
    case PairOutcome::Lost:
      ++comparison.lost;
      return;
    case PairOutcome::Tied:
      ++comparison.tied;
      return;
    case PairOutcome::NeitherCorrect:
      ++comparison.neither_correct;
      return;
    case PairOutcome::NotTimed:
      ++comparison.not_timed;
      return;
  }
}

void count_correctness(const TaskPair& pair, CorrectnessTable& table) {
  if (pair.base.is_correct && pair.other.is_correct) ++table.both;
  if (pair.base.is_correct && !pair.other.is_correct) ++table.only_base;
  if (!pair.base.is_correct && pair.other.is_correct) ++table.only_other;
  if (!pair.base.is_correct && !pair.other.is_correct) ++table.neither;
}

/// Why a task of both sides is not compared; empty when it is.
std::string reason_to_exclude(const TaskResult& base, const TaskResult& other) {
  if (base.damaged == base.runs || other.damaged == other.runs) return "a journal is damaged";
  if (!base.content_id.empty() && !other.content_id.empty() && base.content_id != other.content_id)
    return "the two sides have different texts of it";
  return "";
}

TaskPair make_pair_of(const TaskResult& base, const TaskResult& other) {
  TaskPair pair{.base = base, .other = other, .outcome = compare_pair(base, other)};
  if (base.score && other.score) pair.ratio = other.score->value / base.score->value;
  return pair;
}

std::string tasks_text(int count) { return fmt::format("{} task{}", count, count == 1 ? "" : "s"); }

/// Warns of pairs in which both sides have a fact, and different ones.
template <class Fact>
void warn_of_difference(const SetComparison& comparison, const std::string& what, Fact fact_of,
                        std::vector<std::string>& warnings) {
  int different = 0;
  std::string example;
  for (const auto& pair : comparison.pairs) {
    const std::string base = fact_of(pair.base), other = fact_of(pair.other);
    if (base.empty() || other.empty() || base == other) continue;
    if (different++ == 0) example = fmt::format("{}: {} and {}", pair.base.task, base, other);
  }
  if (different > 0)
    warnings.push_back(
        fmt::format("{} differ in {} ({}), so their scores are not comparable", what, tasks_text(different), example));
}

std::string conditions_text(const TaskResult& task) {
  if (!task.is_correct) return "";
  return task.conditions.empty() ? "the usual" : join(task.conditions, ", ");
}

/// Warns of what is special about the tasks of one side.
void warn_of_side(const std::string& name, const std::vector<TaskResult>& tasks, std::vector<std::string>& warnings) {
  int unfinished = 0, damaged = 0, repeated = 0;
  std::int64_t without_cost = 0;
  bool has_cost = false;
  for (const auto& task : tasks) {
    unfinished += task.unfinished;
    damaged += task.damaged;
    if (task.runs > 1) ++repeated;
    without_cost += task.requests_without_cost;
    has_cost = has_cost || task.usage.cost;
  }
  const auto runs_text = [](int count) { return fmt::format("{} run{}", count, count == 1 ? "" : "s"); };
  if (unfinished > 0)
    warnings.push_back(fmt::format("{} of {} not finished, counted as it stands", runs_text(unfinished), name));
  if (damaged > 0) warnings.push_back(fmt::format("{} of {} damaged, not counted", runs_text(damaged), name));
  if (repeated > 0)
    warnings.push_back(fmt::format("{} of {} with several runs: the best one counts, and all of them cost",
                                   tasks_text(repeated), name));
  if (has_cost && without_cost > 0)
    warnings.push_back(fmt::format("{} answered request{} of {} without a known cost, so its cost is too low",
                                   without_cost, without_cost == 1 ? "" : "s", name));
}

std::vector<std::string> find_warnings(const SetComparison& comparison, const std::vector<TaskResult>& base,
                                       const std::vector<TaskResult>& other) {
  std::vector<std::string> warnings;
  warn_of_difference(
      comparison, "devices", [](const TaskResult& task) { return task.device; }, warnings);
  warn_of_difference(
      comparison, "precision classes",
      [](const TaskResult& task) { return std::string(task.precision ? to_string(*task.precision) : ""); }, warnings);
  warn_of_difference(comparison, "conditions", conditions_text, warnings);
  warn_of_side(comparison.base_name, base, warnings);
  warn_of_side(comparison.other_name, other, warnings);
  return warnings;
}

std::map<std::string, const TaskResult*> index_by_name(const std::vector<TaskResult>& tasks) {
  std::map<std::string, const TaskResult*> index;
  for (const auto& task : tasks) index[task.task] = &task;
  return index;
}

}  // namespace

template <>
inline constexpr auto names_of<PairOutcome> = make_names<PairOutcome>({{PairOutcome::Won, "won"},
                                                                       {PairOutcome::Lost, "lost"},
                                                                       {PairOutcome::Tied, "tied"},
                                                                       {PairOutcome::NeitherCorrect, "neither_correct"},
                                                                       {PairOutcome::NotTimed, "not_timed"}});

std::string_view to_string(PairOutcome outcome) { return names_of<PairOutcome>.name(outcome); }

std::vector<TaskResult> results_by_task(const std::vector<RunReport>& runs) {
  std::vector<TaskResult> tasks;
  std::map<std::string, std::size_t> places;
  for (const auto& run : runs) {
    const auto [place, is_new] = places.emplace(run.task, tasks.size());
    if (is_new) tasks.push_back({.task = run.task});
    add_run(run, tasks[place->second]);
  }
  return tasks;
}

PairOutcome compare_pair(const TaskResult& base, const TaskResult& other) {
  if (!base.is_correct && !other.is_correct) return PairOutcome::NeitherCorrect;
  if (!base.is_correct) return PairOutcome::Won;
  if (!other.is_correct) return PairOutcome::Lost;
  if (!base.score || !other.score) return PairOutcome::NotTimed;
  if (other.score->low > base.score->high) return PairOutcome::Won;
  if (other.score->high < base.score->low) return PairOutcome::Lost;
  return PairOutcome::Tied;
}

SideTotals side_totals_of(const std::vector<TaskResult>& tasks) {
  SideTotals totals;
  double logs = 0;
  int scored = 0;
  for (const auto& task : tasks) {
    ++totals.tasks;
    if (task.is_correct) ++totals.correct;
    if (task.score && task.score->value > 1) ++totals.faster;
    if (task.score) {
      ++scored;
      logs += std::log(task.score->value);
    }
    totals.evaluations += task.evaluations;
    totals.minutes += task.minutes;
    add_usage(totals.usage, task.usage);
  }
  if (scored > 0) totals.geometric_mean = std::exp(logs / scored);
  return totals;
}

SetComparison compare_sets(const ResultSet& base, const ResultSet& other) {
  SetComparison comparison{.base_name = base.name, .other_name = other.name};
  const auto base_tasks = results_by_task(base.runs), other_tasks = results_by_task(other.runs);
  const auto base_index = index_by_name(base_tasks), other_index = index_by_name(other_tasks);
  std::vector<TaskResult> compared_base, compared_other;
  std::vector<double> ratios;
  for (const auto& task : base_tasks) {
    const auto match = other_index.find(task.task);
    if (match == other_index.end()) {
      comparison.only_base.push_back(task.task);
      continue;
    }
    if (const auto reason = reason_to_exclude(task, *match->second); !reason.empty()) {
      comparison.excluded.push_back(task.task + ": " + reason);
      continue;
    }
    auto pair = make_pair_of(task, *match->second);
    count_outcome(pair.outcome, comparison);
    count_correctness(pair, comparison.correctness);
    if (pair.ratio) ratios.push_back(*pair.ratio);
    compared_base.push_back(pair.base);
    compared_other.push_back(pair.other);
    comparison.pairs.push_back(std::move(pair));
  }
  for (const auto& task : other_tasks)
    if (!base_index.contains(task.task)) comparison.only_other.push_back(task.task);
  comparison.ratio = mean_ratio(ratios);
  comparison.correctness_p = mcnemar_p(comparison.correctness.only_base, comparison.correctness.only_other);
  comparison.adjusted_p = comparison.correctness_p;
  comparison.base_totals = side_totals_of(compared_base);
  comparison.other_totals = side_totals_of(compared_other);
  comparison.warnings = find_warnings(comparison, compared_base, compared_other);
  return comparison;
}

Result<ComparisonReport> compare_all(std::vector<ResultSet> sets) {
  if (sets.size() < 2) return Error{ErrorCode::InvalidArgument, "a comparison needs at least two results directories"};
  if (sets.size() > k_max_sets)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a comparison takes at most {} results directories, not {}", k_max_sets, sets.size())};
  ComparisonReport report;
  for (const auto& set : sets) report.totals.push_back(side_totals_of(results_by_task(set.runs)));
  for (std::size_t i = 1; i < sets.size(); ++i) {
    auto comparison = compare_sets(sets.front(), sets[i]);
    if (comparison.pairs.empty() && comparison.excluded.empty())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{} and {} have no task in common (the first task of each: {}, {})", sets.front().name,
                               sets[i].name, comparison.only_base.empty() ? "none" : comparison.only_base.front(),
                               comparison.only_other.empty() ? "none" : comparison.only_other.front())};
    report.comparisons.push_back(std::move(comparison));
  }
  std::vector<double> p_values;
  for (const auto& comparison : report.comparisons) p_values.push_back(comparison.correctness_p);
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < adjusted.size(); ++i) report.comparisons[i].adjusted_p = adjusted[i];
  report.sets = std::move(sets);
  return report;
}

std::string_view to_string(ComparedProperty property) {
  constexpr std::string_view k_names[] = {"model", "target", "policy", "name"};
  return k_names[static_cast<std::size_t>(property)];
}

Result<ComparisonReport> compare_within(const fs::path& directory, ComparedProperty property) {
  KERNELGEN_TRY(auto runs, read_results(directory));
  const auto value_of = [](const RunReport& run, ComparedProperty which) {
    const std::string* const values[] = {&run.model, &run.target, &run.policy, &run.name};
    return *values[static_cast<std::size_t>(which)];
  };
  std::vector<ComparedProperty> pairing;
  for (const auto other : {ComparedProperty::Target, ComparedProperty::Model}) {
    std::set<std::string> values;
    for (const auto& run : runs) values.insert(value_of(run, other));
    if (other != property && values.size() > 1) pairing.push_back(other);
  }
  std::vector<ResultSet> sets;
  for (auto& run : runs) {
    const auto value = value_of(run, property);
    for (const auto other : pairing) run.task += ", " + value_of(run, other);
    auto set = std::find_if(sets.begin(), sets.end(), [&](const auto& known) { return known.name == value; });
    if (set == sets.end()) set = sets.insert(set, {value, {}});
    set->runs.push_back(std::move(run));
  }
  if (sets.size() < 2)
    return Error{ErrorCode::InvalidArgument, fmt::format("all runs in {} have the same {}; there is nothing to compare",
                                                         directory.string(), to_string(property))};
  return compare_all(std::move(sets));
}

Result<ComparisonReport> compare_directories(const std::vector<fs::path>& directories) {
  std::vector<ResultSet> sets;
  std::set<fs::path> seen;
  for (const auto& directory : directories) {
    KERNELGEN_TRY(auto runs, read_results(directory));
    std::error_code ignored;
    if (!seen.insert(fs::canonical(directory, ignored)).second)
      return Error{ErrorCode::InvalidArgument, directory.string() + " is named twice; compare it with another one"};
    sets.push_back({directory.string(), std::move(runs)});
  }
  return compare_all(std::move(sets));
}

}  // namespace v0
}  // namespace kernelgen
