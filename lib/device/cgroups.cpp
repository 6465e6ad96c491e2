#include "device/cgroups.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_most_text = 1u << 20;

/// The first number in a text; nothing for "max".
std::optional<std::uint64_t> first_number(std::string_view text) {
  text = trim(text);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

std::optional<std::uint64_t> read_number(const fs::path& directory, const char* unified, const char* older) {
  for (const auto* name : {unified, older})
    if (const auto text = read_file(directory / name, k_most_text)) return first_number(*text);
  return std::nullopt;
}

/// The number after a name at the start of a line.
std::optional<std::uint64_t> read_field(const fs::path& file, std::string_view name) {
  const auto text = read_file(file, k_most_text);
  if (!text) return std::nullopt;
  for (const auto line : split_lines(*text))
    if (line.starts_with(name)) return first_number(line.substr(name.size()));
  return std::nullopt;
}

/// What a group's limit leaves; the largest number without a limit. Files that were read can be dropped.
std::uint64_t left_in(const fs::path& directory) {
  const auto limit = read_number(directory, "memory.max", "memory.limit_in_bytes");
  const auto used = read_number(directory, "memory.current", "memory.usage_in_bytes");
  if (!limit || !used) return ~std::uint64_t{0};
  const auto droppable = read_field(directory / "memory.stat", "inactive_file ").value_or(0);
  const auto kept = *used - std::min(*used, droppable);
  return *limit - std::min(*limit, kept);
}

}  // namespace

std::vector<CgroupHierarchy> cgroup_hierarchies(const fs::path& root, std::string_view controller) {
  std::vector<CgroupHierarchy> found;
  const auto text = read_file(root / "proc/self/cgroup", k_most_text);
  if (!text) return found;
  for (const auto line : split_lines(*text)) {
    // "4:memory:/path", or "0::/path" for version 2.
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const auto names = split(parts[1], ',');
    const bool is_unified = parts[1].empty();
    if (!is_unified && std::find(names.begin(), names.end(), controller) == names.end()) continue;
    const auto mount = root / "sys/fs/cgroup" / (is_unified ? std::string_view() : controller);
    auto& hierarchy = found.emplace_back();
    hierarchy.is_unified = is_unified;
    const std::string_view path = line.substr(parts[0].size() + parts[1].size() + 2);
    for (fs::path step = fs::path(path).relative_path(); !step.empty(); step = step.parent_path())
      hierarchy.directories.push_back(mount / step);
    hierarchy.directories.push_back(mount);
  }
  return found;
}

std::uint64_t available_memory(const fs::path& root) {
  const auto kilobytes = read_field(root / "proc/meminfo", "MemAvailable:");
  if (!kilobytes) return 0;
  auto left = *kilobytes << 10;
  for (const auto& hierarchy : cgroup_hierarchies(root, "memory"))
    for (const auto& directory : hierarchy.directories) left = std::min(left, left_in(directory));
  return left;
}

}  // namespace v0
}  // namespace kernelgen
