#pragma once

/// \file
/// Judge: the trusted side of an evaluation. It owns seeds, inputs, expected outputs and the comparison.

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace v0 {

/// The GPU that a judge and its runners work on.
struct JudgeDevice {
  /// GpuFacts::vendor.
  std::string vendor;
  std::string uuid;
  /// Model and driver: admissions hold for all devices with the same.
  std::string model{};
  /// Platform::choosing_variable.
  std::string variable{};
  std::uint64_t l2_bytes = 0;
  std::uint64_t memory_bytes = 0;
  /// Measured bandwidth of its memory; 0: unknown.
  double bytes_per_second = 0;
  /// GpuFacts::memory_sharing.
  std::string memory_sharing{};
};

/// A task, and the options under which it is run.
struct JudgeTask {
  TaskSource source;
  PrecisionClass precision = PrecisionClass::Strict;
  int threads = 1;
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  std::optional<double> rtol;
  std::optional<double> atol;
  /// The device; unset: the processor.
  std::optional<JudgeDevice> device;
  /// Limit of importing and building the task.
  std::chrono::milliseconds timeout{300'000};
};

/// The findings of a task's admission; the opaque part is cached by the worker.
struct Admission {
  /// JSON that admit() of another judge of the same task accepts, to skip the work. Empty where it would not serve
  /// another one: foreign processes left the device too little memory for all checks.
  std::string cached;
  std::vector<std::string> labels;
  /// False when the task cannot tell right answers from wrong ones; the labels say why.
  bool scored = true;
  /// Input distributions to test: "own" first.
  std::vector<std::string> distributions;
  /// A distribution that candidates are called on, but not judged by; "" if there is none.
  std::string probe;
  /// Number of weight sets to test. Calls are timed under the second one.
  int weight_sets = 2;
  Tolerance tolerance;
  /// "full", "partial: why" or "none: why".
  std::string float64;
  /// Bytes of inputs that the outputs depend on, which every right kernel must read. Unset where it was not measured.
  std::optional<std::uint64_t> sensitive_bytes;
};

/// A part of the exchange buffers, in bytes.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The layout of the exchange buffers, and the jobs that describe it to runners. The jobs are opaque to the worker.
struct ExchangeLayout {
  /// Size of the buffers in the host's memory.
  std::uint64_t bytes = 0;
  /// Size of the buffers in the device's memory, which the judge makes; 0 on a processor.
  std::uint64_t device_bytes = 0;
  /// Bytes of all inputs and of all outputs, which bound the cost of copies in a call.
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  /// Places of the outputs in the host's memory, in the order of the jobs; empty on a device.
  std::vector<ByteRange> outputs;
  /// Places for the tensors of a call, and the bytes from one place to the next. `outputs` are those of the first.
  int slots = 1;
  std::uint64_t slot_bytes = 0;
  std::string native_job;
  std::string python_job;
};

/// A memory file that is handed to the judge; see docs/protocol.md. Borrowed.
struct SharedMemory {
  int fd = -1;
  std::uint64_t bytes = 0;
};

/// The kind of inputs to put into the exchange buffers.
enum class Freshness {
  New,     ///< drawn anew under a seed of the judge's own
  Canary,  ///< a set used before, with secret random lines replaced
  Repeat,  ///< the very same inputs once more; outputs poisoned again
};

/// Calls in one command, one right after the other, each on inputs of its own. Their tensors are in slots in a row from
/// `slot` on; after the last slot comes the first.
struct CallSeries {
  int slot = 0;
  int calls = 1;
};

/// Calls that are ready: inputs are in place, outputs poisoned, and the judge knows the expected answers.
struct PreparedCall {
  std::uint64_t seed = 0;
  std::uint64_t forward_seed = 0;
  CallSeries series;
  /// Time of the reference calls that gave the expected answers, all together; 0 if the answers were known already or
  /// come after the candidate.
  std::int64_t reference_ns = 0;
  /// True if all inputs are new. A judge draws new ones in a secret share of the canary calls, too.
  bool fresh = true;
  /// True if heat or power slows the device down.
  bool throttled = false;
  /// The clock of its multiprocessors; 0 where it is unknown, and on a processor.
  std::int64_t clock_mhz = 0;
};

/// Whether the reference is called before or after the candidate. The second of the two calls finds the device warmer,
/// because a heavy call throttles the next one. Sent by name.
enum class ReferenceOrder {
  Before,  ///< the candidate
  After,   ///< the candidate, where nothing of the answer is needed before it
  Never,   ///< its answer is not wanted; nothing of the call is checked
};

/// The form of a call.
enum class CallMode {
  Eager,  ///< a plain call, as a user makes it
  Graph,  ///< the replay of a captured graph: device time without the host's
};

/// A call to be made ready. The reference is called, and timed, in the given mode.
struct CallRequest {
  std::string distribution;
  Freshness freshness = Freshness::New;
  CallMode mode = CallMode::Eager;
  ReferenceOrder order = ReferenceOrder::Before;
  /// Number of calls in a series. A judge prepares fewer where there are fewer slots.
  int calls = 1;
  /// Whether the candidate gets what forward() draws, as native ones do.
  bool gives_draws = true;
  friend bool operator==(const CallRequest&, const CallRequest&) = default;
};

/// Times of the reference, eager, as a graph or compiled, while nothing else runs.
struct ReferenceSamples {
  std::vector<std::int64_t> samples_ns;
  /// Why there are no samples: the reference cannot be captured or compiled, or its answers differ then.
  std::string reason;
};

/// Limits on the number of timed calls and on their total time.
struct SamplingLimits {
  int min_samples = 1;
  int max_samples = 1000;
  std::chrono::milliseconds budget{0};
  /// Number of calls in a series; a sample is the time of one of them.
  int calls = 1;
};

/// A request to build the reference with torch.compile.
struct CompileReferenceRequest {
  BaselineKind kind = BaselineKind::Compile;
  /// Limit of compiling, and of comparing the first calls with the eager reference's.
  std::chrono::milliseconds timeout{300'000};
  /// The directory in which compilers keep their builds; created if it does not exist.
  std::string cache_dir;
};

/// The part of the outputs that is compared: all of it, or secret blocks.
enum class CheckMode { Full, Sample };

/// The judge's comparison of the outputs in the exchange buffers.
struct CheckResult {
  Outcome outcome;
  std::vector<OutputError> outputs;
  /// Time of the reference call if it came after the candidate; else 0.
  std::int64_t reference_ns = 0;
  /// True if heat or power slowed the device down during that call.
  bool throttled = false;
};

/// What a call and a replay take at least beyond their share of a series that is replayed as one graph, in nanoseconds:
/// until the first kernel runs and after the last one's end. Measured with an operation that does next to nothing.
struct LaunchTimes {
  std::int64_t call_ns = 0;
  std::int64_t replay_ns = 0;
};

/// The exchange buffers on a device.
struct DeviceArena {
  /// Descriptor of the buffers, owned by the judge.
  int fd = -1;
  /// Bytes of device memory that the judge keeps while it is idle.
  std::uint64_t kept_bytes = 0;
  LaunchTimes launch;
};

/// The use of a device by foreign processes. Counts are since the judge started.
struct DeviceUse {
  std::uint64_t total_bytes = 0;
  /// Bytes that are neither free nor held by the judge, its helper processes or a standby runner. Other judges' count.
  std::uint64_t foreign_bytes = 0;
  /// Bytes that are left for a candidate.
  std::uint64_t runner_bytes = 0;
  /// The number of probes: requests for a little work while no process of ours uses the device. A delayed one had to
  /// wait for foreign work.
  std::int64_t probes = 0;
  std::int64_t delayed_probes = 0;
};

/// How a ModelNew gets the weights of a set.
struct WeightDraw {
  /// The seed for its construction.
  std::uint64_t seed = 0;
  /// Number of the weight transform, which the worker hands on to the runner; 0: the initial distribution.
  std::uint64_t transform = 0;
};

/// The reference's tensors in a ModelNew.
struct WeightMatch {
  WeightReport report;
  /// True if the weight transform missed a constant, which the ModelNew holds elsewhere than in a parameter.
  bool missed_constants = false;
};

/// How the weights of a ModelNew match; or the outcome of an export that no runner would have written.
using StateMatch = std::variant<WeightMatch, Outcome>;

/// Time that the threads of a judge ran on processors, and waited for one, while it answered requests.
struct ProcessorTime {
  std::chrono::nanoseconds running{};
  std::chrono::nanoseconds waiting{};
};

/// The judge of one task on one device. One thread at a time. Errors mean that the task or the machinery failed.
class Judge {
 public:
  virtual ~Judge() = default;
  virtual Result<TaskDescription> load(const JudgeTask& task, std::stop_token stop) = 0;
  virtual Result<Admission> admit(const std::optional<std::string>& cached, std::stop_token stop) = 0;
  virtual Result<ExchangeLayout> layout() = 0;
  /// Maps the exchange buffers; on a device, makes those in its memory. Nothing on a processor.
  virtual Result<std::optional<DeviceArena>> attach(const SharedMemory& exchange) = 0;
  /// Makes a weight set, counted from 1, the current one and writes it into the exchange buffers.
  virtual Result<WeightDraw> use_weights(int set) = 0;
  /// Matches what a ModelNew exported for a weight set (1 or 2). The report is complete after the second set.
  virtual Result<StateMatch> match_state(int set, const SharedMemory& state) = 0;
  virtual Result<PreparedCall> prepare_call(const CallRequest& request) = 0;
  /// `next` is the request that will most likely be prepared next: a judge may begin with it while the caller reads the
  /// result.
  virtual Result<CheckResult> check(CheckMode mode, const std::optional<CallRequest>& next) = 0;
  /// Processor time of its requests so far; nothing where it is unknown.
  [[nodiscard]] virtual std::optional<ProcessorTime> processor_time() const = 0;
  /// The use of its device by foreign processes; nothing on a processor.
  virtual Result<std::optional<DeviceUse>> device_use() = 0;
  /// Times the reference while nothing else runs.
  virtual Result<ReferenceSamples> time_reference(CallMode mode, const SamplingLimits& sampling) = 0;
  /// Compiles a copy of the reference and compares it with the eager one. Returns the reason why it cannot be timed, or
  /// "". Compiling changes the judge's process: afterwards it is good for time_compiled and nothing else.
  virtual Result<std::string> compile_reference(const CompileReferenceRequest& request, std::stop_token stop) = 0;
  /// Times the compiled reference like time_reference(), and compares it once more.
  virtual Result<ReferenceSamples> time_compiled(const SamplingLimits& sampling, std::stop_token stop) = 0;
};

}  // namespace v0
}  // namespace kernelgen
