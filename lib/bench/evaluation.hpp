#pragma once

/// \file
/// One evaluation, step by step. Everything with an effect is behind an interface, so that the order of the steps and
/// the decisions between them are tested without Python, compilers or devices.
///
///     compile ----+
///                 +--> build ahead -> a judge -> the device -> reference alone -> load -> weights -> own inputs
///     admit task -+                               -> transforms -> second weights -> timing -> work -> record
///
/// With EvaluationMode::CorrectnessOnly nothing is timed, and the device is shared.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/gpu.hpp>

#include "bench/prebuilt.hpp"
#include "bench/runner.hpp"
#include "judge/judge.hpp"
#include "support/slots.hpp"

namespace kernelgen {
inline namespace v0 {

class Sanitizers;

/// Times of the reference while no runner is alive. They stay with the judge, and are measured again if a later
/// evaluation finds the reference slower next to its candidate.
struct ReferenceTimes {
  std::vector<std::int64_t> calls_ns;
  /// The same in series of so many calls.
  std::map<int, std::vector<std::int64_t>> series_ns;
  /// Times of replays; unset until they were tried.
  std::optional<ReferenceSamples> replays;
  /// The requested baselines, including failures.
  std::map<BaselineKind, ReferenceSamples> compiled;
};

/// A request to time the reference as torch.compile builds it.
struct CompiledBaselineRequest {
  BaselineKind kind = BaselineKind::Compile;
  /// Time limit for compiling and comparing.
  std::chrono::milliseconds timeout{300'000};
  SamplingLimits sampling;
  /// DeviceBackends::machine.
  std::string machine;
};

/// The results of admitting a task. They hold for every later judge of the task.
struct AdmittedTask {
  TaskDescription description;
  Admission admission;
  ExchangeLayout layout;
};

class DeviceGate;

/// What an evaluation uses of one device. Everything borrowed must outlive the evaluation.
struct DeviceBackends {
  /// Unset: the processor.
  std::optional<GpuFacts> gpu;
  RunnerSource* runners = nullptr;
  DeviceGate* gate = nullptr;
  /// Lines that identify machine and device: a time is valid there only.
  std::string machine{};
};

/// An admitted task with its judge and its exchange buffers, for one evaluation at a time.
struct JudgeSession : AdmittedTask {
  /// The device, where it is another one than that of the task which was opened.
  std::optional<DeviceBackends> moved_to;
  /// Borrowed from the session's owner.
  Judge* judge = nullptr;
  int exchange_fd = -1;
  /// The exchange buffers on the device, where there is one.
  std::optional<int> device_fd;
  LaunchTimes launch;
  int threads = 1;
  /// Borrowed like the judge.
  ReferenceTimes* reference_times = nullptr;
  /// Bytes of its device that idle judges of other tasks hold.
  std::uint64_t idle_bytes = 0;
  /// False once the judge answered with an error: it is then not used again.
  bool healthy = true;
  /// Returns the judge to its owner.
  virtual ~JudgeSession() = default;
  /// Times the reference as torch.compile builds it, in a separate judge that ends afterwards, so that torch.compile
  /// cannot affect this session's judge. A cached time of the same machine is used. Busy when other work disturbed the
  /// measurement.
  virtual Result<ReferenceSamples> time_compiled(const CompiledBaselineRequest& request, std::stop_token stop) = 0;
};

/// The result of admitting a task beside others.
struct AdmissionBeside {
  std::optional<AdmittedTask> task;
  /// The device, where it is another one than that of the task.
  std::optional<DeviceBackends> moved_to{};
};

/// Opens sessions, one at a time for each device, with a warm judge where there is one. Work moves until its judge is
/// chosen: an equal device that has nothing to do may open a session in place of the task's own.
class JudgeSource {
 public:
  virtual ~JudgeSource() = default;
  /// Waits until the device has no other session and the request is the next in the queue, or until another device
  /// takes it over. `on_start` is called when that is over and a judge has to be started.
  virtual Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, const std::function<void()>& on_start,
                                                     std::stop_token stop) = 0;
  /// Opens a session on the task's device at once, or returns null if another one is open or waited for.
  virtual Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) = 0;
  /// Admits a task beside others; no judge is used meanwhile. It may wait, and move. Nothing where the task needs the
  /// device for itself, or no other task waits. `on_start` is as in open().
  virtual Result<AdmissionBeside> admit(const JudgeTask& task, const std::function<void()>& on_start,
                                        std::stop_token stop) = 0;
  /// The results of admitting a task before, on its device or an equal one.
  virtual std::optional<AdmittedTask> known(const JudgeTask& task) = 0;
};

/// Separates measurements on one device from work that would disturb them.
class DeviceGate {
 public:
  /// A lock of the device. The destructor releases it.
  class Lock {
   public:
    virtual ~Lock() = default;
  };
  virtual ~DeviceGate() = default;
  /// Acquires the device for work during which nothing may be measured.
  virtual Result<std::unique_ptr<Lock>> acquire_shared(std::stop_token stop) = 0;
  /// Acquires the device for a build. It excludes measurements for a limited time only, because a compiler that hangs
  /// must not block them. A build runs at low priority, so that it hardly disturbs later measurements.
  virtual Result<std::unique_ptr<Lock>> acquire_for_build(std::stop_token stop) = 0;
  /// Acquires the device for a measurement.
  virtual Result<std::unique_ptr<Lock>> acquire_exclusive(std::stop_token stop) = 0;
  /// True while anything holds it here, or another worker measures on it.
  [[nodiscard]] virtual bool is_held() = 0;
};

/// Makes memory files that a judge and a runner get as descriptors.
class SharedMemorySource {
 public:
  class Block {
   public:
    virtual ~Block() = default;
    [[nodiscard]] virtual int fd() const = 0;
    [[nodiscard]] virtual SharedMemory memory() const = 0;
    /// The text at its beginning, up to the first zero byte.
    [[nodiscard]] virtual Result<std::string> text() const = 0;
  };
  virtual ~SharedMemorySource() = default;
  /// The memory that the machine has left.
  [[nodiscard]] virtual std::uint64_t available_bytes() const = 0;
  virtual Result<std::unique_ptr<Block>> allocate(const std::string& name, std::uint64_t bytes) = 0;
  /// Makes a sealed read-only copy of `text`.
  virtual Result<std::unique_ptr<Block>> publish(const std::string& name, std::string_view text) = 0;
  /// Opens a file for reading.
  virtual Result<std::unique_ptr<Block>> open_file(const std::string& path) = 0;
};

/// All effects of an evaluation. Everything is borrowed and must outlive the call.
struct EvaluationBackends {
  DeviceBackends device;
  /// Unset: candidates are executed by what they are written for.
  std::optional<StandIn> stand_in{};
  JudgeSource& judges;
  /// For the device and all that work may move to.
  KernelCompiler& compiler;
  SharedMemorySource& memory;
  /// Limits the number of compilers that run for GPUs, because measurements need some processors.
  Slots& compilers;
  std::function<std::chrono::steady_clock::time_point()> now;
  /// The artifact that the client built; null where `compiler` builds it. Then `compiler` publishes it.
  const Prebuilt* prebuilt = nullptr;
  /// Null: candidates are not watched.
  Sanitizers* sanitizers = nullptr;
  /// GPUs for which the candidate is compiled as well; see CompileForOptions.
  std::vector<GpuFacts> compile_for{};
};

[[nodiscard]] JudgeDevice judge_device(const GpuFacts& gpu);

/// The judge's task for an evaluation with these options. Requires: options.threads is resolved.
[[nodiscard]] JudgeTask judge_task(const TaskSource& task, const EvaluationOptions& options,
                                   const std::optional<GpuFacts>& gpu);

/// The kind of runner for an artifact. Triton is interpreted if there is no GPU.
[[nodiscard]] RunnerKind runner_kind(Target target, ArtifactKind artifact, const std::optional<GpuFacts>& gpu);

/// Evaluates one candidate. `record` has its id, start and environment filled in. An Error says nothing about the
/// candidate.
[[nodiscard]] Result<EvaluationRecord> evaluate_candidate(const EvaluationRequest& request, EvaluationRecord record,
                                                          EvaluationBackends backends, const ProgressCallback& progress,
                                                          std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
