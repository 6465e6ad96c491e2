#pragma once

/// \file
/// Reports of runs: as a table, as JSON, as CSV, as a picture. Everything is computed from the journals
/// (docs/results.md); except for reading and writing, these functions are pure.

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
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
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

/// The state of a request. Stored by name.
enum class RequestStatus {
  Answered,
  Failed,    ///< it cannot be answered: the key is not accepted, or it timed out repeatedly while others were answered
  Deferred,  ///< the endpoint gave no answer; it is asked again
  Unknown,   ///< kgen ended before the answer: it may have been answered, and paid for
};
[[nodiscard]] std::string_view to_string(RequestStatus status);

/// One request to a model; a repeated request is another one.
struct RequestReport {
  /// Time of sending.
  std::string time;
  /// Number of its action.
  int number = 0;
  std::string action_id;
  PromptKind kind = PromptKind::Seed;
  RequestStatus status = RequestStatus::Unknown;
  /// The provider's name for the model, else the run's.
  std::string model;
  /// The endpoint that was asked: "localhost:8000". Empty where it was not recorded.
  std::string endpoint;
  TokenUsage usage;
  /// These two are set only when it was answered.
  std::optional<double> latency_seconds;
  std::optional<FinishReason> finish;
  /// Until the first byte of reasoning or text; unset where the reply came in one piece.
  std::optional<double> first_output_seconds{};
  /// The provider's name for the request; empty where it gave none.
  std::string request_id{};
  /// Reply::identity and Reply::left_out.
  std::string identity{};
  std::string left_out{};
  /// Cost by the run's prices; absent without prices.
  std::optional<double> cost;
};

/// What an evaluation spent its time on, in seconds.
struct EvaluationTime {
  /// Compilers, and a Python candidate's building, with the wait for their turn.
  double compiling = 0;
  /// For a judge that served others, and for the device.
  double waiting = 0;
  /// Starting a judge for the task, and admitting it.
  double starting = 0;
  /// Everything else: the candidate is loaded, checked and timed, baselines are, and sanitizers watch.
  double judging = 0;

  /// What the evaluation would have taken alone.
  [[nodiscard]] double without_waiting() const { return compiling + starting + judging; }
};
/// Adds up the phases of an evaluation.
[[nodiscard]] EvaluationTime evaluation_time(const std::vector<Phase>& phases);

/// One action of a run.
struct AttemptReport {
  int number = 0;
  std::string id;
  PromptKind kind = PromptKind::Seed;
  /// Unset: not finished.
  std::optional<ActionStatus> status;
  /// Class of the outcome: "correct", "accuracy:mismatch"; without a record the status: "no_code", "analyzed",
  /// "unfinished".
  std::string result_class;
  /// Class of the error, as in docs/errors.md: "triton.arange_bounds". Empty without an error.
  std::string error_class;
  std::optional<double> score;
  std::string message;
  std::optional<Recurrence> recurrence;
  /// Name in the run's directory, such as "code_3.cpp". Empty: the reply held no code.
  std::string code_file;
  /// Unset without an evaluation.
  std::optional<EvaluationTime> time{};

  /// True if it finished without a correct kernel, and was not an analysis.
  [[nodiscard]] bool failed() const;
};

/// The best kernel of a run.
struct BestReport {
  std::string id;
  /// Unset: correct, but without a valid time.
  std::optional<Ratio> score;
  std::optional<double> reference_ms;
  std::optional<double> kernel_ms;
  std::optional<Recurrence> recurrence;
  std::vector<std::string> labels;
  /// Distance of the kernel from its lower bound, in a sentence. Empty: no bound is known.
  std::string headroom;
  /// Name in the run's directory, such as "best_code.cpp".
  std::string code_file;
};

/// Requests and tokens of one or many runs; tokens as far as providers report them.
struct UsageReport {
  std::int64_t requests = 0;
  std::int64_t answered = 0;
  std::int64_t failed = 0;
  std::int64_t deferred = 0;
  std::int64_t unknown = 0;
  TokenUsage tokens;
  double latency_seconds = 0;
  /// Sum over requests with a known cost; absent when there is none.
  std::optional<double> cost;

