#pragma once

/// \file
/// A runner in a sandboxed process, which speaks the protocol of apps/runner/runner_protocol.h.

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

/// Both ends of the connection: the worker's, and those of the process that becomes the runner.
struct RunnerSockets {
  RunnerConnection ours;
  UniqueFd control;
  UniqueFd status;
};
[[nodiscard]] Result<RunnerSockets> make_runner_sockets();

/// A runner, or a builder, that may still be starting. The destructor ends it with all processes that it started.
class RunnerProcess : public Runner {
 public:
  /// Waits until the runner is in its sandbox. Unavailable, with the reason, if it fails to start.
  virtual Result<void> wait_ready(std::chrono::milliseconds timeout) = 0;
  /// Makes later calls end early, with a RunnerDeath, when the token is triggered.
  virtual void cancel_with(std::stop_token stop) = 0;
  /// False if it died on standby.
  [[nodiscard]] virtual bool alive() = 0;
  /// Makes a builder build, once; the builds are cached under the job's key.
  virtual RunnerAnswer build(const BuildJob& job, const StepLimits& limits) = 0;
  /// Makes a builder compile for a GPU that is not here, once; cached builds of the job's key are used.
  virtual RunnerAnswer compile_for(const CompileForJob& job, const StepLimits& limits) = 0;
};
/// Makes a runner. `builds` is the directory for the candidate's builds; nullptr: there is none.
[[nodiscard]] std::unique_ptr<RunnerProcess> make_runner_process(RunnerConnection connection,
                                                                 std::unique_ptr<BuildCache> builds = nullptr);

}  // namespace v0
}  // namespace kernelgen
