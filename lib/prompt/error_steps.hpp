#pragma once

/// \file
/// The steps of classify_error(): from a record to the message that decides, and from the message to its class.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/record.hpp>

#include "prompt/error_rules.hpp"

namespace kernelgen {
inline namespace v0 {

/// An error and its class, before it becomes a report.
struct ClassifiedError {
  std::string error_class;
  /// The tool's reason; the fingerprint is made of it.
  std::string reason;
  /// The lines that decide.
  std::vector<std::string> lines;
  /// The message that the rules classified; nothing where the outcome itself gives the class.
  std::optional<ToolMessage> message;
};

/// The text in the n-th pair of quotes, which are ' or "; empty where there are fewer.
[[nodiscard]] std::string_view quoted(std::string_view text, int n);

/// The resource that Triton says it ran out of: "resource.threads" of "out of resource: threads, ...".
[[nodiscard]] std::optional<std::string> class_of_resource(std::string_view text);

/// Classifies an exception as a Python runner describes it; `source` is the candidate's.
[[nodiscard]] ClassifiedError classify_python(std::string_view text, std::string_view source, Target target);

/// Classifies the log of a compiler, with the output of its assembler and linker.
[[nodiscard]] ClassifiedError classify_compiler_log(std::string_view log, Target target);

/// Classifies an outcome of any kind. The class is empty for a correct candidate.
[[nodiscard]] ClassifiedError classify_outcome(const EvaluationRecord& record, std::string_view source);

}  // namespace v0
}  // namespace kernelgen
