#pragma once

/// \file
/// Runner: the untrusted side of an evaluation, as the worker sees it. It runs one candidate and is then killed.

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
#include <kernelgen/core/record.hpp>
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

/// A runner's reply. The worker trusts nothing in it without a bound of its own.
struct RunnerReply {
  RunnerStatus status = RunnerStatus::Ok;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<std::uint64_t, 4> arg{};
  /// Sanitized.
  std::string text;
  /// The worker's own clock from before the runner is woken to its reply.
  std::int64_t host_ns = 0;
  /// The part of that time in which the candidate's own compilers worked; see BuildClock.
  std::chrono::nanoseconds build_time{0};
  /// In a rehearsal: how long the runner and the worker waited for a processor meanwhile, because of other work.
  std::int64_t waited_ns = 0;
  /// What a function of a native candidate returned; 0 where none did.
  int returned = 0;

  /// Times of a call on a device: between two events around it, and from the end of its stream to the end of all work
  /// on the device.
  [[nodiscard]] std::int64_t device_ns() const { return static_cast<std::int64_t>(arg[3]); }
  [[nodiscard]] std::int64_t off_stream_ns() const { return static_cast<std::int64_t>(arg[1]); }
};

/// A runner that ended or was ended instead of answering.
struct RunnerDeath {
  bool timed_out = false;
  /// True if it was building when its time was over; see BuildClock.
  bool was_building = false;
  /// True if it was ended because processes of the candidate were left after a call.
  bool left_processes = false;
  /// True if it was ended because an output lay in memory that was not its own; `text` names both.
  bool has_foreign_memory = false;
  std::optional<int> exit_code;
  /// The signal that its crash handler reported, else the one that the system reports.
  std::optional<int> signal;
  /// The place of the crash, if its crash handler reported one. Sanitized and not trusted.
  std::string text;
  bool allocation_failed = false;
  /// True if the device's runtime ended it because of a fault, which `text` tells.
  bool has_device_fault = false;
};

using RunnerAnswer = std::variant<RunnerReply, RunnerDeath>;

/// The form of a candidate's code.
enum class CodeKind { SharedObject, PythonSource };

/// What a runner needs before it gets a candidate.
struct RunnerJob {
  /// The job (text for native runners, JSON for Python runners) and the exchange buffers, as descriptors of the worker.
  /// Borrowed.
  int description_fd = -1;
  int exchange_fd = -1;
  /// The exchange buffers on the device, where there is one.
  std::optional<int> device_fd;
  /// Number of processors that the candidate's calls may use; 0: all. On a device, its host code is not bound.
  int processors = 0;
  /// True if each thread of the candidate gets a processor of its own, where there are as many; for timed calls.
  bool spreads_threads = false;
  /// The size of the exchange buffers, and the places of the outputs in them.
  std::uint64_t exchange_bytes = 0;
  std::vector<ByteRange> outputs;
  /// See ExchangeLayout.
  int slots = 1;
  std::uint64_t slot_bytes = 0;
};

/// A candidate as a runner loads it.
struct RunnerCode {
  CodeKind kind = CodeKind::SharedObject;
  /// The shared object or the source. Borrowed.
  int fd = -1;
  /// The key of the candidate's cached builds: a Python candidate finds its earlier builds with the same key.
  std::string builds_key;
  std::uint64_t memory_limit = 0;
};

/// Whether new allocations of the candidate are filled with garbage, which takes time within the call.
enum class Allocations { Plain, Poisoned };

/// Where a ModelNew may hold weights that a constructor fills with a constant.
enum class ConstantWeights {
  Parameters,  ///< in parameters and running statistics only, as modules usually do
  Everywhere,  ///< in other buffers and attributes as well
};

/// Limits of one step of a runner.
struct StepLimits {
  /// Wall-clock limit, without the time in which the candidate's own compilers work; where there is a limit for these,
  /// also without the time in which other work had the processors, see BuildClock.
  std::chrono::milliseconds call{0};
  /// Limit on the time in which the candidate's own compilers work; 0 for steps in which nothing is built.
  std::chrono::milliseconds build{0};
};

