#pragma once

/// \file
/// A runner in a sandboxed process of its own, spoken to in the records of apps/runner/runner_protocol.h.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <stop_token>

#include <kernelgen/core/result.hpp>

#include "bench/build_cache.hpp"
#include "bench/runner.hpp"
#include "support/unique_fd.hpp"

namespace kernelgen {
inline namespace v0 {

/// The worker's ends of the connection to a runner that was just started.
struct RunnerConnection {
  UniqueFd control;  ///< SOCK_SEQPACKET
  UniqueFd status;   ///< read end of the supervisor's pipe
};

/// Both ends: the worker's, and those of the process that becomes the runner.
struct RunnerEnds {
  RunnerConnection ours;
  UniqueFd control;
  UniqueFd status;
};
[[nodiscard]] Result<RunnerEnds> make_runner_ends();

/// A runner, or a builder, whose HELLO may still be on its way. The destructor ends it with all that it started.
class RunnerProcess : public Runner {
 public:
  /// Waits until the runner is in its sandbox. Unavailable with the reason when it never is.
  virtual Result<void> wait_ready(std::chrono::milliseconds timeout) = 0;
  /// Makes later calls end early, with a RunnerDeath, when the token is triggered.
  virtual void cancel_with(std::stop_token stop) = 0;
  /// False when it died while it stood by.
  [[nodiscard]] virtual bool alive() = 0;
  /// Asks a builder, once, to build; its builds are kept under the job's key.
  virtual RunnerAnswer build(const BuildJob& job, const StepLimits& limits) = 0;
};
/// `builds` is the place where the candidate may keep what it builds; nullptr: it may not.
[[nodiscard]] std::unique_ptr<RunnerProcess> make_runner_process(RunnerConnection connection,
                                                                 std::unique_ptr<BuildCache> builds = nullptr);

}  // namespace v0
}  // namespace kernelgen
