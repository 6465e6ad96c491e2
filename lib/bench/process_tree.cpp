#include "bench/process_tree.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Maximal number of processes that are inspected, because a candidate may start any number.
constexpr std::size_t k_most_processes = 4096;

/// Fields of /proc/PID/stat, with times in clock ticks.
struct ProcessStatus {
  char state = 'X';
  std::int64_t own_ticks = 0;
  /// Ticks of children that have ended and were reaped.
  std::int64_t reaped_ticks = 0;

  [[nodiscard]] bool running() const { return state != 'Z' && state != 'X'; }
};

std::optional<ProcessStatus> read_status_in(const std::filesystem::path& directory) {
  std::ifstream file(directory / "stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  // The name comes before, in parentheses, and may itself hold any character.
  const auto name_end = line.rfind(") ");
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 2));
  ProcessStatus status;
  fields >> status.state;
  constexpr int k_fields_before_times = 10;
  std::int64_t skipped = 0;
  for (int i = 0; i < k_fields_before_times; ++i) fields >> skipped;
  std::int64_t user = 0, system = 0, reaped_user = 0, reaped_system = 0;
  fields >> user >> system >> reaped_user >> reaped_system;
  if (!fields) return std::nullopt;
  status.own_ticks = user + system;
  status.reaped_ticks = reaped_user + reaped_system;
  return status;
}

/// The status of a process. After the end of its first thread, it shows as a zombie while its other threads live and
/// work, so it runs as long as any thread does.
std::optional<ProcessStatus> read_status(pid_t process) {
  auto status = read_status_in(fmt::format("/proc/{}", process));
  if (!status || status->state != 'Z') return status;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
    if (const auto one = read_status_in(thread.path()); one && one->running()) status->state = one->state;
  return status;
}

/// The second field of a schedstat file: "RUNNING WAITING SLICES", in nanoseconds.
std::chrono::nanoseconds waiting_time_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::int64_t running = 0, waiting = 0;
  return std::chrono::nanoseconds(file >> running >> waiting ? waiting : 0);
}

}  // namespace

std::chrono::nanoseconds waiting_time_of(pid_t process) {
  std::chrono::nanoseconds total{};
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error))
    total += waiting_time_in(thread.path() / "schedstat");
  return total;
}

std::chrono::nanoseconds waiting_time_of_this_thread() { return waiting_time_in("/proc/thread-self/schedstat"); }

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", parent), error)) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) found.push_back(child);
  }
  return found;
}

bool is_running(pid_t process) {
  const auto status = read_status(process);
  return status && status->running();
}

bool has_helpers(pid_t supervisor, pid_t runner) {
  const auto is_helper = [&](pid_t process) { return process != runner && is_running(process); };
  const auto orphans = children_of(supervisor);
  const auto children = children_of(runner);
  return std::any_of(orphans.begin(), orphans.end(), is_helper) ||
         std::any_of(children.begin(), children.end(), is_helper);
}

RunnerProcesses processes_of(pid_t supervisor, pid_t runner) {
  RunnerProcesses found;
  std::int64_t own_ticks = 0, helper_ticks = 0;
  std::vector<pid_t> pending{supervisor};
  for (std::size_t i = 0; i < pending.size() && i < k_most_processes; ++i) {
    const auto process = pending[i];
    const auto status = read_status(process);
    if (!status) continue;
    helper_ticks += status->reaped_ticks;
    if (process == runner) {
      own_ticks = status->own_ticks;
    } else if (process != supervisor) {
      helper_ticks += status->own_ticks;
      found.helpers += status->running();
    }
    if (process != supervisor) found.waiting_time += waiting_time_of(process);
    for (const auto child : children_of(process)) pending.push_back(child);
  }
  const auto time_of = [](std::int64_t ticks) {
    return std::chrono::nanoseconds(ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
  };
  found.helper_time = time_of(helper_ticks);
  found.processor_time = time_of(helper_ticks + own_ticks);
  return found;
}

}  // namespace v0
}  // namespace kernelgen
