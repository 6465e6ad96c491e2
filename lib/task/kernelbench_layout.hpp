#pragma once

/// \file
/// The folders of KernelBench: level1, level2, ... hold files such as 40_GRUHidden.py.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

inline constexpr std::string_view k_task_extension = ".py";

/// True for one or more decimal digits.
[[nodiscard]] bool is_decimal(std::string_view text);

/// The N of "levelN"; nothing for other names.
[[nodiscard]] std::optional<std::string_view> level_number(std::string_view directory);

/// The N of the innermost folder "levelN" above a file.
[[nodiscard]] std::optional<std::string> level_above(const std::filesystem::path& file);

/// Sorted names in a directory; none when it cannot be read.
[[nodiscard]] std::vector<std::string> sorted_names_in(const std::filesystem::path& directory);

/// Sorted names of the .py files in a directory, without ".py".
[[nodiscard]] std::vector<std::string> python_files_in(const std::filesystem::path& directory);

/// Where the levels of KernelBench are.
struct KernelBenchRoot {
  /// Holds level1, level2, ...
  std::filesystem::path directory;
  /// The name of the level, if the folder of one was given: "level1". Empty: the folder of all levels, or a checkout.
  std::string own_level;
};
/// Finds the levels in a checkout, in its folder KernelBench/, or beside the folder of a level.
[[nodiscard]] KernelBenchRoot find_kernelbench(const std::filesystem::path& given);

/// Names of the folders of levels, in natural order: "level1", "level2".
[[nodiscard]] std::vector<std::string> levels_in(const std::filesystem::path& directory);

/// The parts of a KernelBench name: "level3/40_GRUHidden" has a level, "40_GRUHidden" has none.
struct BenchName {
  std::string level;
  std::string task;
};
/// Splits a KernelBench name; nothing for a text that cannot be one.
[[nodiscard]] std::optional<BenchName> parse_bench_name(std::string_view name);

/// The error for a name that is no file; `known` are names that may be meant.
[[nodiscard]] Error no_such_task(const std::string& name, const std::vector<std::string>& known);

/// Finds the folder of a level; `name` is for the message. NotFound, with the levels that exist.
[[nodiscard]] Result<std::filesystem::path> find_level(const std::string& name, const std::string& level,
                                                       const std::filesystem::path& given);

/// Finds the only task with a KernelBench name; `name` is for the message. NotFound, or InvalidArgument for a name that
/// fits several tasks.
[[nodiscard]] Result<std::filesystem::path> find_in_kernelbench(const std::string& name, const BenchName& wanted,
                                                                const std::filesystem::path& given);

}  // namespace v0
}  // namespace kernelgen
