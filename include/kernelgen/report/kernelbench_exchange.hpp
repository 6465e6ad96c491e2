#pragma once

/// \file
/// Run folders of KernelBench to results directories and back.

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/store/kernelbench_run.hpp>
#include <kernelgen/task/task_source.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The policy of a run that was imported: no model was asked.
inline constexpr const char* k_imported_policy = "imported";

/// What to import, and where to.
struct KernelBenchImport {
  std::filesystem::path run_directory;
  std::filesystem::path results_directory;
  /// Name of the runs, as in run_directory(); empty: they lie in their tasks' own directories.
  std::string name = {};
  /// The model that wrote the kernels, for reports; empty: the folder's name.
  std::string model = {};
  /// Finds the tasks.
  TaskLocator locator = {};
  /// Reference times for claims that hold the kernel's time alone.
  BaselineTimes baseline_times = {};
  /// The records of an audit of the folder; empty: none. Kernels with a record there count as judged.
  std::filesystem::path records_directory = {};
};

/// What came of an import or an export.
struct KernelBenchExchange {
  int tasks = 0;
  int kernels = 0;
  /// Kernels with a verdict.
  int judged = 0;
  /// A line for each kernel or task that was left out, with the reason.
  std::vector<std::string> left_out;
};

/// Makes a run of each task of the folder, and an attempt of each sample. Claims are kept in the run's options and are
/// no results: without a record of an audit, an attempt is `not_judged`. A second call with the same folder adds
/// nothing. Errors: those of read_kernelbench_run(); InvalidArgument where another run is in the way; Busy, NoSpace,
/// Io.
[[nodiscard]] Result<KernelBenchExchange> import_kernelbench_run(const KernelBenchImport& request);

/// The claim about an attempt of an imported run; nothing for other runs.
[[nodiscard]] std::optional<Claim> imported_claim(const std::vector<std::pair<std::string, std::string>>& run_options,
                                                  const std::string& action_id);

/// What to export, and where to.
struct KernelBenchExport {
  std::filesystem::path results_directory;
  /// Created; must hold no run.
  std::filesystem::path run_directory;
  /// Tasks of this level are exported. A run folder holds one level: needed where the results have several.
  std::optional<int> level = {};
};

/// Writes the kernel of each run, which is its best one, else the last one that was judged, and every attempt of
/// imported runs. Runs of one task are its samples. Left out: native kernels, which are no Python module; tasks without
/// level and number; runs without a kernel. Errors: those of read_results(); InvalidArgument for a folder that holds a
/// run, for several levels, and where nothing can be exported; those of writing.
[[nodiscard]] Result<KernelBenchExchange> export_kernelbench_run(const KernelBenchExport& request);

}  // namespace v0
}  // namespace kernelgen
