#include "bench/evaluator.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>

#include <kernelgen/core/version.hpp>
#include <kernelgen/device/cpu.hpp>

#include "bench/devices.hpp"
#include "bench/evaluation.hpp"
#include "bench/judge_pool.hpp"
#include "bench/shared_memory.hpp"
#include "bench/verdict.hpp"
#include "support/clock.hpp"
#include "support/files.hpp"
#include "support/random_id.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Processors that others have while somebody compiles: the worker, and a judge and a runner on each device.
constexpr int k_spared_cores = 1;
constexpr int k_spared_cores_per_device = 2;
constexpr int k_least_compilers = 2;

int compilers_beside(int devices, int cores) {
  return std::max(k_least_compilers, cores - k_spared_cores - k_spared_cores_per_device * devices);
}

/// What judges and runners both get, so that the reference and the candidate are timed under the same rules.
std::map<std::string, std::string> with_equal_terms(std::map<std::string, std::string> environment) {
  // libgomp's threads spin for milliseconds after their work and would disturb whoever runs next. A short spin stays:
  // without it every barrier costs a wake-up.
  environment.try_emplace("OMP_WAIT_POLICY", "passive");
  environment.try_emplace("GOMP_SPINCOUNT", "2000");
  // glibc adapts these to what a process happened to free before: then one side pays for page faults in every call
  // and the other does not.
  environment.try_emplace("GLIBC_TUNABLES",
                          "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824");
  return environment;
}

std::string system_line() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine) : "unknown";
}

/// Where a time is worth anything: on this machine, until it is started anew, and on this device with this driver.
std::string machine_text(const Device& device) {
  // Not its name: containers make theirs up, and images of machines share one.
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  utsname name{};
  const std::string host = boot ? *boot : ::uname(&name) == 0 ? std::string(name.nodename) + '\n' : "unknown\n";
  return fmt::format("boot {}system {}\non {}\ndriver {}\n", host, system_line(), device.line,
                     device.gpu ? device.gpu->driver_version : 0);
}

/// The judges of one device.
class DeviceJudges final : public JudgeSource {
 public:
  DeviceJudges(JudgePool& pool, DeviceGate& gate) : pool_(pool), gate_(gate) {}
  Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, std::stop_token stop) override {
    return pool_.open(task, gate_, std::move(stop));
  }
  Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) override {
    return pool_.try_open(task, gate_, std::move(stop));
  }
  std::optional<AdmittedTask> known(const JudgeTask& task) override { return pool_.known(task); }

 private:
  JudgePool& pool_;
  DeviceGate& gate_;
};

class Evaluator final : public LocalBenchmarker {
 public:
  Evaluator(const WorkerOptions& options, CpuFacts cpu)
      : options_(options), cpu_(std::move(cpu)), compilers_(compilers_beside(1, cpu_.usable_cores)) {}

