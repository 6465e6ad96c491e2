#pragma once

/// \file
/// Judge: the trusted side of an evaluation. It owns seeds, inputs, expected outputs and the comparison.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/cpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The GPU that a judge and its runners work on.
struct JudgeDevice {
  /// "nvidia"; "fake" in tests.
  std::string vendor;
  std::string uuid;
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  /// What its memory does, measured; 0: unknown.
  double bytes_per_second = 0;
};

/// Which task, and how it is to be run.
struct JudgeTask {
  TaskSource source;
  PrecisionClass precision = PrecisionClass::Strict;
  int threads = 1;
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  std::optional<double> rtol;
  std::optional<double> atol;
  /// Unset: the processor.
  std::optional<JudgeDevice> device;
  /// Importing and building the task may take this long.
  std::chrono::milliseconds timeout{300'000};
};

/// What admission found out; the opaque part is cached by the worker.
struct Admission {
  /// JSON; hand it back to admit() of another judge of the same task to skip the work.
  std::string cached;
  std::vector<std::string> labels;
  /// False when the task cannot tell right answers from wrong ones; the labels say why.
  bool scored = true;
  /// Input distributions to test: "own" first.
  std::vector<std::string> distributions;
  Tolerance tolerance;
  /// "full", "partial: why" or "none: why".
  std::string float64;
  /// Bytes of inputs that the outputs depend on: what any right kernel must read. Unset where nobody looked.
  std::optional<std::uint64_t> sensitive_bytes;
};

/// A part of the exchange buffers, in bytes.
struct Stretch {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// How the exchange buffers are laid out, and what the runners are told about it. The jobs are opaque to the worker.
struct ExchangeLayout {
  /// Of the buffers in the host's memory.
  std::uint64_t bytes = 0;
  /// Of the buffers in the device's memory, which the judge makes; 0 on a processor.
  std::uint64_t device_bytes = 0;
  /// Bytes of all inputs and outputs; bounds what a call may cost in copies.
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  /// Where the outputs lie in the host's memory, in the order of the jobs; empty on a device.
  std::vector<Stretch> outputs;
  std::string native_job;
  std::string python_job;
};

/// A memory file that the judge opens by path; see docs/protocol.md.
struct SharedMemory {
  std::string path;
  std::uint64_t bytes = 0;
};

/// Which inputs to put into the exchange buffers.
enum class Freshness {
  New,     ///< drawn anew under a seed of the judge's own
  Canary,  ///< a set used before, with secret random lines replaced
  Repeat,  ///< the very same inputs once more; outputs poisoned again
};

/// Inputs are in place, outputs poisoned, the expected answer is known to the judge.
struct StagedCase {
  std::uint64_t seed = 0;
  std::uint64_t forward_seed = 0;
  /// The reference call that gave the expected answer. 0 when it was known already, or comes after.
  std::int64_t reference_ns = 0;
  /// Whether all inputs are new. A judge draws new ones in a secret share of the canary calls, too.
  bool fresh = true;
  /// Whether the device runs slower now than it could: heat, power.
  bool throttled = false;
  /// The clock of its multiprocessors; 0 where nobody tells, and on a processor.
  std::int64_t clock_mhz = 0;
};

/// When the reference is called for the expected answer. Whoever is called second finds the device warmer: a heavy call
/// throttles the next one.
enum class ReferenceTurn {
  Before,  ///< the candidate
  After,   ///< the candidate, where nothing of the answer is needed before it
};

/// How a call is made.
enum class CallMode {
  Eager,  ///< as a user calls it
  Graph,  ///< as a captured graph that is replayed: device time without the host's
};

/// A call to be made ready: the reference is called, and timed, in that mode.
struct StageRequest {
  std::string distribution;
  Freshness freshness = Freshness::New;
  CallMode mode = CallMode::Eager;
  ReferenceTurn turn = ReferenceTurn::Before;
  friend bool operator==(const StageRequest&, const StageRequest&) = default;
};

/// Times of the reference with nothing else running.
struct Baseline {
  std::vector<std::int64_t> samples_ns;
  /// Why there are none: the reference cannot be captured, or not be compiled, or gives other answers then.
  std::string reason;
};

/// How many calls to time.
struct BaselineSampling {
  int min_samples = 1;
  int max_samples = 1000;
  std::chrono::milliseconds budget{0};
};

/// The reference as torch.compile builds it.
struct CompileReferenceRequest {
  BaselineKind kind = BaselineKind::Compile;
  /// Of compiling, and of comparing the first calls with the eager reference's.
  std::chrono::milliseconds timeout{300'000};
  /// Where compilers keep what they made; made when missing.
  std::string cache_dir;
};

/// How much of the outputs to compare.
enum class CheckMode { Full, Canary };

/// What the judge found in the exchange buffers.
struct CheckResult {
  Outcome outcome;
  std::vector<OutputError> outputs;
  /// The reference call, where it came after; else 0.
  std::int64_t reference_ns = 0;
  /// As StagedCase has it, at that call.
  bool throttled = false;
};

/// The exchange buffers on a device.
struct DeviceArena {
  /// Stays the judge's.
  int fd = -1;
  /// Bytes of device memory that the judge keeps while nobody uses it.
  std::uint64_t kept_bytes = 0;
};

/// What others have of a device. Counts are of the judge's whole life.
struct DeviceUse {
  std::uint64_t total_bytes = 0;
  /// Neither free nor the judge's, nor of a process that belongs to it or waits for a candidate. Other judges' count.
  std::uint64_t others_bytes = 0;
  /// What is left for a candidate.
  std::uint64_t runner_bytes = 0;
  /// How often a process of ours wanted the device while nobody of ours used it, and how often it waited for somebody.
  std::int64_t turns = 0;
  std::int64_t late_turns = 0;
};

/// One task on one device. One thread at a time. Errors mean that the task or the machinery failed.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual Result<TaskDescription> load(const JudgeTask& task, std::stop_token stop) = 0;
  virtual Result<Admission> admit(const std::optional<std::string>& cached, std::stop_token stop) = 0;
  virtual Result<ExchangeLayout> layout() = 0;
  /// Nothing on a processor.
  virtual Result<std::optional<DeviceArena>> attach(const SharedMemory& exchange) = 0;
  /// Makes a weight set (1 or 2) the current one and writes it into the exchange buffers; gives its construction seed.
  virtual Result<std::uint64_t> use_weights(int set) = 0;
  /// Matches what a ModelNew exported for a weight set. The report is complete after the second set.
  virtual Result<WeightReport> match_state(int set, const SharedMemory& state) = 0;
  virtual Result<StagedCase> stage(const StageRequest& request) = 0;
  /// `next` is what will most likely be staged now: a judge may begin with it while the caller reads the result.
  virtual Result<CheckResult> check(CheckMode mode, const std::optional<StageRequest>& next) = 0;
  /// What it has got of the processors so far. Nothing where nobody knows.
  [[nodiscard]] virtual std::optional<ProcessorTime> processor_time() const = 0;
  /// Nothing on a processor.
  virtual Result<std::optional<DeviceUse>> device_use() = 0;
  /// Times the reference with nothing else running.
  virtual Result<Baseline> baseline(CallMode mode, const BaselineSampling& sampling) = 0;
  /// Compiles a copy of the reference and compares it with the eager one; gives the reason why there is none to be
  /// timed, or "". From then on the judge's process is not what it was: good for compiled_baseline and nothing else.
  virtual Result<std::string> compile_reference(const CompileReferenceRequest& request, std::stop_token stop) = 0;
  /// Times the compiled reference like `baseline`, and compares it once more.
  virtual Result<Baseline> compiled_baseline(const BaselineSampling& sampling, std::stop_token stop) = 0;
};

}  // namespace v0
}  // namespace kernelgen
