#pragma once

#include <optional>
#include <string>

#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace v0 {

/// Where tasks are looked for.
struct TaskLocator {
  /// A KernelBench checkout or its data directory; resolves "level3/40". Empty: paths only.
  std::string kernelbench_dir;
};

/// Reads a task by path ("examples/tasks/relu.py") or by KernelBench name ("level3/40", "level3/40_GRUHidden").
/// The level comes from a "levelN" directory in the path when there is one.
[[nodiscard]] Result<TaskSource> load_task_source(const std::string& name, const TaskLocator& locator);

}  // namespace v0
}  // namespace kernelgen
