#include "exit_codes.hpp"

#include <algorithm>

namespace kernelgen::cli {

bool has_result_time(const EvaluationRecord& record) {
  const auto interpreted = [](const std::string& label) { return label.rfind("interpreter", 0) == 0; };
  return record.timing && record.timing->speedup_call.value > 0 &&
         std::none_of(record.labels.begin(), record.labels.end(), interpreted);
}

ExitCode exit_code_for(const EvaluationRecord& record) {
  if (!record.outcome.correct()) return ExitCode::NotCorrect;
  return has_result_time(record) && record.timing->speedup_call.value >= 1 ? ExitCode::Success : ExitCode::NotReached;
}

ExitCode exit_code_for(const Error& error) {
  switch (error.code) {
    case ErrorCode::InvalidArgument:
    case ErrorCode::NotFound:
    case ErrorCode::PermissionDenied:
    case ErrorCode::InvalidTask:
      return ExitCode::Usage;
    case ErrorCode::NoSpace:
    case ErrorCode::Io:
    case ErrorCode::MissingTool:
    case ErrorCode::MissingDevice:
    case ErrorCode::Timeout:
    case ErrorCode::Unavailable:
    case ErrorCode::Unsupported:
    case ErrorCode::OutOfMemory:
      return ExitCode::MachineLacks;
    case ErrorCode::Pending:
      return ExitCode::Waiting;
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
