#pragma once

#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/campaign.hpp>

namespace kernelgen::cli {

/// The exit codes of kgen; documented in docs/cli.md.
enum class ExitCode {
  Success = 0,        ///< eval: correct, and faster or no different; with --correctness-only: correct
  BelowTarget = 1,    ///< eval: correct but slower, or without a time that counts; run: goal not reached
  NotCorrect = 2,     ///< eval: anything else that a candidate can be
  Usage = 64,         ///< wrong options, or an input that cannot be used
  MachineLacks = 69,  ///< a device, tool, disk space: something this machine lacks
  Bug = 70,           ///< a bug of ours
  InUse = 73,         ///< results in use by another kgen
  TryLater = 75,      ///< eval: it could not be measured now; work is done elsewhere and --no-wait was given
  Interrupted = 130,
};

/// The verdict of a record, in the order of the exit codes. It determines both the headline and the exit code.
enum class VerdictClass {
  Faster,           ///< correct, and the whole interval of speedup_call is above 1
  NoDifference,     ///< correct, and the interval contains 1
  CorrectnessOnly,  ///< correct, and nothing was timed because nothing was to be
  Slower,           ///< correct, and the whole interval is below 1
  NoValidTime,      ///< correct, without a time that counts
  TryLater,         ///< it could not be measured now: the machine was busy, or its device's memory in use
  Suspect,          ///< any other suspicion
  NotScored,        ///< the task cannot tell right from wrong
  NotCorrect,
};
[[nodiscard]] VerdictClass classify_verdict(const EvaluationRecord& record);

[[nodiscard]] ExitCode exit_code_for(VerdictClass verdict);
[[nodiscard]] ExitCode exit_code_for(const EvaluationRecord& record);
[[nodiscard]] ExitCode exit_code_for(const Error& error);
/// What a later call can still change comes first: interrupted, paused runs, runs that another process has. Then the
/// first error of a run; then whether all goals were reached, and whether any kernel is correct.
[[nodiscard]] ExitCode exit_code_for(const CampaignOutcome& outcome);

}  // namespace kernelgen::cli
