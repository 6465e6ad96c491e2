#pragma once

/// \file
/// Kernels in files: which tasks they are for, and what is claimed about them.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/report/audit_report.hpp>

namespace kernelgen {
inline namespace v0 {

/// Sorted source files in a folder: Python and the languages of native kernels; not __init__.py and hidden ones.
[[nodiscard]] Result<std::vector<std::filesystem::path>> source_files_in(const std::filesystem::path& directory);

/// Finds the task of a kernel's file by its name. The error says what was looked for.
[[nodiscard]] Result<TaskSource> find_task_of_file(const std::filesystem::path& file, const TaskLocator& locator);

/// Finds the task with a level and a number.
[[nodiscard]] Result<TaskSource> find_numbered_task(int level, int problem, const TaskLocator& locator);

/// Reads a kernel. InvalidArgument for what is no kernel: a task, no ModelNew, no text, more than
/// k_max_solution_bytes.
[[nodiscard]] Result<Candidate> read_solution(const std::filesystem::path& file);

/// What a run folder of KernelBench claims about each of its samples, with the reference times of the folder's level.
[[nodiscard]] std::map<KernelBenchSample, Claim> claims_by_sample(const KernelBenchRun& run, const TaskLocator& locator,
                                                                  const BaselineTimes& baseline_times);

/// Adds the kernels of a run folder.
[[nodiscard]] Result<void> add_run_folder(const std::filesystem::path& directory, const SolutionSources& sources,
                                          FoundSolutions& found);

/// Adds files, which lie in one folder.
[[nodiscard]] Result<void> add_source_files(const std::vector<std::filesystem::path>& files,
                                            const SolutionSources& sources, FoundSolutions& found);

}  // namespace v0
}  // namespace kernelgen
