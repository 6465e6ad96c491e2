#include "exec/sandbox.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "runner/runner_protocol.h"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t k_full_isolation = KGEN_ISOLATION_USER | KGEN_ISOLATION_MOUNT | KGEN_ISOLATION_PID |
                                           KGEN_ISOLATION_NET | KGEN_ISOLATION_IPC | KGEN_ISOLATION_SECCOMP |
                                           KGEN_ISOLATION_NOT_ROOT;

std::vector<std::string> sandboxed_command(const std::string& helper, const SandboxView& view,
                                           const std::string& report_file, const std::vector<std::string>& program) {
  std::vector<std::string> command{helper, "--report", report_file};
  if (!view.writable.empty()) command.insert(command.end(), {"--directory", view.writable});
  for (const auto& path : view.readable) command.insert(command.end(), {"--read", path});
  for (const auto& path : view.hidden) command.insert(command.end(), {"--hide", path});
  for (const auto& path : view.devices) command.insert(command.end(), {"--device", path});
  if (view.as_runner) command.insert(command.end(), {"--view", "runner"});
  command.emplace_back("--");
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

}  // namespace

std::string describe_isolation(std::uint64_t bits) {
  if ((bits & k_full_isolation) == k_full_isolation) return "full";
  static constexpr std::pair<std::uint32_t, std::string_view> k_layers[] = {
      {KGEN_ISOLATION_USER, "user namespace"},       {KGEN_ISOLATION_MOUNT, "private file system"},
      {KGEN_ISOLATION_PID, "pid namespace"},         {KGEN_ISOLATION_NET, "network namespace"},
      {KGEN_ISOLATION_IPC, "ipc namespace"},         {KGEN_ISOLATION_SECCOMP, "system call filter"},
      {KGEN_ISOLATION_NOT_ROOT, "user besides root"}};
  std::string missing;
  for (const auto& [bit, name] : k_layers)
    if ((bits & bit) == 0) missing += fmt::format("{}no {}", missing.empty() ? "" : ", ", name);
  const bool landlock = (bits & KGEN_ISOLATION_LANDLOCK) != 0;
  // Without both, a candidate could reach other processes of the user: the judge, and the runner of the next candidate.
  const bool closed = (bits & KGEN_ISOLATION_SECCOMP) != 0 && (landlock || (bits & KGEN_ISOLATION_PID) != 0);
  return std::string(closed ? "partial: " : k_weak_isolation) + missing + (landlock ? ", but Landlock" : "");
}

Result<std::string> parse_sandbox_report(const std::string& line, const std::string& program) {
  const auto words = split(trim(line), ' ');
  std::uint64_t number = 0;
  if (words.size() < 2) return Error{ErrorCode::Internal, "kgen-sandbox reported nothing", {}};
  const auto last = words.back();
  if (std::from_chars(last.data(), last.data() + last.size(), number).ptr != last.data() + last.size())
    return Error{ErrorCode::Internal, "kgen-sandbox reported " + sanitize_line(line, 100), {}};
  if (words[0] == "isolation") return describe_isolation(number);
  const std::string reason = std::strerror(static_cast<int>(number));
  if (words[1] == "exec")
    return Error{ErrorCode::MissingTool, "cannot start " + program + " in the sandbox: " + reason, {}};
  return Error{ErrorCode::Unavailable, "no sandbox for " + program + ": " + reason, {}};
}

Result<SandboxedOutcome> run_sandboxed(const std::string& helper, const SandboxView& view,
                                       const std::string& report_file, ProcessRequest request, ProcessRunner& runner,
                                       std::stop_token stop) {
  if (request.command.empty()) return Error{ErrorCode::InvalidArgument, "no program for the sandbox", {}};
  const std::string program = request.command.front();
  request.command = sandboxed_command(helper, view, report_file, request.command);
  SandboxedOutcome outcome;
  KERNELGEN_TRY(outcome.process, runner.run(request, std::move(stop)));
  const auto report = read_file(report_file, 4096);
  std::error_code ignored;
  fs::remove(report_file, ignored);
  auto isolation = parse_sandbox_report(report ? *report : std::string(), program);
  // It was killed, for example at its deadline, before it could write its report. Its child gets the same signal, and
  // if that ends first, the report says that the sandbox failed, which is not the reason.
  if (!isolation && (outcome.process.timed_out || outcome.process.signal)) return outcome;
  KERNELGEN_TRY(outcome.isolation, std::move(isolation));
  return outcome;
}

std::vector<std::string> toolchain_folders(const std::string& program, const std::string& home) {
  std::vector<std::string> folders;
  std::error_code error;
  const fs::path real_home = home.empty() ? fs::path() : fs::weakly_canonical(home, error);
  const auto add = [&](const fs::path& file) {
    folders.push_back(file.string());
    const fs::path prefix = file.parent_path().parent_path();
    if (file.parent_path().filename() != "bin" || prefix == prefix.root_path() || prefix == real_home) return;
    folders.push_back(prefix.string());
  };
  add(fs::absolute(program, error).lexically_normal());
  const fs::path real = fs::canonical(program, error);
  if (!error && real != folders.front()) add(real);
  return folders;
}

}  // namespace v0
}  // namespace kernelgen
