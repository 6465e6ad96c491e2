#pragma once

/// \file
/// Compares results directories task by task: models, prompts, policies, devices (docs/results.md). Except for reading,
/// these functions are pure.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The runs of one results directory.
struct ResultSet {
  /// The directory as it was named; shown in reports.
  std::string name;
  std::vector<RunReport> runs;
};

/// What the runs of one task add up to.
struct TaskResult {
  std::string task;
  int runs = 0;
  /// Runs that go on, wait or were interrupted; they count as they stand.
  int unfinished = 0;
  /// Runs with a journal that cannot be read; they do not count.
  int damaged = 0;
  /// True if any run has a correct kernel.
  bool is_correct = false;
  /// The highest score of the runs; unset without a correct kernel that has a valid time.
  std::optional<Ratio> score;
  /// The class of the last failure where no kernel is correct: "compile:undeclared".
  std::string failure_class;
  /// SHA-256 of the task's text; empty where it is not known.
  std::string content_id;
  /// Device, precision class, and the labels that change what a score means ("shrunk: batch_size=16", "non-standard
  /// tolerance"), of the run with the score.
  std::string device;
  std::optional<PrecisionClass> precision;
  std::vector<std::string> conditions;
  /// Sums over the runs.
  std::int64_t evaluations = 0;
  double minutes = 0;
  UsageReport usage;
  /// Answered requests with an unknown cost.
  std::int64_t requests_without_cost = 0;
};

/// Adds up the runs of each task, in the order of the tasks' first runs.
[[nodiscard]] std::vector<TaskResult> results_by_task(const std::vector<RunReport>& runs);

/// How the second side of a pair did, beside the first. Stored by name.
enum class PairOutcome {
  Won,             ///< its interval lies above that of the first side, or it alone is correct
  Lost,            ///< its interval lies below that of the first side, or the first side alone is correct
  Tied,            ///< both are correct, and their intervals overlap
  NeitherCorrect,  ///< no side has a correct kernel
  NotTimed,        ///< both are correct, and at least one has no valid time
};
[[nodiscard]] std::string_view to_string(PairOutcome outcome);

/// Decides a pair from whether each side is correct, and from the intervals of the scores.
[[nodiscard]] PairOutcome compare_pair(const TaskResult& base, const TaskResult& other);

/// A task that both sides have.
struct TaskPair {
  TaskResult base;
  TaskResult other;
  PairOutcome outcome = PairOutcome::NeitherCorrect;
  /// Score of the other side over that of the base; unset unless both have one.
  std::optional<double> ratio;
};

/// Number of tasks that are correct on both sides, on one, on none.
struct CorrectnessTable {
  int both = 0;
  int only_base = 0;
  int only_other = 0;
  int neither = 0;
};

/// McNemar's exact test: the probability, were both sides equally good, that the tasks which only one side solves are
/// divided as unevenly as this or more (two-sided, binomial). 1 without such tasks.
[[nodiscard]] double mcnemar_p(int only_base, int only_other);

/// Adjusts the p-values of several tests by Holm's method, in their order: rejecting those below a level keeps the
/// probability of any wrong rejection below that level.
[[nodiscard]] std::vector<double> holm_adjusted(const std::vector<double>& p_values);

/// Seed, number of resamples and least number of tasks of the bootstrap.
inline constexpr std::uint64_t k_bootstrap_seed = 1;
inline constexpr int k_bootstrap_resamples = 10'000;
inline constexpr std::size_t k_bootstrap_least = 5;

/// A geometric mean of ratios.
struct MeanRatio {
  std::size_t tasks = 0;
  /// Unset without tasks.
  std::optional<double> value;
  /// The 95 % interval; unset for fewer than k_bootstrap_least tasks, where it would be too narrow.
  std::optional<double> low;
  std::optional<double> high;
};

/// The geometric mean of positive ratios, with the percentile interval of a bootstrap over tasks: the tasks are drawn
/// k_bootstrap_resamples times with replacement, by a Mersenne twister with a fixed seed, so that equal ratios always
/// give equal intervals.
[[nodiscard]] MeanRatio mean_ratio(const std::vector<double>& ratios);

