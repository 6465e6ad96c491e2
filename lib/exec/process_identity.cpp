#include "exec/process_identity.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <sstream>

#include "support/files.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// What the kernel tells about a process: proc_pid_stat(5).
struct ProcessStat {
  char state = '?';
  /// Clock ticks since the boot.
  std::string started;
};

std::optional<ProcessStat> read_stat(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  // The name comes before, in parentheses, and may itself hold any character.
  const auto name_end = text->rfind(") ");
  if (name_end == text->npos) return std::nullopt;
  std::istringstream words(text->substr(name_end + 2));
  ProcessStat stat;
  words >> stat.state;
  constexpr int k_fields_before_start = 19;
  for (int field = 0; field < k_fields_before_start; ++field) words >> stat.started;
  return words ? std::optional(std::move(stat)) : std::nullopt;
}

/// The processes that this one can see: "BOOT pid:[4026531836]".
std::string visible_processes() {
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const auto space = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  return boot && !space.empty() ? fmt::format("{} {}", trim(*boot), space) : "";
}

}  // namespace

std::string process_identity() {
  const auto place = visible_processes();
  const auto stat = read_stat(::getpid());
  return place.empty() || !stat ? "" : fmt::format("{} {} {}", place, ::getpid(), stat->started);
}

bool has_certainly_ended(std::string_view identity) {
  const auto place = visible_processes();
  if (place.empty() || !identity.starts_with(place + " ")) return false;
  identity.remove_prefix(place.size() + 1);
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(identity.data(), identity.data() + identity.size(), pid);
  if (error != std::errc() || pid < 1) return false;
  const auto started = trim(std::string_view(end, identity.data() + identity.size()));
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  // A system may hide what other users run.
  const auto stat = read_stat(pid);
  if (!stat) return false;
  // A process that its parent has not waited for still has its number.
  return stat->started != started || stat->state == 'Z';
}

}  // namespace v0
}  // namespace kernelgen
