#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// The walls behind KGEN_ISOLATION_* bits in words: "full", or "partial: " and what the machine refused.
[[nodiscard]] std::string describe_isolation(std::uint64_t bits);

/// What a sandboxed program sees of the file system besides the system's own toolchain folders.
struct SandboxView {
  /// Files and directories to read. What does not exist is skipped.
  std::vector<std::string> readable;
  /// Directories to cover where they lie in a readable one. $HOME always is.
  std::vector<std::string> hidden;
  /// The directory that takes files; the program starts in it. Empty: only a private /tmp does.
  std::string writable;
};

struct SandboxedOutcome {
  ProcessOutcome process;
  /// See describe_isolation; empty when the program was ended before it started.
  std::string isolation;
};

/// Runs a program through kgen-sandbox, the executable `helper`: everything that the program starts ends with it.
/// command[0] must be an absolute path. `report_file` must not be writable through `view`; it is made and removed.
/// Errors: those of ProcessRunner (MissingTool names the helper), Unavailable when no sandbox could be made at all,
/// MissingTool when the program cannot be started inside.
[[nodiscard]] Result<SandboxedOutcome> run_sandboxed(const std::string& helper, const SandboxView& view,
                                                     const std::string& report_file, ProcessRequest request,
                                                     ProcessRunner& runner, std::stop_token stop);

/// The one line that kgen-sandbox reports: isolation in words, or the Error it stands for.
[[nodiscard]] Result<std::string> parse_sandbox_report(const std::string& line, const std::string& program);

/// Which folders a program needs that lies at `program`: itself with its links, and its prefix when it is
/// PREFIX/bin/NAME and PREFIX is no home directory or the root.
[[nodiscard]] std::vector<std::string> toolchain_folders(const std::string& program, const std::string& home);

}  // namespace v0
}  // namespace kernelgen
