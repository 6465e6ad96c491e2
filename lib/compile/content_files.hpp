#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// The path of a file with this SHA-256: <root>/objects/<2 of digest>/<digest><extension>.
[[nodiscard]] std::filesystem::path content_path(const std::filesystem::path& root, const std::string& digest,
                                                 const std::string& extension);

/// Publishes content under its digest for all users of `root`. An existing file is rewritten if its content does not
/// match its name.
[[nodiscard]] Result<std::filesystem::path> publish_content(const std::filesystem::path& root, std::string_view content,
                                                            const std::string& extension);

/// The SHA-256 over the names and contents of all files below a folder, at most 4 MiB each. NotFound if it cannot be
/// read.
[[nodiscard]] Result<std::string> digest_of_folder(const std::filesystem::path& directory);

/// Marks a file as used now, for evict(). A file that does not exist or belongs to another user is skipped.
void mark_used(const std::filesystem::path& file);

/// Limits of a content store.
struct EvictionLimits {
  std::uint64_t max_bytes = 0;
  /// Files that were used within this time stay, whatever the size.
  std::chrono::seconds keep_idle{0};
};

struct Eviction {
  std::uint64_t bytes_left = 0;
  std::size_t files_removed = 0;
};

/// If root/objects and root/results hold more than max_bytes, removes the least recently used files until a tenth of
/// the limit is free. Removes build folders, too, that were not finished within a day. Does nothing while another
/// process does the same.
[[nodiscard]] Result<Eviction> evict(const std::filesystem::path& root, const EvictionLimits& limits);

}  // namespace v0
}  // namespace kernelgen
