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

/// What a child process may use. Unset means: as the parent.
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
  /// The whole environment of the child; see clean_environment().
  std::map<std::string, std::string> environment{};
  /// Empty: that of the caller.
  std::string working_directory{};
  /// Given on standard input, as a file in memory; /dev/null when unset.
  std::optional<std::string> standard_input{};
  std::chrono::milliseconds timeout{60'000};
  /// Between TERM and KILL of the group.
  std::chrono::milliseconds grace{200};
  /// Kept per stream; the rest is drained and dropped.
  std::size_t max_output_bytes = 4u << 20;
  ResourceLimits limits{};
};

/// How a process ended. Finished means its leader was reaped, whoever still holds its pipes.
struct ProcessOutcome {
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool timed_out = false;
  std::string standard_output;
  std::string standard_error;
  bool output_truncated = false;
  std::chrono::nanoseconds duration{0};
  [[nodiscard]] bool success() const { return exit_code == 0 && !timed_out; }
  /// "exit 1", "signal 9 (SIGKILL)", "timed out after 2.0 s".
  [[nodiscard]] std::string to_line() const;
};

/// Runs programs. Thread-safe.
class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  /// An Error only when the program could not be started (MissingTool, PermissionDenied, ...) or on cancellation.
  virtual Result<ProcessOutcome> run(const ProcessRequest& request, std::stop_token stop) = 0;
};

/// Runs programs on this machine. Installs no signal handler, waits for no child but its own, never raises SIGPIPE;
/// the calling thread does all the work. A process that leaves its group (setsid) is not followed.
[[nodiscard]] std::unique_ptr<ProcessRunner> make_process_runner();

/// The caller's environment reduced to what compilers and Python need (PATH, HOME, LANG, TMPDIR, CUDA_*, ...).
/// Anything that looks like a secret (*_KEY, *_TOKEN, *SECRET*, *PASSWORD*) is left out.
[[nodiscard]] std::map<std::string, std::string> clean_environment(const std::map<std::string, std::string>& from);
/// The environment of this process, as a map.
[[nodiscard]] std::map<std::string, std::string> current_environment();

/// Where a program lies: `name` itself when it has a slash, else the first match on the PATH of `environment`.
/// Errors: MissingTool, or PermissionDenied when only files were found that may not be executed.
[[nodiscard]] Result<std::string> find_program(const std::string& name,
                                               const std::map<std::string, std::string>& environment);

}  // namespace v0
}  // namespace kernelgen
