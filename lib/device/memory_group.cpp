#include "device/memory_group.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "device/cgroups.hpp"
#include "support/errno_error.hpp"
#include "support/file_lock.hpp"
#include "support/files.hpp"
#include "support/random_id.hpp"
#include "support/text.hpp"
#include "support/try.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::string_view k_prefix = "kernelgen-";
constexpr std::string_view k_killed = "oom_kill ";
constexpr std::size_t k_most_control_text = 1u << 20;
/// A group that another process has just made may not be locked yet.
constexpr auto k_new = 1min;
/// The kernel lets go of a group's last process a moment after its end.
constexpr int k_removals = 20;

/// Control files take a value in one write, and are never created.
Result<void> write_control(const fs::path& file, std::string_view value) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return errno_error(errno, fmt::format("cannot write {} to {}", value, file.string()));
  return {};
}

bool lists(const fs::path& file, std::string_view word) {
  const auto text = read_file(file, k_most_control_text);
  if (!text) return false;
  const auto words = split(trim(*text), ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool holds_this_process(const fs::path& directory) {
  const auto text = read_file(directory / "cgroup.procs", k_most_control_text);
  if (!text) return false;
  const auto lines = split_lines(*text);
  const auto own = std::to_string(::getpid());
  return std::find(lines.begin(), lines.end(), own) != lines.end();
}

/// This process's own group, by its list of processes: the path in /proc may lead to another one in a container.
std::optional<fs::path> own_group(const CgroupHierarchy& hierarchy) {
  const auto found = std::find_if(hierarchy.directories.begin(), hierarchy.directories.end(), holds_this_process);
  return found == hierarchy.directories.end() ? std::nullopt : std::optional(*found);
}

/// Version 2: a group hands the controller to groups below it, which its own processes prevent unless it is the first.
Result<void> hand_down_memory(const fs::path& group) {
  if (!lists(group / "cgroup.controllers", "memory"))
    return Error{ErrorCode::Unavailable, fmt::format("{} does not control memory", group.string())};
  if (lists(group / "cgroup.subtree_control", "memory")) return {};
  return write_control(group / "cgroup.subtree_control", "+memory");
}

/// Version 2: true if a process that leaves a group for the one above escapes no limit of processors or memory.
bool limits_nothing(const fs::path& group) {
  for (const char* name : {"cpu.max", "memory.max", "memory.high", "cpuset.cpus"}) {
    const auto text = read_file(group / name, k_most_control_text);
    if (text && !trim(*text).empty() && !text->starts_with("max")) return false;
  }
  return true;
}

/// The group in which a new one is made: this process's own, or, in version 2, the one above.
Result<fs::path> parent_of_new_group(const CgroupHierarchy& hierarchy) {
  const auto own = own_group(hierarchy);
  if (!own) return Error{ErrorCode::Unavailable, "the control group of this process is not mounted"};
  if (!hierarchy.is_unified) return *own;
  auto handed_down = hand_down_memory(*own);
  if (handed_down) return *own;
  const auto above = own->parent_path();
  if (lists(above / "cgroup.subtree_control", "memory") && limits_nothing(*own)) return above;
  return std::move(handed_down).error();
}

/// Opens a group's directory. It is locked as long as it is in use, so that what it says can be read after the end of
/// its processes.
UniqueFd open_group(const fs::path& group) {
  return UniqueFd(::open(group.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Removes groups of processes that were killed. One with processes stays.
void remove_abandoned(const fs::path& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (gone || !entry.path().filename().string().starts_with(k_prefix)) continue;
    if (fs::file_time_type::clock::now() - time < k_new) continue;
    const auto lock = open_group(entry.path());
    const auto is_abandoned = lock.valid() ? try_lock(lock.get(), entry.path().string()) : false;
    if (is_abandoned && *is_abandoned) ::rmdir(entry.path().c_str());
  }
}

Result<void> set_limit(const fs::path& group, bool is_unified, std::uint64_t bytes) {
  const auto value = std::to_string(bytes);
  if (!is_unified) {
    KERNELGEN_CHECK(write_control(group / "memory.limit_in_bytes", value));
    // The file exists where the kernel counts swap.
    static_cast<void>(write_control(group / "memory.memsw.limit_in_bytes", value));
    return {};
  }
  KERNELGEN_CHECK(write_control(group / "memory.max", value));
  static_cast<void>(write_control(group / "memory.swap.max", "0"));
  static_cast<void>(write_control(group / "memory.oom.group", "1"));
  return {};
}

Result<fs::path> make_below(const CgroupHierarchy& hierarchy, std::uint64_t bytes) {
  KERNELGEN_TRY(const auto parent, parent_of_new_group(hierarchy));
  remove_abandoned(parent);
  const auto group = parent / (std::string(k_prefix) + random_id());
  if (::mkdir(group.c_str(), 0755) != 0) return errno_error(errno, fmt::format("cannot make {}", group.string()));
  auto limited = set_limit(group, hierarchy.is_unified, bytes);
  if (limited) return group;
  ::rmdir(group.c_str());
  return std::move(limited).error();
}

}  // namespace

Result<MemoryGroup> MemoryGroup::make(std::uint64_t bytes, const fs::path& root) {
  std::string reason;
  for (const auto& hierarchy : cgroup_hierarchies(root, "memory")) {
    auto made = make_below(hierarchy, bytes);
    if (made) {
      auto lock = open_group(*made);
      if (lock.valid()) static_cast<void>(try_lock(lock.get(), made->string()));
      return MemoryGroup(*std::move(made), std::move(lock));
    }
    // The first hierarchy is the one of memory where there are two.
    if (reason.empty()) reason = made.error().message;
  }
  return Error{ErrorCode::Unavailable, reason.empty() ? "there are no control groups" : reason};
}

MemoryGroup::MemoryGroup(MemoryGroup&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), lock_(std::move(other.lock_)) {}

MemoryGroup& MemoryGroup::operator=(MemoryGroup&& other) noexcept {
  std::swap(directory_, other.directory_);
  std::swap(lock_, other.lock_);
  return *this;
}

MemoryGroup::~MemoryGroup() {
  if (directory_.empty()) return;
  for (int i = 0; i < k_removals && ::rmdir(directory_.c_str()) != 0 && errno == EBUSY; ++i)
    std::this_thread::sleep_for(1ms);
}

Result<void> MemoryGroup::add(pid_t process) const {
  return write_control(directory_ / "cgroup.procs", std::to_string(process));
}

bool MemoryGroup::has_run_out() const {
  for (const char* name : {"memory.events", "memory.oom_control"}) {
    const auto text = read_file(directory_ / name, k_most_control_text);
    if (!text) continue;
    for (const auto line : split_lines(*text))
      if (line.starts_with(k_killed) && trim(line.substr(k_killed.size())) != "0") return true;
  }
  return false;
}

}  // namespace v0
}  // namespace kernelgen
