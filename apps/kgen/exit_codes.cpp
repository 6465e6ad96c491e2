#include "exit_codes.hpp"

#include <algorithm>

namespace kernelgen::cli {

namespace {

/// True if the record's times are a result: they exist, and no label invalidates them.
bool has_result_time(const EvaluationRecord& record) {
  const auto interpreted = [](const std::string& label) {
    return label.starts_with("interpreter") || label.starts_with("stand-in");
  };
  return record.timing && record.timing->speedup_call.value > 0 &&
         std::none_of(record.labels.begin(), record.labels.end(), interpreted);
}

/// True if something else stood in for the GPU that the kernel is for.
bool was_elsewhere(const EvaluationRecord& record) {
  return std::any_of(record.labels.begin(), record.labels.end(),
                     [](const std::string& label) { return label.starts_with("executed on "); });
}

}  // namespace

VerdictClass classify_verdict(const EvaluationRecord& record) {
  const auto& outcome = record.outcome;
  if (outcome.could_not_be_measured()) return VerdictClass::TryLater;
  if (outcome.kind == OutcomeKind::Suspect) return VerdictClass::Suspect;
  if (outcome.kind == OutcomeKind::NotScored) return VerdictClass::NotScored;
  if (!outcome.correct()) return VerdictClass::NotCorrect;
  if (was_elsewhere(record)) return VerdictClass::NoValidTime;
  if (record.mode == EvaluationMode::CorrectnessOnly) return VerdictClass::CorrectnessOnly;
  if (!has_result_time(record)) return VerdictClass::NoValidTime;
  const auto& speedup = record.timing->speedup_call;
  if (speedup.contains_one()) return VerdictClass::NoDifference;
  return speedup.value > 1 ? VerdictClass::Faster : VerdictClass::Slower;
}

ExitCode exit_code_for(VerdictClass verdict) {
  switch (verdict) {
    case VerdictClass::Faster:
    case VerdictClass::NoDifference:
    case VerdictClass::CorrectnessOnly:
      return ExitCode::Success;
    case VerdictClass::Slower:
    case VerdictClass::NoValidTime:
      return ExitCode::BelowTarget;
    case VerdictClass::TryLater:
      return ExitCode::TryLater;
    case VerdictClass::Suspect:
    case VerdictClass::NotScored:
    case VerdictClass::NotCorrect:
      return ExitCode::NotCorrect;
  }
  return ExitCode::Bug;
}

ExitCode exit_code_for(const EvaluationRecord& record) { return exit_code_for(classify_verdict(record)); }

ExitCode exit_code_for(const CampaignOutcome& outcome) {
  if (outcome.cancelled) return ExitCode::Interrupted;
  const auto counts = outcome.counts();
  if (counts.contains(CampaignRunStatus::Paused)) return ExitCode::TryLater;
  if (counts.contains(CampaignRunStatus::Busy)) return ExitCode::InUse;
  const auto& runs = outcome.runs;
  const auto failed =
      std::find_if(runs.begin(), runs.end(), [](const auto& run) { return run.status == CampaignRunStatus::Error; });
  if (failed != runs.end()) return failed->error ? exit_code_for(*failed->error) : ExitCode::Bug;
  const auto is_success = [](const auto& run) { return run.status == CampaignRunStatus::Success; };
  if (std::all_of(runs.begin(), runs.end(), is_success)) return ExitCode::Success;
  const auto has_kernel = [](const auto& run) { return !run.best.empty(); };
  return std::any_of(runs.begin(), runs.end(), has_kernel) ? ExitCode::BelowTarget : ExitCode::NotCorrect;
}

ExitCode exit_code_for(const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::NotFound:
    case ErrorCode::PermissionDenied:
    case ErrorCode::InvalidTask:
    case ErrorCode::PromptTooLong:
      return ExitCode::Usage;
    case ErrorCode::NoSpace:
    case ErrorCode::Io:
    case ErrorCode::MissingTool:
    case ErrorCode::MissingDevice:
    case ErrorCode::UnsuitableDevice:
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::Unsupported:
    case ErrorCode::OutOfMemory:
      return ExitCode::MachineLacks;
    case ErrorCode::Pending:
      return ExitCode::TryLater;
    case ErrorCode::Busy:
      return ExitCode::InUse;
    case ErrorCode::Cancelled:
      return ExitCode::Interrupted;
    case ErrorCode::Protocol:
    case ErrorCode::Internal:
      return ExitCode::Bug;
  }
  return ExitCode::Bug;
}

}  // namespace kernelgen::cli
