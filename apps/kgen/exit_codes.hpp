#pragma once

#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen::cli {

/// The exit codes of kgen; documented in docs/cli.md.
enum class ExitCode {
  Success = 0,        ///< eval: correct and at least as fast
  NotReached = 1,     ///< eval: correct but slower, or without a time that counts
  NotCorrect = 2,     ///< eval: anything else that a candidate can be
  Usage = 64,         ///< wrong options, or an input that cannot be used
  MachineLacks = 69,  ///< a device, tool, disk space: something this machine lacks
  Bug = 70,           ///< a bug of ours
  InUse = 73,         ///< results in use by another kgen
  Waiting = 75,       ///< work is done elsewhere and --no-wait was given
  Interrupted = 130,
};

[[nodiscard]] ExitCode exit_code_for(const EvaluationRecord& record);
[[nodiscard]] ExitCode exit_code_for(const Error& error);

/// Whether the record's times may be called a result: there are some, and no label takes them back.
[[nodiscard]] bool has_result_time(const EvaluationRecord& record);

}  // namespace kernelgen::cli
