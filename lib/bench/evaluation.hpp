#pragma once

/// \file
/// One evaluation, step by step. Everything with an effect is behind an interface, so that the order of the steps and
/// the decisions between them are tested without Python, compilers or devices.
///
///     compile ----+
///                 +--> build ahead -> a judge -> the device -> baseline -> load -> weights -> own inputs
///     admit task -+                               -> transforms -> second weights -> timing -> record

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
#include <kernelgen/judge/judge.hpp>

#include "bench/runner.hpp"
#include "support/slots.hpp"

namespace kernelgen {
inline namespace v0 {

/// Times of the reference with no runner alive. They stay with the judge: where later verdicts see it slower beside
/// their candidates, it is timed anew.
struct CleanBaselines {
  std::vector<std::int64_t> calls_ns;
  /// Unset until it was tried.
  std::optional<Baseline> replays;
  /// Those that were asked for, failures included.
  std::map<BaselineKind, Baseline> compiled;
};

/// A time of the reference as torch.compile builds it.
struct CompiledBaselineRequest {
  BaselineKind kind = BaselineKind::Compile;
  /// Of compiling and comparing.
  std::chrono::milliseconds timeout{300'000};
  BaselineSampling sampling;
  /// EvaluationBackends::machine.
  std::string machine;
};

/// What is known of a task once a judge has admitted it, and the same for every later judge of it.
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
  /// What judges of other tasks keep of its device meanwhile.
  std::uint64_t idle_bytes = 0;
  /// Set to false when the judge answered with an error: it is then not used again.
  bool healthy = true;
  /// Gives the judge back.
  virtual ~JudgeSession() = default;
  /// The reference as torch.compile builds it, timed by a judge of its own that ends with the answer: nothing of it
  /// reaches the one above. Known from earlier if the machine is the same.
  /// Busy where other work disturbed it.
  virtual Result<Baseline> compiled_baseline(const CompiledBaselineRequest& request, std::stop_token stop) = 0;
};

/// Opens sessions, one at a time for each device: warm ones when there are any.
class JudgeSource {
 public:
  virtual ~JudgeSource() = default;
  /// Waits for its turn.
  virtual Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, std::stop_token stop) = 0;
  /// Null where somebody has a session, or waits for one.
  virtual Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) = 0;
  /// Of a task that was opened before.
  virtual std::optional<AdmittedTask> known(const JudgeTask& task) = 0;
};

/// Who may use the device now. Work that would disturb a measurement shares it; a measurement has it alone.
class DeviceGate {
 public:
  /// Released by the destructor.
  class Hold {
   public:
    virtual ~Hold() = default;
  };
  virtual ~DeviceGate() = default;
  virtual Result<std::unique_ptr<Hold>> share(std::stop_token stop) = 0;
  virtual Result<std::unique_ptr<Hold>> alone(std::stop_token stop) = 0;
};

/// A memory file of the worker's that a judge can open by path and a runner by descriptor.
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
  /// A sealed read-only copy of `text`.
  virtual Result<std::unique_ptr<Block>> publish(const std::string& name, std::string_view text) = 0;
  /// A file opened for reading.
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
  /// For those who compile for a device: what is measured needs some processors.
  Slots& compilers;
  std::function<std::chrono::steady_clock::time_point()> now;
  /// Lines that say on which machine and device a time is worth anything.
  std::string machine{};
};

/// What a judge is asked for on behalf of an evaluation with these options. Requires: options.threads is resolved.
[[nodiscard]] JudgeTask judge_task(const TaskSource& task, const EvaluationOptions& options,
                                   const std::optional<GpuFacts>& gpu);

/// How a candidate is run: there is no interpreter where there is a GPU.
[[nodiscard]] RunnerKind runner_kind(Target target, const std::optional<GpuFacts>& gpu);

/// Evaluates one candidate. `record` comes with its id, start and environment filled in.
/// An Error means that nothing is known about the candidate.
[[nodiscard]] Result<EvaluationRecord> evaluate_candidate(const EvaluationRequest& request, EvaluationRecord record,
                                                          EvaluationBackends backends, const ProgressCallback& progress,
                                                          std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
