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
#include <kernelgen/judge/judge.hpp>

namespace kernelgen {
inline namespace v0 {

/// What a runner says went wrong; the numbers are those of apps/runner/runner_protocol.h.
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

/// What a runner answered. Nothing in it is believed without a bound of the worker's own.
struct RunnerReply {
  RunnerStatus status = RunnerStatus::Ok;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::array<std::uint64_t, 4> arg{};
  /// Sanitized.
  std::string text;
  /// The worker's own clock from handing over the token to the answer.
  std::int64_t host_ns = 0;

  /// Of a call on a device: between two events around it, and from when its stream was done until the device was.
  [[nodiscard]] std::int64_t device_ns() const { return static_cast<std::int64_t>(arg[3]); }
  [[nodiscard]] std::int64_t late_ns() const { return static_cast<std::int64_t>(arg[1]); }
};

/// A runner that ended or was ended instead of answering.
struct RunnerDeath {
  bool timed_out = false;
  /// It was ended because processes of the candidate ran beside it.
  bool has_company = false;
  std::optional<int> exit_code;
  /// As its crash handler said, else as the system says.
  std::optional<int> signal;
  /// Where it crashed, if its crash handler got to say so. Sanitized, not believed.
  std::string text;
  bool allocation_failed = false;
};

using RunnerAnswer = std::variant<RunnerReply, RunnerDeath>;

/// What a candidate's code is.
enum class CodeKind { SharedObject, PythonSource };

/// What a runner is given to load.
struct RunnerJob {
  CodeKind code = CodeKind::SharedObject;
  /// The job (text for native runners, JSON for Python runners), the exchange buffers and the candidate (shared object
  /// or source), as descriptors of the worker. Borrowed.
  int description_fd = -1;
  int exchange_fd = -1;
  int code_fd = -1;
  /// The exchange buffers on the device, where there is one.
  std::optional<int> device_fd;
  /// Whose builds these are: Python candidates find what they built under the same key before.
  std::string builds_key;
  std::uint64_t memory_limit = 0;
  /// The bytes of the exchange buffers, and where the outputs lie there.
  std::uint64_t exchange_bytes = 0;
  std::vector<Stretch> outputs;
};

/// Whether fresh memory of the candidate is filled with garbage, which takes time within the call.
enum class Allocations { Plain, Poisoned };

/// One candidate in a process of its own. One thread at a time.
class Runner {
 public:
  virtual ~Runner() = default;
  /// An exchange in which nothing is called: what the worker's clock shows for one besides the candidate. On a device
  /// its cache is flushed, and its clock started and stopped, as around a call.
  virtual RunnerAnswer echo(std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer load(const RunnerJob& job, std::chrono::milliseconds timeout) = 0;
  /// ModelNew only: builds the module under a seed; arg[0] is the size of its state.
  virtual RunnerAnswer construct(int set, std::uint64_t seed, std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer export_state(int set, int state_fd, std::uint64_t capacity,
                                    std::chrono::milliseconds timeout) = 0;
  /// Native only: kgen_prepare with the weights now in the exchange buffers.
  virtual RunnerAnswer prepare(int set, std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer run(int set, std::uint64_t forward_seed, Allocations allocations, CallMode mode,
                           std::chrono::milliseconds timeout) = 0;
  virtual RunnerAnswer destroy(int set, std::chrono::milliseconds timeout) = 0;
  /// Whether the worker takes a Python candidate's outputs itself, after its clock has seen the answer. If not, the
  /// runner copies them before it answers, and that clock has to allow for it.
  [[nodiscard]] virtual bool fetches_outputs() const = 0;
  /// What its sandbox lacks; "full" when nothing.
  [[nodiscard]] virtual std::string isolation() const = 0;
};

/// How a candidate's code is run.
enum class RunnerKind { Native, Python, PythonInterpreter };

/// A Python candidate that is to be built ahead: as RunnerJob has it.
struct BuildJob {
  int description_fd = -1;
  int code_fd = -1;
  std::string builds_key;
};

/// Hands out standby runners.
class RunnerSource {
 public:
  virtual ~RunnerSource() = default;
  /// Compiles what a Python candidate on a device will need, in a process that does not see the device, so that its
  /// runner, which holds the device alone, finds it. What fails here is done again, and told, there.
  virtual void build_ahead(const BuildJob& job, std::chrono::milliseconds timeout, std::stop_token stop) = 0;
  /// A runner of this kind will soon be taken: starts what takes long and returns at once.
  virtual void expect(RunnerKind kind) = 0;
  virtual Result<std::unique_ptr<Runner>> take(RunnerKind kind, std::stop_token stop) = 0;
};

}  // namespace v0
}  // namespace kernelgen
