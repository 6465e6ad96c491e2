#include "bench/output_mappings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>

#include "support/text.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Bits of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst).
constexpr std::uint64_t k_present = std::uint64_t{1} << 63;
constexpr std::uint64_t k_swapped = std::uint64_t{1} << 62;
constexpr std::uint64_t k_file_or_shared = std::uint64_t{1} << 61;

/// Entries that are read at once: those of 16 MiB.
constexpr std::size_t k_entries_at_once = 4096;

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool is_own_page(std::uint64_t entry) {
  return (entry & (k_present | k_swapped)) != 0 && (entry & k_file_or_shared) == 0;
}

/// Takes a number and the character after it, if there is one, off the front of `text`. False if there is no number.
bool take_number(std::string_view& text, int base, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc()) return false;
  text.remove_prefix(std::min(static_cast<std::size_t>(end - text.data()) + 1, text.size()));
  return true;
}

/// "7f00-7f10 rw-p 00000000 fe:00 123    /path with spaces"
std::optional<MemoryMapping> parse_line(std::string_view line) {
  constexpr std::size_t k_flags_length = 5;
  constexpr std::size_t k_sharing_flag = 3;
  MemoryMapping mapping;
  if (!take_number(line, 16, mapping.begin) || !take_number(line, 16, mapping.end)) return std::nullopt;
  if (line.size() < k_flags_length) return std::nullopt;
  mapping.is_shared = line[k_sharing_flag] != 'p';
  line.remove_prefix(k_flags_length);
  std::uint64_t major = 0, minor = 0;
  if (!take_number(line, 16, mapping.offset) || !take_number(line, 16, major) || !take_number(line, 16, minor) ||
      !take_number(line, 10, mapping.file.inode))
    return std::nullopt;
  mapping.file.device = makedev(static_cast<unsigned>(major), static_cast<unsigned>(minor));
  if (const auto name = line.find_first_not_of(' '); name != line.npos) mapping.name = line.substr(name);
  return mapping;
}

std::vector<MemoryMapping> read_memory_mappings(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/maps", process));
  return parse_memory_mappings(std::string(std::istreambuf_iterator<char>(file), {}));
}

/// The first page of a range, and the number of its pages.
std::uint64_t first_page_of(const MemoryRange& range) { return range.address / page_bytes(); }
std::uint64_t pages_of(const MemoryRange& range) {
  return range.bytes == 0 ? 0 : (range.address + range.bytes - 1) / page_bytes() - first_page_of(range) + 1;
}

/// Reads entries of a pagemap; fewer than were asked for where it has no more.
std::span<const std::uint64_t> read_entries(int pagemap, std::uint64_t first_page, std::span<std::uint64_t> into) {
  const auto bytes = std::as_writable_bytes(into);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const auto count = ::pread(pagemap, bytes.data() + done, bytes.size() - done,
                               static_cast<off_t>(first_page * sizeof(std::uint64_t) + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  return into.first(done / sizeof(std::uint64_t));
}

/// True if the pagemap shows that all pages of a range are the process's own.
bool is_own_memory(int pagemap, const MemoryRange& range) {
  std::array<std::uint64_t, k_entries_at_once> room{};
  const auto pages = pages_of(range);
  for (std::uint64_t done = 0; done < pages; done += k_entries_at_once) {
    const auto wanted = std::span(room).first(std::min<std::uint64_t>(pages - done, k_entries_at_once));
    const auto entries = read_entries(pagemap, first_page_of(range) + done, wanted);
    if (entries.size() != wanted.size() || !are_own_pages(entries)) return false;
  }
  return true;
}

}  // namespace

MappedFile mapped_file_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  return {.device = status.st_dev, .inode = status.st_ino};
}

std::vector<MemoryMapping> parse_memory_mappings(std::string_view text) {
  std::vector<MemoryMapping> mappings;
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (auto mapping = parse_line(line)) mappings.push_back(*std::move(mapping));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return mappings;
}

bool are_own_pages(std::span<const std::uint64_t> entries) {
  return std::all_of(entries.begin(), entries.end(), is_own_page);
}

std::optional<MemoryMapping> find_foreign_mapping(const MemoryRange& range, std::span<const std::uint64_t> entries,
                                                  const std::vector<MemoryMapping>& mappings,
                                                  const MappedFile& exchange) {
  // The exchange memory must appear in its own order, so that no page of it stands for two.
  std::optional<std::uint64_t> start_of_exchange;
  auto at = mappings.begin();
  for (std::uint64_t page = 0; page < pages_of(range); ++page) {
    if (page < entries.size() && is_own_page(entries[page])) continue;
    const auto address = (first_page_of(range) + page) * page_bytes();
    at = std::find_if(at, mappings.end(), [&](const MemoryMapping& mapping) { return address < mapping.end; });
    if (at == mappings.end() || address < at->begin)
      return MemoryMapping{.begin = address,
                           .end = address + page_bytes(),
                           .is_shared = true,
                           .offset = 0,
                           .file = {},
                           .name = "[unknown]"};
    if (!at->is_shared && at->file.inode == 0) continue;
    const auto start = at->begin - at->offset;
    if (at->file != exchange || start_of_exchange.value_or(start) != start) return *at;
    start_of_exchange = start;
  }
  return std::nullopt;
}

std::optional<ForeignMemory> find_foreign_memory(pid_t process, std::span<const MemoryRange> ranges,
                                                 const MappedFile& exchange) {
  const UniqueFd pagemap(::open(fmt::format("/proc/{}/pagemap", process).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<MemoryMapping> mappings;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto& range = ranges[i];
    if (is_own_memory(pagemap.get(), range)) continue;
    if (mappings.empty()) mappings = read_memory_mappings(process);
    std::vector<std::uint64_t> room(pages_of(range));
    const auto entries = read_entries(pagemap.get(), first_page_of(range), room);
    if (auto mapping = find_foreign_mapping(range, entries, mappings, exchange))
      return ForeignMemory{.range = i, .mapping = *std::move(mapping)};
  }
  return std::nullopt;
}

std::string describe_mapping(const MemoryMapping& mapping) {
  constexpr std::size_t k_longest_name = 200;
  // The kernel's name of shared memory that no file was named for.
  if (mapping.name.empty() || mapping.name.starts_with("/dev/zero")) return "shared memory";
  return fmt::format("{} {}", mapping.name.starts_with('/') ? "the file" : "the mapping",
                     sanitize_line(mapping.name, k_longest_name));
}

}  // namespace v0
}  // namespace kernelgen