/// What one side did and spent.
struct SideTotals {
  int tasks = 0;
  int correct = 0;
  /// Tasks with a score above 1.
  int faster = 0;
  /// Over the tasks with a score; unset when there is none.
  std::optional<double> geometric_mean;
  std::int64_t evaluations = 0;
  double minutes = 0;
  UsageReport usage;
};
/// Adds up tasks.
[[nodiscard]] SideTotals side_totals_of(const std::vector<TaskResult>& tasks);

/// One side against the base.
struct SetComparison {
  std::string base_name;
  std::string other_name;
  /// In the order of the base.
  std::vector<TaskPair> pairs;
  int won = 0;
  int lost = 0;
  int tied = 0;
  int neither_correct = 0;
  int not_timed = 0;
  /// Over the pairs in which both sides have a score.
  MeanRatio ratio;
  CorrectnessTable correctness;
  /// mcnemar_p() of the table.
  double correctness_p = 1;
  /// The same, holm_adjusted() over the comparisons of a report; equal to correctness_p if there is one only.
  double adjusted_p = 1;
  /// Over the pairs.
  SideTotals base_totals;
  SideTotals other_totals;
  /// Tasks that are not compared: of one side only, and "NAME: why" for those of both.
  std::vector<std::string> only_base;
  std::vector<std::string> only_other;
  std::vector<std::string> excluded;
  /// What makes the comparison doubtful, one sentence each: other devices, precision classes or conditions, unfinished
  /// runs, several runs of a task, costs that are known in part.
  std::vector<std::string> warnings;
};

/// Compares two sets by the names of their tasks. A task that has different texts on the two sides, or damaged runs
/// only, is not compared.
[[nodiscard]] SetComparison compare_sets(const ResultSet& base, const ResultSet& other);

/// All sets, and each one but the first against the first.
struct ComparisonReport {
  /// One for each set, over all of its tasks.
  std::vector<SideTotals> totals;
  std::vector<ResultSet> sets;
  std::vector<SetComparison> comparisons;
};

/// Largest number of sets: they are named A to Z.
inline constexpr std::size_t k_max_sets = 26;

/// Compares each set with the first. InvalidArgument for fewer than two or more than k_max_sets sets, and for two sets
/// without a common task.
[[nodiscard]] Result<ComparisonReport> compare_all(std::vector<ResultSet> sets);

/// Reads the directories and compares them. Errors: those of read_results() and compare_all(), and InvalidArgument for
/// a directory that is named twice.
[[nodiscard]] Result<ComparisonReport> compare_directories(const std::vector<std::filesystem::path>& directories);

/// A property by which the runs of one results directory are compared.
enum class ComparedProperty { Model, Target, Policy, Name };
[[nodiscard]] std::string_view to_string(ComparedProperty property);

/// Divides the runs of one directory by a property and compares the parts, each under the property's value and in the
/// order of their first runs. Where the runs have several targets or models, too, tasks are paired for each of them.
/// Errors: those of read_results() and compare_all().
[[nodiscard]] Result<ComparisonReport> compare_within(const std::filesystem::path& directory,
                                                      ComparedProperty property);

/// The comparison for a terminal of `width` columns; 0: lines are not shortened.
[[nodiscard]] std::string comparison_table(const ComparisonReport& report, std::size_t width);

/// The comparison for a program (docs/results.md).
[[nodiscard]] std::string comparison_json(const ComparisonReport& report);

/// The comparison as a page for a browser. `page_parts` has the page's parts (Installation::report_dir); fails where
/// they cannot be read.
[[nodiscard]] Result<std::string> comparison_page(const ComparisonReport& report,
                                                  const std::filesystem::path& page_parts);

/// Writes comparison_page() to a file, by rename. Errors: also those of writing (NotFound, NoSpace, PermissionDenied,
/// Io).
Result<void> write_comparison_page(const ComparisonReport& report, const std::filesystem::path& page_parts,
                                   const std::filesystem::path& file);

}  // namespace v0
}  // namespace kernelgen
