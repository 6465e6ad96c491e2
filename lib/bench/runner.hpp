#pragma once

/// \file
/// Runner: the untrusted side of an evaluation, seen from the worker. One candidate, then it is killed.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/result.hpp>

#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// The status of a runner's reply; the numbers are those of apps/runner/runner_protocol.h.
enum class RunnerStatus : std::uint32_t {
  Ok = 0,
  Syntax = 1,
  Import = 2,
  Interface = 3,
  Failed = 4,
  Exception = 5,
  OutOfMemory = 6,
  Structure = 7,
  Workspace = 8,
  Protocol = 9,
  NotCapturable = 10,
  DeviceFault = 11,
};

/// A runner's reply. Nothing in it is believed without a bound of the worker's own.
struct RunnerReply {
  RunnerStatus status = RunnerStatus::Ok;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<std::uint64_t, 4> arg{};
  /// Sanitized.
  std::string text;
  /// The worker's own clock from sending the command to receiving the reply.
  std::int64_t host_ns = 0;
  /// How much of that time the candidate's own compilers took; see BuildClock.
  std::chrono::nanoseconds build_time{0};

  /// For a call on a device: the time between two events around it, and the time from the end of its stream to the end
  /// of all work on the device.
  [[nodiscard]] std::int64_t device_ns() const { return static_cast<std::int64_t>(arg[3]); }
  [[nodiscard]] std::int64_t late_ns() const { return static_cast<std::int64_t>(arg[1]); }
};

/// A runner that ended or was ended instead of answering.
struct RunnerDeath {
  bool timed_out = false;
  /// It was building when its time was over; see BuildClock.
  bool was_building = false;
  /// It was ended because the candidate had left processes beside it after a call.
  bool left_processes = false;
  std::optional<int> exit_code;
  /// The signal that its crash handler reported, else the one that the system reports.
  std::optional<int> signal;
  /// The place of the crash, if its crash handler reported one. Sanitized, not believed.
  std::string text;
  bool allocation_failed = false;
};

using RunnerAnswer = std::variant<RunnerReply, RunnerDeath>;

/// The form of a candidate's code.
enum class CodeKind { SharedObject, PythonSource };

/// The candidate and everything that a runner needs to load it.
struct RunnerJob {
  CodeKind code = CodeKind::SharedObject;
  /// The job (text for native runners, JSON for Python runners), the exchange buffers and the candidate (shared object
  /// or source), as descriptors of the worker. Borrowed.
  int description_fd = -1;
  int exchange_fd = -1;
  int code_fd = -1;
  /// The exchange buffers on the device, where there is one.
  std::optional<int> device_fd;
  /// The key of the candidate's kept builds: a Python candidate finds what it built under the same key before.
  std::string builds_key;
  std::uint64_t memory_limit = 0;
  /// The size of the exchange buffers, and the places of the outputs in them.
  std::uint64_t exchange_bytes = 0;
  std::vector<ByteRange> outputs;
};

/// Whether fresh memory of the candidate is filled with garbage, which takes time within the call.
enum class Allocations { Plain, Poisoned };

/// Limits of one step of a runner.
struct StepLimits {
  /// Wall-clock time, without the time in which the candidate's own compilers work.
  std::chrono::milliseconds call{0};
  /// Time in which the candidate's own compilers may work; 0 for steps in which nothing is built.
  std::chrono::milliseconds build{0};
};

/// One candidate in a process of its own. One thread at a time.
class Runner {
 public:
  virtual ~Runner() = default;
  /// An exchange in which nothing is called; its time is the overhead that the worker's clock shows besides the
  /// candidate. On a device the cache is flushed, and the clock started and stopped, as around a call.
  virtual RunnerAnswer echo(std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer load(const RunnerJob& job, const StepLimits& limits) = 0;
  /// ModelNew only: constructs the module under a seed; arg[0] is the size of its state.
  virtual RunnerAnswer construct(int set, std::uint64_t seed, const StepLimits& limits) = 0;
  virtual RunnerAnswer export_state(int set, int state_fd, std::uint64_t capacity,
                                    std::chrono::milliseconds timeout) = 0;
  /// Native only: kgen_prepare with the weights now in the exchange buffers.
  virtual RunnerAnswer prepare(int set, std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer run(int set, std::uint64_t forward_seed, Allocations allocations, CallMode mode,
                           const StepLimits& limits) = 0;
  virtual RunnerAnswer destroy(int set, std::chrono::milliseconds timeout) = 0;
  /// Whether the worker reads a Python candidate's outputs itself, after its clock has seen the answer. If not, the
  /// runner copies them before it answers, and the clock has to allow for that.
  [[nodiscard]] virtual bool fetches_outputs() const = 0;
  /// The walls that its sandbox lacks; "full" when it has all.
  [[nodiscard]] virtual std::string isolation() const = 0;
};

/// The kind of process that runs a candidate.
enum class RunnerKind { Native, Python, PythonInterpreter };

/// A Python candidate that is to be built ahead; the members are those of RunnerJob.
struct BuildJob {
  int description_fd = -1;
  int code_fd = -1;
  std::string builds_key;
  std::uint64_t memory_limit = 0;
};

/// How building ahead ended.
enum class BuildAhead {
  Done,      ///< or it failed: the runner will do it again, and report what fails
  TimedOut,  ///< a compiler was still at work, or hung, when the build limit was reached
};

/// Hands out standby runners.
class RunnerSource {
 public:
  virtual ~RunnerSource() = default;
  /// Builds what a Python candidate needs before its first call ends, in a process of low priority that has no device.
  /// The builds are kept, so that the runner, which occupies the device, finds them.
  virtual BuildAhead build_ahead(const BuildJob& job, const StepLimits& limits, std::stop_token stop) = 0;
  /// Announces that a runner of this kind will soon be taken: starts what takes long, and returns at once.
  virtual void expect(RunnerKind kind) = 0;
  virtual Result<std::unique_ptr<Runner>> take(RunnerKind kind, std::stop_token stop) = 0;
};

}  // namespace v0
}  // namespace kernelgen
