#pragma once

#include <optional>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// How a process ended. Neither member is set when another part of the program reaped it, for instance by ignoring
/// SIGCHLD or waiting for all children.
struct ExitStatus {
  std::optional<int> exit_code;
  std::optional<int> signal;
  [[nodiscard]] bool success() const { return exit_code == 0; }
  /// "exit 1", "signal 9 (SIGKILL)", "status unknown".
  [[nodiscard]] std::string to_line() const;
  bool operator==(const ExitStatus&) const = default;
};

/// Decodes the status that waitpid() stores.
[[nodiscard]] ExitStatus exit_status_from_wait(int wait_status);

/// "SIGKILL"; "signal 64" for one without a name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace v0
}  // namespace kernelgen
