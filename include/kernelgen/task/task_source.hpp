#pragma once

/// \file
/// Finds KernelBench-format files and reads them.

#include <cstddef>
#include <filesystem>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Where to look for tasks.
struct TaskLocator {
  /// A KernelBench checkout, its data directory (KernelBench/, which holds level1, level2, ...), or the directory of
  /// one level, where "40" means a task of that level; resolves "level3/40". Empty: paths only.
  std::string kernelbench_dir;
};

/// Size limit of a task file.
inline constexpr std::size_t k_max_task_bytes = 4u << 20;

/// Reads a task by path ("examples/tasks/relu.py") or by KernelBench name ("level3/40", "level3/40_GRUHidden",
/// "KernelBench/level3/40_GRUHidden.py", or "40_GRUHidden" where only one level has it). A path that exists wins.
/// The level comes from a "levelN" directory in the path when there is one. Nothing of the file is run.
///
/// Errors, each with one line that names the input: NotFound (with names that come close), InvalidArgument (a
/// directory, or a name that fits several tasks), InvalidTask (larger than k_max_task_bytes, not UTF-8, empty),
/// PermissionDenied.
[[nodiscard]] Result<TaskSource> load_task_source(const std::string& name, const TaskLocator& locator = {});

/// Finds the file that load_task_source() would read. Has its errors except InvalidTask and PermissionDenied.
[[nodiscard]] Result<std::filesystem::path> find_task_file(const std::string& name, const TaskLocator& locator);

}  // namespace v0
}  // namespace kernelgen
