#pragma once

/// \file
/// PromptSet: texts for prompts, chosen by the names of tasks, and hints, chosen by the texts of errors. The format is
/// that of the HIP framework's `prompts/config.json` (docs/hip_framework.md).

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A prompt for tasks with a match of the pattern in their name, in upper or lower case.
struct PromptPattern {
  /// A regular expression as Perl and Python write it.
  std::string pattern;
  /// The file of the prompt, relative to the set's directory.
  std::string file;
};

/// What to tell a model about an error.
struct ReflectionHint {
  /// The error contains this text, in just this case.
  std::string error_part;
  std::vector<std::string> hints;
};

/// The content of a config.json and of the files that it names.
struct PromptSet {
  std::filesystem::path directory;
  /// The file for tasks that no pattern fits; empty: none.
  std::string default_prompt;
  /// In the order of the file.
  std::vector<PromptPattern> patterns;
  std::vector<ReflectionHint> reflection_hints;
  /// The text of each named file.
  std::map<std::string, std::string> texts;
};

/// Limit of the hints that one error gets.
inline constexpr std::size_t k_max_reflection_hints = 3;

/// True if the directory holds a config.json.
[[nodiscard]] bool is_prompt_set(const std::filesystem::path& directory);

/// Reads config.json and the files that it names. Members that it does not know are ignored, as the framework did.
/// InvalidArgument, with file, line and column, for broken JSON, a member of another type, a pattern that is no regular
/// expression, and a prompt that cannot be read.
[[nodiscard]] Result<PromptSet> read_prompt_set(const std::filesystem::path& directory);

/// The file for a task: that of the first pattern that fits, else the default; empty: none.
[[nodiscard]] std::string prompt_file_for(const PromptSet& set, std::string_view task_name);

/// The hints for an error, in the order of the file, at most k_max_reflection_hints.
[[nodiscard]] std::vector<std::string> reflection_hints_for(const PromptSet& set, std::string_view error);

/// The error of a candidate in the words of the HIP framework: its hints look for "Compile error" and "PERFORMANCE
/// TOO SLOW"; then the class of the outcome, its message and the end of the compiler's log. Empty for a correct
/// candidate that is no slower than the reference.
[[nodiscard]] std::string framework_error(const EvaluationRecord& record);

/// Decorates a builder: prompts that ask for code show the text for the task, and the hints for the error of the
/// candidate that they start from, among their instructions.
[[nodiscard]] std::unique_ptr<PromptBuilder> make_prompt_set_builder(std::unique_ptr<PromptBuilder> inner,
                                                                     PromptSet set);

}  // namespace v0
}  // namespace kernelgen
