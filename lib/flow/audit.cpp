#include <kernelgen/flow/audit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "flow/guarded.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_record_bytes = 64u << 20;
/// After so many evaluations in which a kernel was not correct, further ones would only repeat it.
constexpr int k_most_failures = 2;

/// What changes the result of an evaluation, as text.
std::string options_key(const EvaluationOptions& options) {
  auto text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", to_string(options.mode), to_string(options.precision),
                  options.rtol.value_or(-1), options.atol.value_or(-1), options.threads, options.device,
                  to_string(options.library_use), options.measure.max_samples, options.measure.max_relative_interval,
                  options.call_timeout.count(), options.build_timeout.count(), options.memory_limit);
  for (const auto kind : options.baselines.kinds) text += fmt::format(" {}", to_string(kind));
  for (const auto& [name, value] : options.shrink) text += fmt::format(" {}={}", name, value);
  return text;
}

/// The state of one kernel in an audit.
struct SolutionState {
  const AuditSolution* solution = nullptr;
  std::vector<EvaluationRecord> records{};
  std::optional<Error> error{};
  int failures = 0;

  /// Nothing more is to be learned about it in this session.
  [[nodiscard]] bool is_over() const { return (error && !is_pending()) || failures >= k_most_failures; }
  /// It is judged elsewhere. Further repetitions are asked for as well, so that they can be judged meanwhile.
  [[nodiscard]] bool is_pending() const { return error && error->code == ErrorCode::Pending; }
};

/// The options of one try. A spool answers equal requests once, so each try differs by a limit that is never reached.
EvaluationOptions options_of_try(EvaluationOptions options, int repetition, int attempt, int tries) {
  options.build_timeout += std::chrono::milliseconds{(repetition - 1) * tries + attempt};
  return options;
}

class Audit {
 public:
  Audit(const AuditRequest& request, const AuditObserver& observer, const std::stop_token& stop)
      : request_(request), observer_(observer), stop_(stop) {
    for (const auto& solution : request.solutions) states_.push_back({.solution = &solution});
  }

  Result<void> run() {
    for (int repetition = 1; repetition <= request_.times && !stop_.stop_requested(); ++repetition)
      KERNELGEN_CHECK(run_round(repetition));
    return {};
  }

  [[nodiscard]] AuditReport report() const {
    AuditReport report{
        .findings = {}, .rules = request_.rules, .times = request_.times, .cancelled = stop_.stop_requested()};
    for (const auto& state : states_) report.findings.push_back(finding_of(state));
    for (const auto& unpaired : request_.unpaired)
      report.findings.push_back({.name = unpaired.name,
                                 .claim = unpaired.claim,
                                 .decision = {AuditVerdict::CannotBeJudged, unpaired.reason}});
    return report;
  }

 private:
  [[nodiscard]] AuditFinding finding_of(const SolutionState& state) const {
    const auto& solution = *state.solution;
    AuditFinding finding{.name = solution.name,
                         .task = solution.task.name,
                         .target = std::string(to_string(solution.candidate.target)),
                         .candidate_id = solution.candidate.id,
                         .claim = solution.claim,
                         .measurement = summarize_records(state.records, solution.candidate.source),
                         .error = state.error};
    if (state.error && finding.measurement.times == 0) finding.measurement.obstacle = state.error->to_line();
    finding.decision = judge_claim(finding.claim, finding.measurement, request_.rules);
    return finding;
  }

