#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// How the description of an isolation begins that is too weak for a verdict: processes outside can be reached.
inline constexpr std::string_view k_weak_isolation = "weak: ";

/// Names the isolation that KGEN_ISOLATION_* bits stand for: "full", or "partial: " or k_weak_isolation, and what the
/// machine refused.
[[nodiscard]] std::string describe_isolation(std::uint64_t bits);

/// The part of the file system that a sandboxed program sees besides the system's own toolchain folders.
struct SandboxView {
  /// Files and directories that the program may read. Paths that do not exist are skipped.
  std::vector<std::string> readable;
  /// Directories that stay hidden inside readable ones. $HOME is always hidden.
  std::vector<std::string> hidden;
  /// The directory that the program starts in and may write to. Empty: it may write to a private /tmp only.
  std::string writable;
  /// The program sees what a runner sees: /sys, users' names, and shared memory of its own besides the toolchain.
  bool as_runner = false;
  /// Nodes of a GPU. With any, the program may open sockets, which reach nothing but itself.
  std::vector<std::string> devices{};
};

struct SandboxedOutcome {
  ProcessOutcome process;
  /// See describe_isolation(); empty when the sandbox was killed before the program started.
  std::string isolation;
};

/// Runs a program through kgen-sandbox, the executable `helper`, which ends all processes of the program with it.
/// command[0] must be an absolute path. `report_file` must not be writable through `view`; it is created and removed.
/// Errors: those of ProcessRunner (MissingTool names the helper), Unavailable when no sandbox could be set up,
/// MissingTool when the program cannot be started inside.
[[nodiscard]] Result<SandboxedOutcome> run_sandboxed(const std::string& helper, const SandboxView& view,
                                                     const std::string& report_file, ProcessRequest request,
                                                     ProcessRunner& runner, std::stop_token stop);

/// Reads the line that kgen-sandbox writes to its report: the isolation in words, or the Error that the line stands
/// for.
[[nodiscard]] Result<std::string> parse_sandbox_report(const std::string& line, const std::string& program);

/// Lists the paths that the program at `program` needs: the file with its links, and its prefix when it is
/// PREFIX/bin/NAME and PREFIX is neither `home` nor the root.
[[nodiscard]] std::vector<std::string> toolchain_folders(const std::string& program, const std::string& home);

}  // namespace v0
}  // namespace kernelgen
