#pragma once

/// \file
/// Directories that hostile programs have filled: with links, deep levels, many entries, modes that refuse their owner.
/// Links are never followed, and no path is resolved twice.

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace kernelgen {
inline namespace v0 {

/// Limits of measure_tree().
struct TreeLimits {
  std::size_t entries = 65536;
  std::size_t depth = 32;
};

/// What lies below a directory.
struct TreeSize {
  /// The sizes of all regular files, or the room that they take where that is more.
  std::uintmax_t bytes = 0;
  /// False for a tree beyond the limits, one that cannot be read, and for what is no directory, such as a link to one;
  /// `bytes` is then a part.
  bool is_complete = true;
  /// True if it holds nothing but directories, and regular files of one name each.
  bool is_plain = true;
};
[[nodiscard]] TreeSize measure_tree(const std::filesystem::path& path, const TreeLimits& limits = {});

/// Removes a file, a link, or a directory with all that lies in it, however deep; fine when there is none. What cannot
/// be removed stays. Requires: no program changes it meanwhile.
void remove_tree(const std::filesystem::path& path) noexcept;

}  // namespace v0
}  // namespace kernelgen
