#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ostream>

#include <kernelgen/flow/audit.hpp>
#include <kernelgen/report/audit_report.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "exchange_options.hpp"
#include "option_hints.hpp"
#include "run_status.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct AuditOptions {
  std::vector<std::string> paths;
  std::string problem;
  std::string html;
  std::string records = "audit";
  KernelBenchFlags kernelbench;
  int times = 3;
  int parallel = 1;
  ClaimRules rules;
  bool correctness_only = false;
  bool json = false;
  EvaluationFlags evaluation;
};

constexpr std::size_t k_max_line_text = 300;

/// One line for each evaluation that ended.
class AuditLines {
 public:
  AuditLines(std::ostream& err, int times) : err_(err), times_(times), started_(std::chrono::steady_clock::now()) {}

  void write(const AuditStep& step) {
    constexpr int k_name_width = 30;
    auto what = std::string("error");
    if (step.record != nullptr) {
      what = step.record->outcome.to_class();
      if (const auto score = score_of(*step.record)) what += ' ' + format_score(score);
      if (!step.record->outcome.correct()) what += "  " + step.record->outcome.message;
    }
    if (!step.text.empty()) what += "  " + step.text;
    const auto elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
    err_ << fmt::format("{:>7} {:>9}  {:<{}}  {} of {}  {}\n", format_clock(elapsed),
                        fmt::format("{}/{}", step.over, step.planned), sanitize_line(step.name, k_max_line_text),
                        k_name_width, step.repetition, times_, sanitize_line(what, k_max_line_text));
    err_.flush();
  }

 private:
  std::ostream& err_;
  int times_;
  std::chrono::steady_clock::time_point started_;
};

bool can_be_judged_later(const AuditFinding& finding) {
  return finding.measurement.was_disturbed || (finding.error && finding.error->code == ErrorCode::Pending);
}

/// What a later call can still change comes first; then whether a claim is wrong, and whether any does not stand.
ExitCode exit_code_of(const AuditReport& report) {
  const auto& findings = report.findings;
  if (report.cancelled) return ExitCode::Interrupted;
  if (std::any_of(findings.begin(), findings.end(), can_be_judged_later)) return ExitCode::TryLater;
  if (std::all_of(findings.begin(), findings.end(), [](const auto& finding) { return finding.error.has_value(); }))
    return exit_code_for(*findings.front().error);
  const auto counts = report.counts();
  if (counts.contains(AuditVerdict::Wrong)) return ExitCode::NotCorrect;
  if (counts.contains(AuditVerdict::Overstated) || counts.contains(AuditVerdict::CannotBeJudged))
    return ExitCode::BelowTarget;
  return ExitCode::Success;
}

/// Tells in one line why the audit did not come to an end, and what to do.
void write_conclusion(const AuditReport& report, ExitCode code, Context& context) {
  if (static_cast<int>(code) < static_cast<int>(ExitCode::Usage)) return;
  const auto write = [&](const std::string& line) { context.err << "kgen: " << line << '\n'; };
  if (code == ExitCode::Interrupted) return write("interrupted; the same command goes on from here");
  const auto& findings = report.findings;
  const auto later = std::count_if(findings.begin(), findings.end(), can_be_judged_later);
  const auto first = code == ExitCode::TryLater ? std::find_if(findings.begin(), findings.end(), can_be_judged_later)
                                                : findings.begin();
  const auto reason = first->error ? first->error->to_line() : first->measurement.obstacle;
  const auto example = sanitize_line(first->name + ": " + add_option_hints(reason), k_max_line_text);
  if (code != ExitCode::TryLater) return write("no kernel could be judged: " + example);
  write(fmt::format("{} of {} kernels could not be judged yet: {}; the same command goes on from here", later,
                    findings.size(), example));
}