  /// Judges every kernel once more.
  Result<void> run_round(int repetition) {
    std::vector<SolutionState*> waiting;
    for (auto& state : states_) {
      if (state.is_over())
        ++over_;
      else if (!take_record(state, repetition))
        waiting.push_back(&state);
    }
    if (waiting.empty()) return {};
    KERNELGEN_TRY(const auto benchmarker, request_.make_benchmarker());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
      for (std::size_t i = next++; i < waiting.size() && !stop_.stop_requested() && !failure(); i = next++)
        judge(*waiting[i], repetition, *benchmarker);
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < std::min<int>(request_.parallel, static_cast<int>(waiting.size())); ++i)
        threads.emplace_back(work);
      work();
    }
    const std::scoped_lock lock(mutex_);
    return failure_ ? Result<void>(*failure_) : Result<void>();
  }

  /// Takes the record of an earlier session; false when there is none.
  bool take_record(SolutionState& state, int repetition) {
    const auto file = request_.records_directory / audit_record_name(*state.solution, repetition);
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return false;
    const auto text = read_file(file, k_max_record_bytes);
    auto record = text ? parse_record(*text) : Result<EvaluationRecord>(text.error());
    // A damaged record is replaced by a new one.
    if (!record || record->candidate_id != state.solution->candidate.id) return false;
    add_record(state, *std::move(record), repetition, "from the records");
    return true;
  }

  void judge(SolutionState& state, int repetition, Benchmarker& benchmarker) {
    const auto& solution = *state.solution;
    for (int attempt = 0; attempt < request_.tries; ++attempt) {
      if (attempt > 0 && !sleep_for(request_.busy_pause, stop_)) return;
      EvaluationRequest asked{solution.task, solution.candidate,
                              options_of_try(solution.options, repetition, attempt, request_.tries)};
      auto record =
          guarded<EvaluationRecord>("the benchmarker", [&] { return benchmarker.evaluate(asked, {}, stop_); });
      if (!record) return note_error(state, repetition, record.error());
      const bool is_last = attempt + 1 >= request_.tries;
      if (record->outcome.could_not_be_measured() && !is_last) continue;
      // What other work disturbed is tried again in the next session.
      if (!record->outcome.could_not_be_measured()) {
        const auto file = request_.records_directory / audit_record_name(solution, repetition);
        if (auto written = write_file_atomic(file, to_json(*record)); !written) return fail(written.error());
      }
      return add_record(state, *std::move(record), repetition, "");
    }
  }

  void add_record(SolutionState& state, EvaluationRecord record, int repetition, std::string text) {
    const std::scoped_lock lock(mutex_);
    if (!record.outcome.correct() && !record.outcome.could_not_be_measured()) ++state.failures;
    state.records.push_back(std::move(record));
    tell(state, repetition, &state.records.back(), std::move(text));
  }

  void note_error(SolutionState& state, int repetition, const Error& error) {
    if (error.code == ErrorCode::Cancelled && stop_.stop_requested()) return;
    const std::scoped_lock lock(mutex_);
    state.error = error;
    tell(state, repetition, nullptr, error.to_line());
  }

  void tell(const SolutionState& state, int repetition, const EvaluationRecord* record, std::string text) {
    ++over_;
    if (!observer_) return;
    observer_({.over = over_,
               .planned = states_.size() * static_cast<std::size_t>(request_.times),
               .name = state.solution->name,
               .repetition = repetition,
               .record = record,
               .text = std::move(text)});
  }

  void fail(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = error;
  }
  bool failure() {
    const std::scoped_lock lock(mutex_);
    return failure_.has_value();
  }

  const AuditRequest& request_;
  const AuditObserver& observer_;
  const std::stop_token& stop_;
  std::mutex mutex_;
  std::vector<SolutionState> states_;
  std::size_t over_ = 0;
  std::optional<Error> failure_;
};

Result<void> check_request(const AuditRequest& request) {
  const auto invalid = [](std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message)}; };
  if (request.solutions.empty() && request.unpaired.empty()) return invalid("an audit needs a kernel to judge");
  if (request.times < 1 || request.parallel < 1 || request.tries < 1)
    return invalid("an audit needs at least one evaluation of each kernel, one at once, and one try");
  if (request.records_directory.empty()) return invalid("an audit needs a directory for its records");
  std::set<std::string> names;
  for (const auto& solution : request.solutions)
    if (!names.insert(solution.name).second)
      return invalid("two kernels of the audit have the name " + solution.name + "; give each another one");
  return {};
}

}  // namespace

std::map<AuditVerdict, int> AuditReport::counts() const {
  std::map<AuditVerdict, int> counts;
  for (const auto& finding : findings) ++counts[finding.decision.verdict];
  return counts;
}

std::string audit_record_name(const AuditSolution& solution, int repetition) {
  constexpr std::size_t k_digits = 16;
  const auto key =
      sha256_hex(solution.task.content_id + '\n' + solution.candidate.id + '\n' + options_key(solution.options));
  return fmt::format("{}-{}-{}.json", percent_encode(solution.task.name), key.substr(0, k_digits), repetition);
}

Result<AuditReport> run_audit(const AuditRequest& request, const AuditObserver& observer, const std::stop_token& stop) {
  KERNELGEN_CHECK(check_request(request));
  const auto& directory = request.records_directory;
  KERNELGEN_CHECK(make_directories(directory));
  KERNELGEN_TRY(const auto lock,
                LockFile::acquire({.file = directory / ".lock",
                                   .resource = "the audit in " + directory.string(),
                                   .advice = "wait for it, or take another directory for the records"}));
  Audit audit(request, observer, stop);
  KERNELGEN_CHECK(audit.run());
  return audit.report();
}

}  // namespace v0
}  // namespace kernelgen
