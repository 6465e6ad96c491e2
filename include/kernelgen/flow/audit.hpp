#pragma once

/// \file
/// Audit: judges kernels again, several times, and tells which claims about them stand. The decisions are pure.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/store/kernelbench_run.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What several evaluations of one kernel add up to.
struct AuditMeasurement {
  /// Evaluations that say something about the kernel, and those in which it was correct.
  int times = 0;
  int correct = 0;
  /// Class and message of the first evaluation in which it was not correct: "accuracy:mismatch".
  std::string failure_class = {};
  std::string failure_message = {};
  /// @{
  /// Geometric mean of the speed-ups, in the range that holds the 95 % intervals of all evaluations: per call, and of
  /// the score. Absent where an evaluation has no valid time.
  std::optional<Ratio> speedup_per_call = {};
  std::optional<Ratio> score = {};
  /// @}
  /// Geometric mean of the speed-ups over each further baseline that was asked for and has a time in every evaluation.
  std::map<BaselineKind, double> speedup_over = {};
  std::string device = {};
  /// Labels of the records, such as "shrunk: batch_size=16"; each once.
  std::vector<std::string> labels = {};
  /// Why nothing can be said: the machine was busy, the task tells nothing, the kernel needs another device. Empty:
  /// there is no obstacle.
  std::string obstacle = {};
  /// Other work disturbed every evaluation: a later one may tell more.
  bool was_disturbed = false;
};

/// Adds up the records of a kernel. `source` is its text: a GPU kernel that fails on a processor says nothing.
[[nodiscard]] AuditMeasurement summarize_records(const std::vector<EvaluationRecord>& records, std::string_view source);

/// What a claim is worth.
enum class AuditVerdict {
  Stands,          ///< correct as claimed, and the measured interval reaches the claimed speed-up
  Understated,     ///< better than claimed: correct against the claim, or the whole interval above the claimed one
  Overstated,      ///< correct, and the whole measured interval below the claimed one
  Wrong,           ///< claimed to be correct, and it is not
  CannotBeJudged,  ///< nothing can be said here; the reason tells why
  NoClaim,         ///< nothing is claimed; the measurement stands alone
};
/// "stands", "understated", "overstated", "wrong", "cannot be judged", "no claim".
[[nodiscard]] std::string_view to_string(AuditVerdict verdict);

/// How claims are compared with measurements.
struct ClaimRules {
  /// The fraction by which the speed-up of a claim without an interval may differ from the measured interval, because
  /// times vary from one day to the next.
  double margin = 0.05;
  /// Compares speed-ups that were claimed for another device, too. They say little about this one.
  bool any_device = false;
};

/// A verdict on a claim, and one line that explains it; empty for a claim that stands without remark.
struct ClaimDecision {
  AuditVerdict verdict = AuditVerdict::NoClaim;
  std::string reason = {};
};

/// Compares a claim with a measurement. Pure.
[[nodiscard]] ClaimDecision judge_claim(const Claim& claim, const AuditMeasurement& measurement,
                                        const ClaimRules& rules = {});

/// A kernel to judge again.
struct AuditSolution {
  /// A name for people, different for each: "level1/19_ReLU sample 0".
  std::string name;
  TaskSource task;
  Candidate candidate;
  Claim claim = {};
  EvaluationOptions options = {};
};

/// Something that was found and cannot be judged, such as a file without a task.
struct AuditUnpaired {
  std::string name;
  Claim claim = {};
  std::string reason;
};

/// The result of one kernel.
struct AuditFinding {
  std::string name;
  /// Name of the task; empty for what has none.
  std::string task = {};
  std::string target = {};
  std::string candidate_id = {};
  Claim claim = {};
  AuditMeasurement measurement = {};
  ClaimDecision decision = {};
  /// The failure of the machinery, if there was one: asking again may help.
  std::optional<Error> error = {};
};

/// Everything that an audit found.
struct AuditReport {
  /// In the order of the request; what cannot be judged comes last.
  std::vector<AuditFinding> findings;
  ClaimRules rules = {};
  int times = 0;
  /// The audit was stopped, and the findings are those so far.
  bool cancelled = false;

  /// Number of findings by verdict.
  [[nodiscard]] std::map<AuditVerdict, int> counts() const;
};

/// One evaluation that ended, for display only.
struct AuditStep {
  /// Evaluations that are over, earlier sessions included, and those that are planned.
  std::size_t over = 0;
  std::size_t planned = 0;
  std::string_view name;
  /// 1-based.
  int repetition = 1;
  /// nullptr: it failed, and the text says why; else the text is empty.
  const EvaluationRecord* record = nullptr;
  std::string text = {};
};

/// Receives the steps of an audit, one at a time, on threads of the audit.
using AuditObserver = std::function<void(const AuditStep&)>;

/// What to judge, and how.
struct AuditRequest {
  std::vector<AuditSolution> solutions;
  std::vector<AuditUnpaired> unpaired = {};
  /// Makes a benchmarker, called once for each repetition, so that each has processes of its own.
  std::function<Result<std::unique_ptr<Benchmarker>>()> make_benchmarker;
  /// Holds the record of each evaluation; created when missing. An audit in the same directory judges nothing again
  /// that it has a record of: same task, kernel, options and repetition.
  std::filesystem::path records_directory;
  /// Evaluations of each kernel. One that was not correct twice is not judged further.
  int times = 3;
  /// Evaluations at once. More than there are devices disturb each other's times.
  int parallel = 1;
  ClaimRules rules = {};
  /// Tries of an evaluation that other work on the machine disturbs, and the pause before the next one.
  int tries = 3;
  std::chrono::milliseconds busy_pause{15'000};
};

/// Judges the kernels. All are judged once before the first one is judged again. An Error means that the audit cannot
/// go on: InvalidArgument for a request without anything to judge, Busy when another process has the directory,
/// NoSpace, Io and PermissionDenied for the directory, and what making a benchmarker gives. After a stop the findings
/// so far come back.
[[nodiscard]] Result<AuditReport> run_audit(const AuditRequest& request, const AuditObserver& observer,
                                            const std::stop_token& stop);

/// The file of the record of an evaluation in the directory of an audit.
[[nodiscard]] std::string audit_record_name(const AuditSolution& solution, int repetition);

}  // namespace v0
}  // namespace kernelgen
