#pragma once

/// \file
/// What runs add up to: for a table, for a program, for a spreadsheet, for a picture. Everything is computed from the
/// journals (docs/results.md); but for reading and writing, these functions are pure.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/store/event.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The state of a run. Stored by name.
enum class RunStatus {
  Success,     ///< over, and the goal was reached
  Partial,     ///< over; a correct kernel, but not the goal
  Failed,      ///< over, and no kernel is correct
  Unfinished,  ///< not over: running, waiting or interrupted
  Damaged,     ///< its journal cannot be read
};
[[nodiscard]] std::string_view to_string(RunStatus status);

/// What became of a request. Stored by name.
enum class RequestStatus {
  Answered,
  Failed,    ///< it cannot be answered: a key that is not accepted, a reply that never comes while others do
  Deferred,  ///< the endpoint gave no answer; it is asked again
  Unknown,   ///< kgen ended before the answer: it may have been answered, and paid for
};
[[nodiscard]] std::string_view to_string(RequestStatus status);

/// One request to a model; a request that was sent again is another one.
struct RequestReport {
  /// When it left.
  std::string time;
  /// The number of its action.
  int number = 0;
  std::string action_id;
  PromptKind kind = PromptKind::Seed;
  RequestStatus status = RequestStatus::Unknown;
  /// The provider's name of the model, else the run's.
  std::string model;
  /// Where it was asked: "localhost:8000". Empty where that is not recorded.
  std::string endpoint;
  TokenUsage usage;
  /// Both only when it was answered.
  std::optional<double> latency_seconds;
  std::optional<FinishReason> finish;
  /// By the prices of the run; absent without prices.
  std::optional<double> cost;
};

/// One action of a run.
struct AttemptReport {
  int number = 0;
  std::string id;
  PromptKind kind = PromptKind::Seed;
  /// Unset: not finished.
  std::optional<ActionStatus> status;
  /// "correct", "accuracy:mismatch"; without a record the status: "no_code", "analyzed", "unfinished".
  std::string result_class;
  /// "triton.arange_bounds", as docs/errors.md lists them. Empty without an error.
  std::string error_class;
  std::optional<double> score;
  std::string message;
  std::optional<Recurrence> recurrence;
  /// In the run's directory, such as "code_3.cpp". Empty: the reply held no code.
  std::string code_file;

  /// Finished without a correct kernel, and it was not an analysis.
  [[nodiscard]] bool failed() const;
};

/// The best kernel of a run.
struct BestReport {
  std::string id;
  /// Unset: correct, but without a time that counts.
  std::optional<Ratio> score;
  std::optional<double> reference_ms;
  std::optional<double> kernel_ms;
  std::optional<Recurrence> recurrence;
  std::vector<std::string> labels;
  /// How far it is from its floor, in a sentence. Empty: no floor is known.
  std::string headroom;
  /// In the run's directory, such as "best_code.cpp".
  std::string code_file;
};

/// Requests and tokens of one or many runs; tokens as far as providers count them.
struct UsageReport {
  std::int64_t requests = 0;
  std::int64_t answered = 0;
  std::int64_t failed = 0;
  std::int64_t deferred = 0;
  std::int64_t unknown = 0;
  TokenUsage tokens;
  double latency_seconds = 0;
  /// The sum over requests whose cost is known; absent when none is.
  std::optional<double> cost;

  /// Input and output together; nothing when neither is known.
  [[nodiscard]] std::optional<std::int64_t> total_tokens() const;
};
[[nodiscard]] UsageReport usage_of(const std::vector<RequestReport>& requests);

/// One run.
struct RunReport {
  std::string task;
  /// Empty for the run that lies in the task's own directory.
  std::string name;
  RunStatus status = RunStatus::Unfinished;
  std::string target;
  std::string policy;
  std::string model;
  std::optional<BestReport> best;
  /// In the order of their numbers.
  std::vector<AttemptReport> attempts;
  /// In the order in which they left.
  std::vector<RequestReport> requests;
  std::int64_t evaluations = 0;
  /// All sessions together.
  double minutes = 0;
  /// Why it ended; why the model gave no answer where it is paused; what is wrong with a damaged one. Empty: it goes
  /// on.
  std::string reason;

  /// Failed attempts by class.
  [[nodiscard]] std::map<std::string, int> failures() const;
};

/// What the events of one run say.
[[nodiscard]] RunReport report_run(const std::string& task, const std::string& name, const std::vector<Event>& events);

/// Over many runs. A run without a score counts as 0 in `mean` and `fast_1`, whatever the reason: it must not pay to
/// lose one. The other statistics are over the runs with a score, and absent when there is none.
struct Totals {
  int runs = 0;
  std::map<RunStatus, int> by_status;
  /// Percentages, mean and fraction over all runs.
  double success_percent = 0;
  double correct_percent = 0;
  double mean = 0;
  double fast_1 = 0;
  std::optional<double> mean_scored;
  std::optional<double> geometric_mean;
  std::optional<double> median;
  std::optional<double> lower_quartile;
  std::optional<double> upper_quartile;
  /// Failed attempts of all runs by class.
  std::map<std::string, int> failures;
  UsageReport usage;
};
[[nodiscard]] Totals totals_of(const std::vector<RunReport>& runs);

/// The fraction of all runs whose best kernel has a score above `p`; 0 of no runs.
[[nodiscard]] double fast_p(const std::vector<RunReport>& runs, double p);

/// The content of summary.json, summary.csv, usage.csv and detailed_report.json and .txt. The CSV files are plain
/// tables: a header, then one row a run or a request.
[[nodiscard]] std::string summary_json(const std::vector<RunReport>& runs);
[[nodiscard]] std::string summary_csv(const std::vector<RunReport>& runs);
[[nodiscard]] std::string usage_csv(const std::vector<RunReport>& runs);
[[nodiscard]] std::string detailed_json(const std::vector<RunReport>& runs);
[[nodiscard]] std::string detailed_text(const std::vector<RunReport>& runs);

/// The content of figures/score.svg: score by action number, the best so far, failures.
[[nodiscard]] std::string score_figure(const RunReport& run);

/// The summary for a terminal of `width` columns; 0: lines are as long as they are.
[[nodiscard]] std::string summary_table(const std::vector<RunReport>& runs, std::size_t width);

/// The runs below a results directory, in natural order of their names. A damaged journal gives a run that says so.
/// Symbolic links below the directory are not followed. InvalidArgument when it is no results directory: not there, no
/// directory, or without a run.
[[nodiscard]] Result<std::vector<RunReport>> read_results(const std::filesystem::path& results_directory);

/// Reads the results and writes the reports beside them, each by rename, while it holds the lock of the reports
/// (results_directory/.lock). Also keeps in each run's directory what its journal adds up to, so that the next call
/// reads only journals that have changed. Errors: those of read_results(), those of writing (NoSpace, PermissionDenied,
/// Io), and Busy when another process keeps the lock for half a minute.
Result<void> write_reports(const std::filesystem::path& results_directory);

}  // namespace v0
}  // namespace kernelgen
