#pragma once

/// \file
/// A runner in a sandboxed process of its own, spoken to in the records of apps/runner/runner_protocol.h.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <stop_token>

#include <kernelgen/core/result.hpp>

#include "bench/kept_builds.hpp"
#include "bench/runner.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// Our ends of a runner that was just started.
struct RunnerConnection {
  UniqueFd control;  ///< SOCK_SEQPACKET
  UniqueFd status;   ///< read end of the supervisor's pipe
};

/// The other ends, for the process that becomes the runner.
struct RunnerEnds {
  RunnerConnection ours;
  UniqueFd control;
  UniqueFd status;
};
[[nodiscard]] Result<RunnerEnds> make_runner_ends();

/// A runner, or a builder, whose HELLO may still be on its way. The destructor ends it with all that it started.
class RunnerProcess : public Runner {
 public:
  /// Waits for the sandbox to stand. Unavailable with what is known when it never does.
  virtual Result<void> wait_ready(std::chrono::milliseconds timeout) = 0;
  /// Later calls end early, with a RunnerDeath, when this is triggered.
  virtual void cancel_with(std::stop_token stop) = 0;
  /// False when it died while it stood by.
  [[nodiscard]] virtual bool alive() = 0;
  /// Of a builder, once: what it builds stays below the key.
  virtual RunnerAnswer build(const BuildJob& job, std::chrono::milliseconds timeout) = 0;
};
/// `builds`: where its candidate may keep what it builds; nullptr: nowhere.
[[nodiscard]] std::unique_ptr<RunnerProcess> make_runner_process(RunnerConnection connection,
                                                                 std::unique_ptr<BuildPlace> builds = nullptr);

}  // namespace v0
}  // namespace kernelgen
