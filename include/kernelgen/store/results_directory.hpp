#pragma once

/// \file
/// Layout of runs below a results directory (docs/results.md). Any number of processes may share one: each locks only
/// its own run, through the run's journal.

#include <filesystem>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The directory of a run: results/task, or results/task/name for a further run of the same task. Creates nothing.
/// InvalidArgument for names that cannot be a directory's: letters, digits, '.', '_' and '-', not starting with '.'.
[[nodiscard]] Result<std::filesystem::path> run_directory(const std::filesystem::path& results, const std::string& task,
                                                          const std::string& name);

/// The part of a run's name that tells models apart, from LLMClient::identity(): "gpt-5" for "openai gpt-5".
[[nodiscard]] std::string run_name_of_model(const std::string& identity);

}  // namespace v0
}  // namespace kernelgen