Result<AuditRequest> make_request(const AuditOptions& options, Context& context) {
  SolutionSources sources{.paths = {options.paths.begin(), options.paths.end()},
                          .locator = options.kernelbench.locator(),
                          .task = options.problem};
  // A task that is not there is told once, and not for each file.
  if (!options.problem.empty())
    if (auto task = load_task_source(options.problem, sources.locator).context("--problem"); !task) return task.error();
  KERNELGEN_TRY(sources.options, evaluation_options(options.evaluation));
  if (options.correctness_only) sources.options.mode = EvaluationMode::CorrectnessOnly;
  KERNELGEN_TRY(sources.baseline_times, options.kernelbench.read_baseline_times());
  KERNELGEN_TRY(auto found, find_solutions(sources));
  for (const auto& note : found.notes) context.err << "kgen: " << sanitize_line(note, k_max_line_text) << '\n';
  return AuditRequest{
      .solutions = std::move(found.solutions),
      .unpaired = std::move(found.unpaired),
      .make_benchmarker = [&options, &context] { return make_benchmarker(options.evaluation, context); },
      .records_directory = options.records,
      .times = options.times,
      .parallel = options.parallel,
      .rules = options.rules};
}

Result<ExitCode> audit(const AuditOptions& options, Context& context) {
  if (!options.html.empty()) KERNELGEN_CHECK(check_writable(options.html).context("--html"));
  KERNELGEN_TRY(const auto request, make_request(options, context));
  KERNELGEN_CHECK(make_directories(options.records).context("--records"));
  AuditLines lines(context.err, options.times);
  KERNELGEN_TRY(const auto report, run_audit(
                                       request, [&](const AuditStep& step) { lines.write(step); }, context.stop));
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? audit_json(report) : audit_table(report, terminal.interactive ? terminal.width : 0));
  if (!options.html.empty()) KERNELGEN_CHECK(write_file_atomic(options.html, audit_html(report)).context("--html"));
  const auto code = exit_code_of(report);
  write_conclusion(report, code, context);
  return code;
}

std::vector<Option> describe_options(AuditOptions& options, const Environment& environment) {
  constexpr Range<std::int64_t> k_count{1, 1000};
  constexpr Range<double> k_margin{0, 0.99};
  std::vector<Option> described{
      {.name = "paths",
       .value_name = "DIR|FILE",
       .help = "Results directories, run folders of KernelBench, folders of kernels, kernels",
       .value = values::files(options.paths),
       .is_required = true,
       .is_repeatable = true},
      {.name = "--problem",
       .aliases = {"--task"},
       .value_name = "TASK",
       .help = "The task of every file: a file, or level3/40; default: what each file's name says",
       .value = values::file(options.problem)},
      kernelbench_option(options.kernelbench, environment),
      baseline_times_option(options.kernelbench),
      {.name = "--times",
       .value_name = "N",
       .help = "Evaluations of each kernel, each time with new processes",
       .value = values::whole_number(options.times, k_count)},
      {.name = "--margin",
       .value_name = "X",
       .help = "A claim without an interval may differ by this fraction",
       .value = values::number(options.rules.margin, k_margin)},
      {.name = "--any-device",
       .help = "Compare speed-ups that are claimed for other devices, too",
       .value = values::flag(options.rules.any_device)},
      {.name = "--correctness-only",
       .help = "Time nothing; works on a busy machine",
       .value = values::flag(options.correctness_only),
       .excludes = {"--baseline"}},
      baseline_option(options.evaluation),
      baseline_timeout_option(options.evaluation),
      {.name = "--records",
       .value_name = "DIR",
       .help = "Keep the records there; the same command goes on from them",
       .value = values::directory(options.records)},
      {.name = "--parallel-evaluations",
       .value_name = "N",
       .help = "Evaluations at once; more than one for each device disturb each other",
       .value = values::whole_number(options.parallel, {1, 256})},
      {.name = "--json",
       .help = "Print the findings as JSON instead of the table",
       .value = values::flag(options.json)},
      {.name = "--html",
       .value_name = "FILE",
       .help = "Write the findings as a page, too",
       .value = values::file(options.html)},
      no_wait_option(options.evaluation, "Exit with 75 instead of waiting for a spool; the same command goes on")};
  described.back().needs = "--spool";
  add_evaluation_options(described, options.evaluation, environment);
  // An audit reads no kgen.toml: its kernels are of many tasks.
  for (auto& option : described) option.task_file = TaskFileRule::NotAboutTask;
  return described;
}

}  // namespace

Command make_audit_command(Context& context) {
  const auto options = std::make_shared<AuditOptions>();
  return {.name = "audit",
          .summary = "Judge existing kernels again: which claims about them stand?",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return audit(*options, context); }};
}

}  // namespace kernelgen::cli
