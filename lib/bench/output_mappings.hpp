#pragma once

/// \file
/// Decides whether the memory of a Python candidate's outputs is its own. A page of a file can stand for many pages of
/// an output, and shared memory can be filled by others: such outputs cost their process less than they seem to.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A file as /proc/PID/maps names it.
struct MappedFile {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const MappedFile&) const = default;
};
/// The file behind a descriptor.
[[nodiscard]] MappedFile mapped_file_of(int fd);

/// One line of /proc/PID/maps.
struct MemoryMapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_shared = false;
  /// The place in the file that `begin` shows.
  std::uint64_t offset = 0;
  /// Inode 0: no file.
  MappedFile file;
  /// The path of a file, or a name in brackets; empty for most memory without a file.
  std::string name;
};
/// Reads the text of /proc/PID/maps. Lines that cannot be read are left out.
[[nodiscard]] std::vector<MemoryMapping> parse_memory_mappings(std::string_view text);

/// Memory of another process. Its end must not overflow.
struct MemoryRange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// True if all of these pages are anonymous memory of one process, by their entries in /proc/PID/pagemap: no page of a
/// file, and no shared one. A private mapping's page of a file becomes anonymous when the process writes to it.
[[nodiscard]] bool are_own_pages(std::span<const std::uint64_t> entries);

/// The mapping in a range that is neither private memory without a file nor memory of `exchange`, where a view of an
/// input lies; nothing if there is none. `entries` are those of the range's pages in /proc/PID/pagemap; pages without
/// an entry are judged by their mapping alone.
[[nodiscard]] std::optional<MemoryMapping> find_foreign_mapping(const MemoryRange& range,
                                                                std::span<const std::uint64_t> entries,
                                                                const std::vector<MemoryMapping>& mappings,
                                                                const MappedFile& exchange);

/// A range, by its place in a list, and the mapping in it that is not its process's own memory.
struct ForeignMemory {
  std::size_t range = 0;
  MemoryMapping mapping;
};
/// Finds the first such range of a stopped process. Requires: they were read since it stopped, so that all pages that
/// can be are present. Reads 8 bytes for each page, and all mappings where one is not the process's own.
[[nodiscard]] std::optional<ForeignMemory> find_foreign_memory(pid_t process, std::span<const MemoryRange> ranges,
                                                               const MappedFile& exchange);

/// A name of the mapping for messages: "the file /tmp/x", "shared memory". Sanitized.
[[nodiscard]] std::string describe_mapping(const MemoryMapping& mapping);

}  // namespace v0
}  // namespace kernelgen
