#pragma once

/// \file
/// The control groups of this process, version 1 and 2.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A hierarchy of control groups with one controller, as this process sees it.
struct CgroupHierarchy {
  bool is_unified = false;
  /// The directories of this process's group and of the groups above it, the innermost first. Containers often mount
  /// only their own part, so that some of them do not exist.
  std::vector<std::filesystem::path> directories;
};
/// The hierarchies that may have a controller ("cpu", "memory"). `root` holds proc/ and sys/.
[[nodiscard]] std::vector<CgroupHierarchy> cgroup_hierarchies(const std::filesystem::path& root,
                                                              std::string_view controller);

/// The memory that programs can still take without swapping: that of the machine, or of a group of this process where
/// that is less. 0 where nothing tells.
[[nodiscard]] std::uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace v0
}  // namespace kernelgen
