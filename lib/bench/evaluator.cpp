#include "bench/evaluator.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <type_traits>

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

/// Whether a failure is the device's, so far as can be told: another of its kind may do. What is not installed
/// (MissingTool) is missing for all of them, and memory that ran out is another try's matter.
bool is_of_device(ErrorCode code) { return code == ErrorCode::MissingDevice || code == ErrorCode::Unavailable; }

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
    auto resolved = request;
    resolve_threads(resolved.options);
    const Work<EvaluationRecord> once = [&](const Device& device) {
      return evaluate_on(device, resolved, progress, stop);
    };
    auto where = device_request(request.candidate.target, request.task, resolved.options);
    return do_it(std::move(where), once, progress, stop);
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    auto resolved = options;
    resolve_threads(resolved);
    const Work<TaskDescription> once = [&](const Device& device) { return describe_on(device, task, resolved, stop); };
    return do_it(device_request(Target::Torch, task, resolved), once, {}, stop);
  }

  std::string device() const override { return cpu_.to_line(); }

  Result<int> count_gpus(std::stop_token stop) override { return devices_->count_gpus(std::move(stop)); }

  Result<void> check_able(std::stop_token stop) override {
    KERNELGEN_CHECK(judges_->environment(std::move(stop)));
    return {};
  }

 private:
  template <class Value>
  using Work = std::function<Result<Value>(const Device&)>;

  /// How something went, and where.
  template <class Value>
  struct Attempt {
    Result<Value> result;
    /// UUID; empty: the processor, or none.
    std::string device{};
  };

  /// Devices on which there is no use in trying, and what happened there.
  struct Useless {
    std::set<std::string> devices{};
    Error why{};
  };

  /// Whether another try is on another device, if there is one that will do.
  enum class Elsewhere {
    No,
    Rather,
    Only,  ///< where it was, it would go the same way
  };

  /// Why something is worth another try.
  struct Again {
    /// Empty: it is not.
    std::string reason;
    Elsewhere elsewhere = Elsewhere::No;
  };

  /// Tries again what went wrong for reasons that have nothing to do with the candidate and may be otherwise now, or on
  /// another device.
  template <class Value>
  Result<Value> do_it(DeviceRequest request, const Work<Value>& once, const ProgressCallback& progress,
                      const std::stop_token& stop) {
    auto first = attempt(request, once, {}, stop);
    KERNELGEN_TRY(const auto again, another_try(first, stop));
    if (again.reason.empty()) return std::move(first.result);
    const bool only_elsewhere = again.elsewhere == Elsewhere::Only;
    if (again.elsewhere != Elsewhere::No) request.tried.insert(first.device);
    const Work<Value> announced = [&](const Device& device) {
      if (progress) progress({"again", again.reason});
      return once(device);
    };
    Useless useless;
    if (only_elsewhere) useless = {.devices = {first.device}, .why = first.result.error()};
    auto second = attempt(request, announced, std::move(useless), stop);
    // It fits on one of its kind, so that somebody has to have had the memory of the other.
    if (only_elsewhere && second.result) devices_->mark_shared(first.device);
    label(second.result, "second try: " + again.reason);
    return std::move(second.result);
  }

  /// Where it will be done soonest; on another GPU when the one that it got cannot be used, which the request then has
  /// among those that were tried.
  template <class Value>
  Attempt<Value> attempt(DeviceRequest& request, const Work<Value>& once, Useless useless,
                         const std::stop_token& stop) {
    std::vector<std::string> moves;
    while (true) {
      auto placed = devices_->place(request, stop);
      if (!placed) return {std::move(placed).error()};
      const auto uuid = placed->uuid;
      if (useless.devices.contains(uuid)) return {std::move(useless.why), uuid};
      limit_compilers();
      auto result = set_up_and_do(*placed, once, stop);
      const bool unusable = !result && !uuid.empty() && is_of_device(result.error().code);
      // Before the place is free: it would look like the best one.
      if (unusable) devices_->bar(uuid);
      placed->place.reset();
      limit_compilers();
      if (!unusable) {
        for (const auto& move : moves) label(result, move);
        return {std::move(result), uuid};
      }
      moves.push_back(fmt::format("moved from {}: {}", uuid, result.error().message));
      request.tried.insert(uuid);
      useless.devices.insert(uuid);
      useless.why = std::move(result).error();
    }
  }

  template <class Value>
  Result<Value> set_up_and_do(const PlacedDevice& placed, const Work<Value>& once, const std::stop_token& stop) {
    KERNELGEN_CHECK(devices_->set_up(placed, stop));
    return once(*placed.device);
  }

  template <class Value>
  static void label(Result<Value>& result, std::string text) {
    if constexpr (std::is_same_v<Value, EvaluationRecord>)
      if (result) result->labels.push_back(std::move(text));
  }

  template <class Value>
  Result<Again> another_try(const Attempt<Value>& attempt, const std::stop_token& stop) {
    const auto& [result, device] = attempt;
    if (!result && result.error().code == ErrorCode::OutOfMemory) {
      KERNELGEN_TRY(const bool made, judges_->make_room(device, stop));
      if (made) return Again{"other tasks held the memory", Elsewhere::Rather};
      return device.empty() ? Again{} : Again{"memory ran out on " + device, Elsewhere::Only};
    }
    if constexpr (std::is_same_v<Value, EvaluationRecord>) {
      if (!result || !is_disturbance(result->outcome)) return Again{};
      if (device.empty() || !is_disturbance_of_device(result->outcome, result->timing))
        return Again{result->outcome.detail};
      devices_->mark_shared(device);
      return Again{result->outcome.detail, Elsewhere::Rather};
    }
    return Again{};
  }

  Result<EvaluationRecord> evaluate_on(const Device& device, const EvaluationRequest& request,
                                       const ProgressCallback& progress, std::stop_token stop) {
    KERNELGEN_TRY(auto record, begin_record(request, device, stop));
    DeviceJudges judges(*judges_, *device.gate);
    return evaluate_candidate(request, std::move(record),
                              {.gpu = device.gpu,
                               .judges = judges,
                               .compiler = *device.compiler,
                               .runners = *device.runners,
                               .gate = *device.gate,
                               .memory = *memory_,
                               .compilers = compilers_,
                               .now = std::chrono::steady_clock::now,
                               .machine = machine_text(device)},
                              progress, std::move(stop));
  }

  Result<TaskDescription> describe_on(const Device& device, const TaskSource& task, const EvaluationOptions& options,
                                      std::stop_token stop) {
    KERNELGEN_TRY(auto session, judges_->open(judge_task(task, options, device.gpu), *device.gate, std::move(stop)));
    auto description = session->description;
    description.labels = session->admission.labels;
    return description;
  }

  /// `task` and `options` must outlive the answer. Requires: the options' threads are resolved.
  DeviceRequest device_request(Target target, const TaskSource& task, const EvaluationOptions& options) {
    return {
        .target = target,
        .asked = options.device,
        .task = judge_key(judge_task(task, options, std::nullopt)),
        .judge = [&](const auto& gpu) { return judges_->need(judge_task(task, options, gpu)); },
    };
  }

  /// After somebody came to a device, or left one.
  void limit_compilers() {
    const std::scoped_lock lock(limit_mutex_);
    compilers_.limit(compilers_beside(devices_->used_gpus(), cpu_.usable_cores));
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
  /// What was counted is still so when it becomes the limit.
  std::mutex limit_mutex_;
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
