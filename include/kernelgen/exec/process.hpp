#pragma once

/// \file
/// Runs programs: argument vectors, own process group, deadlines owned by the parent, capped output.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Limits of a child's resources. Unset: the parent's limits.
struct ResourceLimits {
  std::optional<std::uint64_t> address_space_bytes{};
  std::optional<std::uint64_t> file_size_bytes{};
  std::optional<std::uint64_t> cpu_seconds{};
  /// Core dumps are off unless this is set.
  std::optional<std::uint64_t> core_bytes{};
};

/// One program to run.
struct ProcessRequest {
  /// argv; the first entry is looked up on the PATH of `environment` unless it has a slash.
  std::vector<std::string> command{};
  /// The whole environment of the program; see clean_environment().
  std::map<std::string, std::string> environment{};
  /// Empty: the caller's.
  std::string working_directory{};
  /// Text that the program reads from standard input; /dev/null when unset.
  std::optional<std::string> standard_input{};
  std::chrono::milliseconds timeout{60'000};
  /// Time between TERM and KILL of the group.
  std::chrono::milliseconds grace{200};
  /// Bytes that are kept of each stream; the rest is drained and dropped.
  std::size_t max_output_bytes = 4u << 20;
  ResourceLimits limits{};
};

/// How a program ended. It has ended when its leader was reaped, also when another process still holds its pipes.
struct ProcessOutcome {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool timed_out = false;
  std::string standard_output;
  std::string standard_error;
  bool output_truncated = false;
  std::chrono::nanoseconds duration{0};
  /// It ended by itself with exit code 0.
  [[nodiscard]] bool success() const { return exit_code == 0 && !timed_out; }
  /// "exit 1", "signal 9 (SIGKILL)", "timed out after 2.0 s".
  [[nodiscard]] std::string to_line() const;
};

/// Runs programs. Thread-safe.
class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  /// Errors: the program could not be started (MissingTool, PermissionDenied, ...), or Cancelled.
  virtual Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) = 0;
};

/// Makes a runner for this machine. It installs no signal handler, waits for no child but its own, never raises
/// SIGPIPE, and does all its work in the calling thread. A process that leaves its group (setsid) is not followed.
[[nodiscard]] std::unique_ptr<ProcessRunner> make_process_runner();

/// The caller's environment reduced to what compilers and Python need (PATH, HOME, LANG, TMPDIR, CUDA_*, ...).
/// Anything that looks like a secret (*_KEY, *_TOKEN, *SECRET*, *PASSWORD*) is left out.
[[nodiscard]] std::map<std::string, std::string> clean_environment(const std::map<std::string, std::string>& from);
/// The environment of this process, as a map.
[[nodiscard]] std::map<std::string, std::string> current_environment();

/// Finds a program: `name` itself when it has a slash, else the first match on the PATH of `environment`.
/// Errors: MissingTool, or PermissionDenied when only files were found that may not be executed.
[[nodiscard]] Result<std::string> find_program(const std::string& name,
                                               const std::map<std::string, std::string>& environment);

}  // namespace v0
}  // namespace kernelgen