  Result<void> start() {
    // It is mounted into sandboxes by processes that work elsewhere.
    std::error_code error;
    if (!options_.cache_dir.empty()) options_.cache_dir = std::filesystem::absolute(options_.cache_dir, error).string();
    if (error) return Error{ErrorCode::InvalidArgument, "the cache directory: " + error.message()};
    const auto environment = with_equal_terms(options_.environment);
    memory_ = make_shared_memory_source();
    processes_ = make_process_runner();
    KERNELGEN_TRY(devices_, make_devices(options_, environment, *processes_));
    KERNELGEN_TRY(judges_, make_judge_pool({.installation = options_.installation,
                                            .python = options_.python,
                                            .environment = environment,
                                            .cache_dir = options_.cache_dir},
                                           *memory_));
    return {};
  }

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    auto record = evaluate_once(request, progress, stop);
    KERNELGEN_TRY(const auto reason, reason_for_another_try(record, stop));
    if (reason.empty()) return record;
    if (progress) progress({"again", reason});
    record = evaluate_once(request, progress, std::move(stop));
    if (record) record->labels.push_back("second try: " + reason);
    return record;
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    auto description = describe_once(task, options, stop);
    KERNELGEN_TRY(const auto reason, reason_for_another_try(description, stop));
    return reason.empty() ? std::move(description) : describe_once(task, options, std::move(stop));
  }

  std::string device() const override { return cpu_.to_line(); }

  Result<int> count_gpus(std::stop_token stop) override { return devices_->count_gpus(std::move(stop)); }

  Result<void> check_able(std::stop_token stop) override {
    KERNELGEN_CHECK(judges_->environment(std::move(stop)));
    return {};
  }

 private:
  /// Why something went as it did that has nothing to do with the candidate and may be otherwise now; else empty.
  template <class Value>
  Result<std::string> reason_for_another_try(const Result<Value>& result, std::stop_token stop) {
    if (!result && result.error().code == ErrorCode::OutOfMemory) {
      KERNELGEN_TRY(const bool made, judges_->make_room(std::move(stop)));
      return std::string(made ? "other tasks held the memory" : "");
    }
    if constexpr (std::is_same_v<Value, EvaluationRecord>)
      if (result && is_disturbance(result->outcome)) return result->outcome.detail;
    return std::string();
  }

  Result<EvaluationRecord> evaluate_once(const EvaluationRequest& request, const ProgressCallback& progress,
                                         std::stop_token stop) {
    auto resolved = request;
    resolve_threads(resolved.options);
    KERNELGEN_TRY(const auto placed, place(request.candidate.target, request.task, resolved.options, stop));
    const auto* device = placed.device;
    if (device->gpu) {
      KERNELGEN_TRY(const int gpus, devices_->count_gpus(stop));
      compilers_.limit(compilers_beside(gpus, cpu_.usable_cores));
    }
    KERNELGEN_TRY(auto record, begin_record(resolved, *device, stop));
    DeviceJudges judges(*judges_, *device->gate);
    return evaluate_candidate(resolved, std::move(record),
                              {.gpu = device->gpu,
                               .judges = judges,
                               .compiler = *device->compiler,
                               .runners = *device->runners,
                               .gate = *device->gate,
                               .memory = *memory_,
                               .compilers = compilers_,
                               .now = std::chrono::steady_clock::now,
                               .machine = machine_text(*device)},
                              progress, std::move(stop));
  }

  Result<TaskDescription> describe_once(const TaskSource& task, const EvaluationOptions& options,
                                        std::stop_token stop) {
    auto resolved = options;
    resolve_threads(resolved);
    KERNELGEN_TRY(const auto placed, place(Target::Torch, task, resolved, stop));
    const auto& device = *placed.device;
    KERNELGEN_TRY(auto session, judges_->open(judge_task(task, resolved, device.gpu), *device.gate, stop));
    auto description = session->description;
    description.labels = session->admission.labels;
    return description;
  }

  /// Requires: the options' threads are resolved.
  Result<PlacedDevice> place(Target target, const TaskSource& task, const EvaluationOptions& options,
                             std::stop_token stop) {
    const DeviceRequest request{
        .target = target,
        .asked = options.device,
        .task = judge_key(judge_task(task, options, std::nullopt)),
        .judge = [&](const auto& gpu) { return judges_->need(judge_task(task, options, gpu)); },
    };
    return devices_->place(request, std::move(stop));
  }

  Result<EvaluationRecord> begin_record(const EvaluationRequest& request, const Device& device, std::stop_token stop) {
    EvaluationRecord record;
    record.id = random_id();
    record.started = utc_now_iso8601(std::chrono::system_clock::now);
    record.task_name = request.task.name;
    record.task_content_id = request.task.content_id;
    record.candidate_id = request.candidate.id;
    record.target = request.candidate.target;
    record.precision = request.options.precision;
    KERNELGEN_TRY(record.environment, judges_->environment(std::move(stop)));
    record.environment.kernelgen_version = version();
    record.environment.device = device.line;
    if (device.gpu) record.environment.device_uuid = device.gpu->uuid;
    record.environment.system = system_line();
    record.environment.threads = request.options.threads;
    return record;
  }

  void resolve_threads(EvaluationOptions& options) const {
    if (options.threads <= 0) options.threads = cpu_.usable_cores;
  }

  WorkerOptions options_;
  CpuFacts cpu_;
  Slots compilers_;
  std::unique_ptr<SharedMemorySource> memory_;
  std::unique_ptr<ProcessRunner> processes_;
  std::unique_ptr<Devices> devices_;
  std::unique_ptr<JudgePool> judges_;
};

}  // namespace

Result<std::unique_ptr<LocalBenchmarker>> make_local_benchmarker(const WorkerOptions& options) {
  KERNELGEN_TRY(auto cpu, read_cpu_facts());
  auto evaluator = std::make_unique<Evaluator>(options, std::move(cpu));
  KERNELGEN_CHECK(evaluator->start());
  return std::unique_ptr<LocalBenchmarker>(std::move(evaluator));
}

}  // namespace v0
}  // namespace kernelgen
