#pragma once

/// \file
/// What an audit judges, and what it found: kernels of results directories, of KernelBench run folders and of plain
/// folders; the findings as a table, as JSON and as a page.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/audit.hpp>
#include <kernelgen/store/kernelbench_run.hpp>
#include <kernelgen/task/task_source.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Largest source of a kernel.
inline constexpr std::size_t k_max_solution_bytes = 16u << 20;

/// Where kernels are looked for, and how they are judged.
struct SolutionSources {
  /// Each is one of: a results directory, of which the best kernel of each run counts, and every kernel of an imported
  /// run; a KernelBench run folder; any other folder, of which the sources count, but not what lies in its folders; a
  /// source file.
  std::vector<std::filesystem::path> paths;
  /// Finds the tasks of files that do not bring their own.
  TaskLocator locator = {};
  /// The task of every file, by path or name; empty: each file's name tells it.
  std::string task = {};
  /// Kernels of results directories are judged with the precision class, tolerance, replaced constants and library use
  /// of their runs instead.
  EvaluationOptions options = {};
  /// Reference times for claims that hold the kernel's time alone.
  BaselineTimes baseline_times = {};
};

/// The kernels, what cannot be judged, and remarks such as "3 runs have no correct kernel".
struct FoundSolutions {
  std::vector<AuditSolution> solutions;
  std::vector<AuditUnpaired> unpaired;
  std::vector<std::string> notes;
};

/// Finds kernels, their tasks and what is claimed about them. A file is paired with a task by the first of these that
/// fits: level and number of a KernelBench kernel's name; level and number, where the name or its folder has the level
/// ("level1_19.py", "level1/19_ReLU.py"); the name of a task ("19_ReLU.py"); a number that only one level has. What is
/// claimed about a file stands in eval_results.json or in claims.json beside it. Errors, each with the path: NotFound,
/// InvalidArgument for a folder without kernels and for malformed JSON.
[[nodiscard]] Result<FoundSolutions> find_solutions(const SolutionSources& sources);

/// The findings for a terminal of `width` columns; 0: lines are not shortened.
[[nodiscard]] std::string audit_table(const AuditReport& report, std::size_t width);
/// The findings for a program (docs/audit.md).
[[nodiscard]] std::string audit_json(const AuditReport& report);
/// The findings as a page without scripts, for light and dark displays. Untrusted text is escaped.
[[nodiscard]] std::string audit_html(const AuditReport& report);

}  // namespace v0
}  // namespace kernelgen
