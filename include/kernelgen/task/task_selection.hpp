#pragma once

/// \file
/// Turns what a person names (files, folders, KernelBench levels, lists) into an ordered list of tasks.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/task/task_source.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A part of the tasks, drawn by a number. The same seed draws the same tasks on every machine, in whatever order the
/// sources are named; a smaller sample is a part of a larger one with the same seed.
struct TaskSample {
  /// At least 1. Fewer are drawn where there are fewer.
  int count = 1;
  std::int64_t seed = 0;
};

/// Which tasks to take.
struct TaskSelection {
  /// Where tasks come from. Each source is one of:
  ///   "tasks/relu.py"        a file
  ///   "tasks"                a folder: its .py files, except __init__.py and hidden ones, and nothing below it. The
  ///                          folder of KernelBench's levels, or its checkout: the tasks of all levels
  ///   "level1"               a level of KernelBench, in the locator's directory
  ///   "level3/33-42"         tasks of a level by number: "33", "1,5,9-12"; a folder before the slash works as well
  ///   "33-42"                the same in the locator's directory, if that is the folder of one level
  ///   "level3/40_GRUHidden"  any other name that load_task_source() knows
  /// A path that exists wins. Without any source or list, but with a choice below: the locator's directory.
  std::vector<std::string> sources = {};
  /// Files with one source on each line; they count after `sources`. A "#" at the start of a line or after a blank
  /// begins a comment. Paths are relative to the list's folder.
  std::vector<std::string> list_files = {};
  /// @{
  /// The least and the largest number that a task's file name may begin with, both included; tasks without a number are
  /// then left out. Unset: no limit.
  std::optional<int> start = {};
  std::optional<int> end = {};
  /// @}
  /// Takes this many tasks from the front of the list; at least 1.
  std::optional<int> first = {};
  /// Takes a sample, which keeps the order of the list. Not together with `first`.
  std::optional<TaskSample> sample = {};
};

/// One selected task. The file was found, but not read.
struct SelectedTask {
  std::filesystem::path path;
  /// Unique among the selected tasks, and fit for run_directory(): the file's name without ".py", with "_" in place of
  /// other characters. Files that share this name are all named with their folders: "level1-19_ReLU", "mine-19_ReLU".
  std::string name;
  /// The N of the folder "levelN" that holds it.
  std::optional<int> level;
  /// The number that the file's name begins with: 40 of "40_GRUHidden.py".
  std::optional<int> number;
  bool operator==(const SelectedTask&) const = default;
};

/// Finds the tasks of a selection: those of each source in natural order ("2_x" before "10_x"), the sources as they are
/// listed. A file that several sources name counts once, at its first place. Names are given before `start`, `end`,
/// `first` and `sample` choose, so that they do not depend on these.
///
/// Errors, each with one line that names the source, and the line for one of a list: NotFound for a file, level or
/// number that does not exist (with what comes close), InvalidArgument for what cannot be meant (a range that ends
/// before it begins, a source without tasks, no source), PermissionDenied and Io for a folder that cannot be listed.
[[nodiscard]] Result<std::vector<SelectedTask>> select_tasks(const TaskSelection& selection,
                                                             const TaskLocator& locator = {});

/// The source of the tasks with numbers from `first` to `last` of one level: that of the locator's directory, where
/// this is the folder of one, else level1. InvalidArgument without a directory.
[[nodiscard]] Result<std::string> level_range(int first, int last, const TaskLocator& locator);

}  // namespace v0
}  // namespace kernelgen