/// What was seen of a call without a score.
struct ExaminedCall {
  /// Kernels on a device, or samples of the processor, in no order.
  std::vector<WorkActivity> activities;
  /// The time of one call; on a device, from the first activity to the last one's end.
  double call_ns = 0;
  /// Why nothing was seen.
  std::string unavailable;
};

/// A process that runs one candidate. One thread at a time.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual RunnerAnswer open(const RunnerJob& job, std::chrono::milliseconds timeout) = 0;
  /// Makes calls of a function that does nothing, or on a processor works for a while. The part of the worker's time
  /// that the reply does not explain is the overhead of the series. Requires: open(), and no candidate is loaded.
  virtual RunnerAnswer rehearse(const CallSeries& series, CallMode mode, std::chrono::nanoseconds work,
                                std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer load(const RunnerCode& code, const StepLimits& limits) = 0;
  /// Constructs the module (ModelNew only); arg[0] is the size of its state.
  virtual RunnerAnswer construct(int set, const WeightDraw& draw, ConstantWeights constants,
                                 const StepLimits& limits) = 0;
  virtual RunnerAnswer export_state(int set, int state_fd, std::uint64_t capacity,
                                    std::chrono::milliseconds timeout) = 0;
  /// Calls kgen_prepare with the weights that are now in the exchange buffers (native candidates only).
  virtual RunnerAnswer prepare(int set, std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer run(int set, const PreparedCall& call, Allocations allocations, CallMode mode,
                           const StepLimits& limits) = 0;
  /// Calls the candidate again on the inputs of slot 0, to see what its calls execute. What it answers is no
  /// failure of the candidate. Requires: a run.
  virtual ExaminedCall examine(int set, std::uint64_t forward_seed, std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer destroy(int set, std::chrono::milliseconds timeout) = 0;
  /// Processor time that the runner has used outside of its exchanges since this was last called, in nanoseconds. It is
  /// stopped then, so this is the time until it stopped, or the work of a candidate that does not stay stopped.
  [[nodiscard]] virtual std::int64_t take_overrun_ns() = 0;
  /// The protections that its sandbox lacks; "full" if it has all.
  [[nodiscard]] virtual std::string isolation() const = 0;
};

/// The kind of process that runs a candidate.
enum class RunnerKind { Native, Python, PythonInterpreter };

/// A Python candidate to build ahead; the members are those of RunnerJob.
struct BuildJob {
  int description_fd = -1;
  int code_fd = -1;
  std::string builds_key;
  std::uint64_t memory_limit = 0;
};

/// A Python candidate to compile for a GPU that is not here.
struct CompileForJob : BuildJob {
  /// The facts about the GPU as JSON, and the memory file that gets the list of kernels. Borrowed.
  int facts_fd = -1;
  int list_fd = -1;
  std::uint64_t list_bytes = 0;
};

/// The result of building ahead.
enum class BuildAhead {
  Done,      ///< or it failed: the runner will do it again, and report what fails
  TimedOut,  ///< a compiler was still at work, or hung, when the build limit was reached
};

/// Provides standby runners.
class RunnerSource {
 public:
  virtual ~RunnerSource() = default;
  /// Builds what a Python candidate needs for its first call, in a process of low priority without a device. The builds
  /// are cached for the runner, which occupies the device.
  virtual BuildAhead build_ahead(const BuildJob& job, const StepLimits& limits, std::stop_token stop) = 0;
  /// Compiles what a Python candidate launches in its first call for a GPU that is not here, in such a process, which
  /// lists the kernels. An Error says that no process could be started.
  virtual Result<RunnerAnswer> compile_for(const CompileForJob& job, const StepLimits& limits,
                                           std::stop_token stop) = 0;
  /// Begins to start a runner of this kind, which will be taken soon. Returns at once.
  virtual void prestart(RunnerKind kind) = 0;
  virtual Result<std::unique_ptr<Runner>> take(RunnerKind kind, std::stop_token stop) = 0;
};

}  // namespace v0
}  // namespace kernelgen