  /// Sum of input and output; nothing when neither is known.
  [[nodiscard]] std::optional<std::int64_t> total_tokens() const;
};
/// Adds up requests, tokens, time and cost.
[[nodiscard]] UsageReport usage_of(const std::vector<RequestReport>& requests);

/// Report of one run.
struct RunReport {
  std::string task;
  /// Empty for a run in the task's own directory.
  std::string name;
  RunStatus status = RunStatus::Unfinished;
  std::string target;
  std::string policy;
  std::string model;
  /// SHA-256 of the task's text; empty where it is not known.
  std::string content_id;
  /// Device and precision class of the best kernel's evaluation; without one, of the last evaluation that has them.
  std::string device;
  std::optional<PrecisionClass> precision;
  /// "single_operator", "fusion" or "network": by the task's path, else by the judge. Empty where it is not known.
  std::string level;
  /// Families of the reference's operations, "gemm"; "recurrent" for a recurrence; "elementwise" where there is nothing
  /// else. Empty where no judge has looked at the task.
  std::vector<std::string> families;
  std::optional<BestReport> best;
  /// In the order of their numbers.
  std::vector<AttemptReport> attempts;
  /// In the order of sending.
  std::vector<RequestReport> requests;
  std::int64_t evaluations = 0;
  /// Duration of all sessions together.
  double minutes = 0;
  /// Why the run ended; for a paused run, why the model gave no answer; for a damaged one, the damage. Empty: it goes
  /// on.
  std::string reason;

  /// Number of failed attempts, by class.
  [[nodiscard]] std::map<std::string, int> failures() const;
};

/// Makes the report of one run from its events.
[[nodiscard]] RunReport report_run(const std::string& task, const std::string& name, const std::vector<Event>& events);

/// Statistics over many runs. A run without a score counts as 0 in `mean` and `fast_1`, whatever the reason, so that
/// losing a run never improves the numbers. The other statistics are over the runs with a score, and absent when there
/// is none.
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
  /// Number of failed attempts of all runs, by class.
  std::map<std::string, int> failures;
  UsageReport usage;
};
/// Adds up runs: how many are correct and faster, the spread of their scores, what failed, what it cost.
[[nodiscard]] Totals totals_of(const std::vector<RunReport>& runs);

/// Fraction of all runs with a best kernel that scores above `p`; 0 without runs.
[[nodiscard]] double fast_p(const std::vector<RunReport>& runs, double p);

/// Contents of summary.json, summary.csv, usage.csv and detailed_report.json and .txt. The CSV files are plain tables:
/// a header, then one row for each run or request.
[[nodiscard]] std::string summary_json(const std::vector<RunReport>& runs);
/// One row a run.
[[nodiscard]] std::string summary_csv(const std::vector<RunReport>& runs);
/// One row a request.
[[nodiscard]] std::string usage_csv(const std::vector<RunReport>& runs);
/// Every step of every run, for a program.
[[nodiscard]] std::string detailed_json(const std::vector<RunReport>& runs);
/// The same for a person.
[[nodiscard]] std::string detailed_text(const std::vector<RunReport>& runs);

/// Content of figures/score.svg: score by action number, the best so far, failures.
[[nodiscard]] std::string score_figure(const RunReport& run);

/// The summary for a terminal of `width` columns; 0: lines are not shortened.
[[nodiscard]] std::string summary_table(const std::vector<RunReport>& runs, std::size_t width);

/// Reads the runs below a results directory, in natural order of their names. A damaged journal gives a run that says
/// so. Symbolic links below the directory are not followed. InvalidArgument for anything but a directory with runs.
[[nodiscard]] Result<std::vector<RunReport>> read_results(const std::filesystem::path& results_directory);

/// Reads the results and writes the reports beside them, each by rename, while it holds the lock of the reports
/// (results_directory/.lock). Also keeps each run's own report in its directory, so that the next call reads only
/// journals that have changed. detailed_report.html is written only with `page_parts`, its parts
/// (Installation::report_dir). Errors: those of read_results(), those of writing (NoSpace, PermissionDenied, Io), Busy
/// when another process keeps the lock for half a minute, and those of reading the page's parts.
Result<void> write_reports(const std::filesystem::path& results_directory,
                           const std::optional<std::filesystem::path>& page_parts = std::nullopt);

}  // namespace v0
}  // namespace kernelgen
