#pragma once

/// \file
/// One evaluation, step by step. Everything with an effect is behind an interface, so that the order of the steps and
/// the decisions between them are tested without Python, compilers or devices.
///
///     compile ----+
///                 +--> build ahead -> a judge -> the device -> baseline -> load -> weights -> own inputs
///     admit task -+                               -> transforms -> second weights -> timing -> record
///
/// With EvaluationMode::CorrectnessOnly there is no baseline and no timing, and the device is shared.

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

#include "bench/runner.hpp"
#include "judge/judge.hpp"
#include "support/slots.hpp"

namespace kernelgen {
inline namespace v0 {

/// Times of the reference with no runner alive. They stay with the judge, and are taken again when a later verdict sees
/// a slower reference beside its candidate.
struct CleanBaselines {
  std::vector<std::int64_t> calls_ns;
  /// Unset until it was tried.
  std::optional<Baseline> replays;
  /// The baselines that were asked for, failures included.
  std::map<BaselineKind, Baseline> compiled;
};

/// A request to time the reference as torch.compile builds it.
struct CompiledBaselineRequest {
  BaselineKind kind = BaselineKind::Compile;
  /// Limit of compiling and comparing.
  std::chrono::milliseconds timeout{300'000};
  BaselineSampling sampling;
  /// EvaluationBackends::machine.
  std::string machine;
};

/// The facts about a task that its admission gave; they are the same for every later judge of it.
struct AdmittedTask {
  TaskDescription description;
  Admission admission;
  ExchangeLayout layout;
};

/// An admitted task with its judge and its exchange buffers, for one evaluation at a time.
struct JudgeSession : AdmittedTask {
  /// Borrowed from the session's owner.
  Judge* judge = nullptr;
  int exchange_fd = -1;
  /// The exchange buffers on the device, where there is one.
  std::optional<int> device_fd;
  int threads = 1;
  /// Borrowed like the judge.
  CleanBaselines* clean = nullptr;
  /// Bytes of its device that the judges of other tasks keep meanwhile.
  std::uint64_t idle_bytes = 0;
  /// False once the judge answered with an error: it is then not used again.
  bool healthy = true;
  /// Gives the judge back.
  virtual ~JudgeSession() = default;
  /// Times the reference as torch.compile builds it, in a judge of its own that ends with the answer, so that nothing
  /// of torch.compile reaches this session's judge. A time from earlier is used if the machine is the same. Busy when
  /// other work disturbed the measurement.
  virtual Result<Baseline> compiled_baseline(const CompiledBaselineRequest& request, std::stop_token stop) = 0;
};

/// Opens sessions, one at a time for each device, with a warm judge where there is one.
class JudgeSource {
 public:
  virtual ~JudgeSource() = default;
  /// Waits until the device has no other session and the request is the next in the queue.
  virtual Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, std::stop_token stop) = 0;
  /// Null where another session is open or waited for.
  virtual Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) = 0;
  /// The facts about a task that was opened before.
  virtual std::optional<AdmittedTask> known(const JudgeTask& task) = 0;
};

/// Keeps work that would disturb a measurement apart from measurements on one device.
class DeviceGate {
 public:
  /// Released by the destructor.
  class Hold {
   public:
    virtual ~Hold() = default;
  };
  virtual ~DeviceGate() = default;
  /// For work beside which nothing may be measured.
  virtual Result<std::unique_ptr<Hold>> acquire_shared(std::stop_token stop) = 0;
  /// For a build. It excludes measurements for a limited time: a compiler that hangs must not keep others waiting. It
  /// runs at low priority, so that it hardly disturbs what is measured afterwards.
  virtual Result<std::unique_ptr<Hold>> acquire_for_build(std::stop_token stop) = 0;
  /// For a measurement.
  virtual Result<std::unique_ptr<Hold>> acquire_exclusive(std::stop_token stop) = 0;
};

/// Makes memory files that a judge can open by path and a runner by descriptor.
class SharedMemorySource {
 public:
  class Block {
   public:
    virtual ~Block() = default;
    [[nodiscard]] virtual int fd() const = 0;
    [[nodiscard]] virtual SharedMemory memory() const = 0;
  };
  virtual ~SharedMemorySource() = default;
  virtual Result<std::unique_ptr<Block>> allocate(const std::string& name, std::uint64_t bytes) = 0;
  /// Makes a sealed read-only copy of `text`.
  virtual Result<std::unique_ptr<Block>> publish(const std::string& name, std::string_view text) = 0;
  /// Opens a file for reading.
  virtual Result<std::unique_ptr<Block>> open_file(const std::string& path) = 0;
};

/// All effects of an evaluation, on one device. Everything is borrowed and must outlive the call.
struct EvaluationBackends {
  /// Unset: the processor.
  std::optional<GpuFacts> gpu;
  JudgeSource& judges;
  KernelCompiler& compiler;
  RunnerSource& runners;
  DeviceGate& gate;
  SharedMemorySource& memory;
  /// Limits how many compilers run for devices at once: measurements need some processors.
  Slots& compilers;
  std::function<std::chrono::steady_clock::time_point()> now;
  /// Lines that identify machine and device: a time is valid there only.
  std::string machine{};
};

/// The judge's task for an evaluation with these options. Requires: options.threads is resolved.
[[nodiscard]] JudgeTask judge_task(const TaskSource& task, const EvaluationOptions& options,
                                   const std::optional<GpuFacts>& gpu);

/// The kind of runner for a target: Triton is interpreted where there is no GPU.
[[nodiscard]] RunnerKind runner_kind(Target target, const std::optional<GpuFacts>& gpu);

/// Evaluates one candidate. `record` comes with its id, start and environment filled in.
/// An Error means that nothing is known about the candidate.
[[nodiscard]] Result<EvaluationRecord> evaluate_candidate(const EvaluationRequest& request, EvaluationRecord record,
                                                          EvaluationBackends backends, const ProgressCallback& progress,
                                                          std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
