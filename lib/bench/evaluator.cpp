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
#include <kernelgen/platform/platform.hpp>

#include "bench/compile_for.hpp"
#include "bench/devices.hpp"
#include "bench/evaluation.hpp"
#include "bench/extension_compiler.hpp"
#include "bench/judge_pool.hpp"
#include "bench/reference_time.hpp"
#include "bench/shared_memory.hpp"
#include "bench/verdict.hpp"
#include "profile/sanitizers.hpp"
#include "support/clock.hpp"
#include "support/files.hpp"
#include "support/random_id.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// True if a failure seems to be of the device, so that another device of its kind may work. A missing tool is missing
/// for all of them, and a lack of memory is retried.
bool is_device_failure(ErrorCode code) { return code == ErrorCode::MissingDevice || code == ErrorCode::Unavailable; }

/// The environment of judges and runners, with settings that make the reference and the candidate comparable.
std::map<std::string, std::string> with_equal_settings(std::map<std::string, std::string> environment) {
  // libgomp's threads spin for milliseconds after their work and would disturb the process that runs next. A short spin
  // stays: without it every barrier costs a wake-up.
  environment.try_emplace("OMP_WAIT_POLICY", "passive");
  environment.try_emplace("GOMP_SPINCOUNT", "2000");
  // By default glibc adapts these to the sizes that a process has freed before. Then one side would have page faults in
  // every call and the other would not.
  environment.try_emplace("GLIBC_TUNABLES",
                          "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=1073741824");
  return environment;
}

std::string system_line() {
  utsname name{};
  return ::uname(&name) == 0 ? fmt::format("{} {} {}", name.sysname, name.release, name.machine) : "unknown";
}

/// Identifies the machine (until it is rebooted), the device and its driver: a time is valid there only.
std::string machine_text(const Device& device) {
  // A host name does not identify it: containers make one up, and copies of a machine image share one.
  const auto boot = read_file("/proc/sys/kernel/random/boot_id");
  utsname name{};
  const std::string host = boot ? *boot : ::uname(&name) == 0 ? std::string(name.nodename) + '\n' : "unknown\n";
  return fmt::format("boot {}system {}\non {}\ndriver {}\n", host, system_line(), device.line,
                     device.gpu ? device.gpu->driver_version : 0);
}

/// Whether a candidate's options and language can be evaluated at all. `prebuilt`: null when there is none.
Result<void> check_request(const EvaluationRequest& request, const Prebuilt* prebuilt) {
  const auto& candidate = request.candidate;
  if (prebuilt != nullptr) {
    KERNELGEN_CHECK(check_prebuilt(*prebuilt, candidate.target));
  } else if (!is_built_in(candidate.target)) {
    return Error{
        ErrorCode::Unsupported,
        fmt::format("target {} is none of kernelgen's: the program that registers it has to build its candidates",
                    to_string(candidate.target))};
  }
  const bool is_c = candidate.target == Target::Cpp && candidate.language == Language::C;
  if (candidate.language != default_language(candidate.target) && !is_c)
    return Error{ErrorCode::InvalidArgument, fmt::format("target {} takes no sources in language {}",
                                                         to_string(candidate.target), to_string(candidate.language))};
  if (!request.options.compile_for.empty() && (candidate.target != Target::Triton || prebuilt != nullptr))
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("{} candidates are not compiled for architectures of GPUs that are not here; triton ones are",
                    to_string(candidate.target))};
  return check_options(request.options);
}

/// What the device is to kernels of the target; nothing where they are written for it. UnsuitableDevice where it
/// cannot execute them.
Result<std::optional<StandIn>> stand_in_of(Target target, const Device& device) {
  if (!device.gpu && !needs_gpu(target)) return std::optional<StandIn>();
  if (!device.gpu) return std::optional(device.is_emulator ? StandIn::Emulator : StandIn::Processor);
  if (serves_vendor(device.gpu->vendor, traits_of(target).gpu_vendor)) return std::optional<StandIn>();
  // Its compiler takes HIP's sources with headers of kernelgen's.
  if (target == Target::Hip && platform_of(device.gpu->vendor).compiler == DeviceCompiler::Nvcc)
    return std::optional(StandIn::OtherGpu);
  return Error{ErrorCode::UnsuitableDevice, fmt::format("{} kernels do not run on {}{}", to_string(target), device.line,
                                                        target == Target::Hip ? advice_for_hip() : std::string_view())};
}

DeviceBackends backends_of(const Device& device) {
  return {
      .gpu = device.gpu, .runners = device.runners.get(), .gate = device.gate.get(), .machine = machine_text(device)};
}

/// The judges of the device where an evaluation was placed, and of those to which it may move.
class PlacedJudges final : public JudgeSource {
 public:
  /// Everything must outlive this object. `on_move` is called when the evaluation has moved.
  PlacedJudges(JudgePool& pool, Devices& devices, const DeviceRequest& request, PlacedDevice& placed,
               std::function<void()> on_move)
      : pool_(pool), devices_(devices), request_(request), placed_(placed), on_move_(std::move(on_move)) {}

  Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, const std::function<void()>& on_start,
                                             std::stop_token stop) override {
    KERNELGEN_TRY(auto at_once, pool_.try_open(home(task, on_start), stop));
    if (at_once) return at_once;
    Places places(*this, task, on_start);
    auto opened = pool_.open(places.all, places.on_move(), std::move(stop));
    if (opened.place > 0 && opened.session) (*opened.session)->moved_to = backends_of(*placed_.device);
    return std::move(opened.session);
  }
  Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) override {
    return pool_.try_open(home(task, {}), std::move(stop));
  }
  Result<AdmissionBeside> admit(const JudgeTask& task, const std::function<void()>& on_start,
                                std::stop_token stop) override {
    Places places(*this, task, on_start);
    auto admitted = pool_.admit(places.all, places.on_move(), std::move(stop));
    AdmissionBeside beside;
    KERNELGEN_TRY(beside.task, std::move(admitted.task));
    if (admitted.place > 0) beside.moved_to = backends_of(*placed_.device);
    return beside;
  }
  std::optional<AdmittedTask> known(const JudgeTask& task) override { return pool_.known(task); }

 private:
  /// The devices that may judge a task: that where it was placed, and those to which it may move.
  struct Places {
    Places(PlacedJudges& owner, const JudgeTask& task, const std::function<void()>& on_start)
        : judges(owner), peers(owner.devices_.peers(owner.placed_, owner.request_)) {
      all.push_back(owner.home(task, on_start));
      for (const auto& peer : peers) {
        all.push_back({.task = task, .is_free = peer.is_free, .on_start = on_start});
        all.back().task.device = judge_device(peer.facts);
      }
    }
    /// Moves the evaluation to a place. From then on, a failure is that of the other device. It must not be called
    /// after this object's end.
    [[nodiscard]] std::function<void(std::size_t)> on_move() {
      return [this](std::size_t place) {
        auto& placed = judges.placed_;
        judges.devices_.move(placed, peers[place - 1]);
        all[place].task.device = judge_device(*placed.device->gpu);
        all[place].gate = placed.device->gate.get();
        judges.on_move_();
      };
    }
    PlacedJudges& judges;
    std::vector<PeerDevice> peers;
    std::vector<JudgePlace> all{};
  };

  [[nodiscard]] JudgePlace home(const JudgeTask& task, std::function<void()> on_start) const {
    return {.task = task, .gate = placed_.device->gate.get(), .on_start = std::move(on_start)};
  }

  JudgePool& pool_;
  Devices& devices_;
  const DeviceRequest& request_;
  PlacedDevice& placed_;
  const std::function<void()> on_move_;
};

class Evaluator final : public LocalBenchmarker {
 public:
  Evaluator(const WorkerOptions& options, CpuFacts cpu)
      : options_(options), cpu_(std::move(cpu)), compilers_(max_parallel_compilers(1, cpu_.usable_cores)) {}

  Result<void> start() {
    // The directory is mounted into sandboxes by processes with another working directory.
    std::error_code error;
    if (!options_.cache_dir.empty()) options_.cache_dir = std::filesystem::absolute(options_.cache_dir, error).string();
    if (error) return Error{ErrorCode::InvalidArgument, "the cache directory: " + error.message()};
    const auto environment = with_equal_settings(options_.environment);
    memory_ = make_shared_memory_source();
    processes_ = make_process_runner();
    sanitizers_ = make_sanitizers({.installation = options_.installation,
                                   .python = options_.python,
                                   .compiler = options_.compiler,
                                   .environment = options_.environment},
                                  *processes_);
    LocalProfilerOptions profiler{.installation = options_.installation, .environment = options_.environment};
    profiler.python = options_.python;
    profiler.sandbox = ProfilerSandbox::Required;
    KERNELGEN_TRY(profiler_, make_local_profiler(std::move(profiler), *processes_));
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
    return evaluate(request, nullptr, progress, stop);
  }

  Result<EvaluationRecord> evaluate_prebuilt(const EvaluationRequest& request, const Prebuilt& prebuilt,
                                             const ProgressCallback& progress, std::stop_token stop) override {
    return evaluate(request, &prebuilt, progress, stop);
  }

  /// `prebuilt`: null when there is none.
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const Prebuilt* prebuilt,
                                    const ProgressCallback& progress, const std::stop_token& stop) {
    KERNELGEN_CHECK(check_request(request, prebuilt));
    auto resolved = request;
    resolve_threads(resolved.options);
    KERNELGEN_TRY(const auto compile_for, find_architectures(request.options.compile_for));
    // Builds and warm judges are looked up by these ids, so the worker computes them itself.
    resolved.candidate.id =
        make_candidate(request.candidate.target, request.candidate.language, request.candidate.source).id;
    resolved.task.content_id = sha256_hex(request.task.text);
    const Work<EvaluationRecord> once = [&](PlacedDevice& placed, const DeviceRequest& where) {
      return evaluate_on(placed, where, resolved, {prebuilt, compile_for}, progress, stop);
    };
    auto where = device_request(request.candidate.target, resolved.task, resolved.options);
    if (!is_built_in(request.candidate.target)) where.suitable = prebuilt->device;
    return run_with_retry(std::move(where), once, progress, stop);
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    KERNELGEN_CHECK(check_options(options));
    auto resolved = options;
    resolve_threads(resolved);
    auto source = task;
    source.content_id = sha256_hex(task.text);
    const Work<TaskDescription> once = [&](const PlacedDevice& placed, const DeviceRequest&) {
      return describe_on(*placed.device, source, resolved, stop);
    };
    return run_with_retry(device_request(Target::Torch, source, resolved), once, {}, stop);
  }

  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token stop) override {
    KERNELGEN_CHECK(check_request(request.what, nullptr));
    auto resolved = request;
    auto& what = resolved.what;
    resolve_threads(what.options);
    what.candidate.id = make_candidate(what.candidate.target, what.candidate.language, what.candidate.source).id;
    what.task.content_id = sha256_hex(what.task.text);
    const Work<Profile> once = [&](const PlacedDevice& placed, const DeviceRequest&) {
      return profile_on(*placed.device, resolved, stop);
    };
    return run_with_retry(device_request(what.candidate.target, what.task, what.options), once, {}, stop);
  }

  std::string device() const override { return cpu_.to_line(); }

  Result<int> count_gpus(std::stop_token stop) override { return devices_->count_gpus(std::move(stop)); }

  Result<void> check_readiness(std::stop_token stop) override {
    KERNELGEN_CHECK(judges_->environment(std::move(stop)));
    return {};
  }

 private:
  /// Work on the device where a request was placed. It may move to another one.
  template <class Value>
  using Work = std::function<Result<Value>(PlacedDevice&, const DeviceRequest&)>;

  /// The result of one attempt, and its device.
  template <class Value>
  struct Attempt {
    Result<Value> result;
    /// UUID; empty: the processor, or none.
    std::string device{};
  };

  /// Devices on which another attempt would fail as well, and the last error of one.
  struct ExhaustedDevices {
    std::set<std::string> devices{};
    Error why{};
  };

  /// The device for another attempt.
  enum class DeviceChoice {
    Any,           ///< any device
    PreferOther,   ///< another device, if one is suitable
    RequireOther,  ///< another device: on the same one it would fail again
  };

  /// Whether and where to repeat a failed attempt.
  struct Retry {
    /// Why to repeat it; empty: it is not repeated.
    std::string reason;
    DeviceChoice device = DeviceChoice::Any;
  };

  /// Does the work, and repeats it once if it failed for a reason that is not the candidate and may be gone now, or on
  /// another device.
  template <class Value>
  Result<Value> run_with_retry(DeviceRequest request, const Work<Value>& once, const ProgressCallback& progress,
                               const std::stop_token& stop) {
    auto first = attempt(request, once, {}, stop);
    KERNELGEN_TRY(const auto retry, find_retry(first, stop));
    if (retry.reason.empty()) return std::move(first.result);
    const bool require_other = retry.device == DeviceChoice::RequireOther;
    if (retry.device != DeviceChoice::Any) request.tried.insert(first.device);
    const Work<Value> announced = [&](PlacedDevice& placed, const DeviceRequest& where) {
      if (progress) progress({"again", retry.reason});
      return once(placed, where);
    };
    ExhaustedDevices exhausted;
    if (require_other) exhausted = {.devices = {first.device}, .why = first.result.error()};
    auto second = attempt(request, announced, std::move(exhausted), stop);
    // The task fits on a device of the same kind, so foreign processes must have held memory of the first one.
    if (require_other && second.result) devices_->mark_shared(first.device);
    label(second.result, "second try: " + retry.reason);
    return std::move(second.result);
  }

  /// Does the work on the device that will finish it first, and on another GPU if that one cannot be used. Unusable
  /// GPUs are added to DeviceRequest::tried.
  template <class Value>
  Attempt<Value> attempt(DeviceRequest& request, const Work<Value>& once, ExhaustedDevices exhausted,
                         const std::stop_token& stop) {
    std::vector<std::string> moves;
    while (true) {
      auto placed = devices_->place(request, stop);
      if (!placed) return {std::move(placed).error()};
      if (exhausted.devices.contains(placed->uuid)) return {std::move(exhausted.why), placed->uuid};
      limit_compilers();
      auto result = set_up_and_run(*placed, request, once, stop);
      const auto uuid = placed->uuid;
      const bool unusable = !result && !uuid.empty() && is_device_failure(result.error().code);
      // The device is quarantined before its reservation ends, or it would look like the best one.
      if (unusable) devices_->quarantine(uuid);
      placed->reservation.reset();
      limit_compilers();
      if (!unusable) {
        for (const auto& move : moves) label(result, move);
        return {std::move(result), uuid};
      }
      moves.push_back(fmt::format("moved from {}: {}", uuid, result.error().message));
      request.tried.insert(uuid);
      exhausted.devices.insert(uuid);
      exhausted.why = std::move(result).error();
    }
  }

  template <class Value>
  Result<Value> set_up_and_run(PlacedDevice& placed, const DeviceRequest& request, const Work<Value>& once,
                               const std::stop_token& stop) {
    KERNELGEN_CHECK(devices_->set_up(placed, stop));
    return once(placed, request);
  }

  template <class Value>
  static void label(Result<Value>& result, std::string text) {
    if constexpr (std::is_same_v<Value, EvaluationRecord>)
      if (result) result->labels.push_back(std::move(text));
  }

  template <class Value>
  Result<Retry> find_retry(const Attempt<Value>& attempt, const std::stop_token& stop) {
    const auto& [result, device] = attempt;
    if (!result && result.error().code == ErrorCode::OutOfMemory) {
      KERNELGEN_TRY(const bool made, judges_->evict_idle_judges(device, stop));
      if (made) return Retry{"other tasks held the memory", DeviceChoice::PreferOther};
      return device.empty() ? Retry{} : Retry{"memory ran out on " + device, DeviceChoice::RequireOther};
    }
    if constexpr (std::is_same_v<Value, EvaluationRecord>) {
      if (!result || !is_disturbance(result->outcome)) return Retry{};
      if (device.empty() || !is_disturbance_of_device(result->outcome, result->timing))
        return Retry{result->outcome.detail};
      devices_->mark_shared(device);
      return Retry{result->outcome.detail, DeviceChoice::PreferOther};
    }
    return Retry{};
  }

  /// What an evaluation has beside its request.
  struct Extras {
    /// Null when there is none.
    const Prebuilt* prebuilt;
    const std::vector<GpuFacts>& compile_for;
  };

  [[nodiscard]] Result<std::vector<GpuFacts>> find_architectures(const CompileForOptions& asked) const {
    if (asked.empty()) return std::vector<GpuFacts>();
    KERNELGEN_TRY(const auto catalog, read_gpu_catalog(options_.installation.devices_dir));
    return choose_architectures(catalog, asked.architectures);
  }

  Result<EvaluationRecord> evaluate_on(PlacedDevice& placed, const DeviceRequest& where,
                                       const EvaluationRequest& request, const Extras& extras,
                                       const ProgressCallback& progress, std::stop_token stop) {
    const auto& device = *placed.device;
    const auto* prebuilt = extras.prebuilt;
    if (device.gpu && prebuilt == nullptr && has_device_extension(request.candidate.source))
      KERNELGEN_CHECK(find_extension_compiler(platform_of(device.gpu->vendor), options_.python, options_.environment));
    KERNELGEN_TRY(const auto stand_in, stand_in_of(request.candidate.target, device));
    auto adapted = request;
    // What a processor executes in place of a GPU has no time.
    if (stand_in && stand_in != StandIn::OtherGpu) adapted.options.mode = EvaluationMode::CorrectnessOnly;
    KERNELGEN_TRY(auto record, begin_record(adapted, device, stop));
    record.environment.stand_in = stand_in;
    std::unique_ptr<KernelCompiler> publisher;
    if (prebuilt != nullptr) publisher = make_prebuilt_compiler(*prebuilt, artifact_store(options_));
    PlacedJudges judges(*judges_, *devices_, where, placed, [this] { limit_compilers(); });
    return evaluate_candidate(adapted, std::move(record),
                              {.device = backends_of(device),
                               .stand_in = stand_in,
                               .judges = judges,
                               .compiler = publisher ? *publisher : *device.compiler,
                               .memory = *memory_,
                               .compilers = compilers_,
                               .now = std::chrono::steady_clock::now,
                               .prebuilt = prebuilt,
                               .sanitizers = sanitizers_.get(),
                               .compile_for = extras.compile_for},
                              progress, std::move(stop));
  }

  Result<TaskDescription> describe_on(const Device& device, const TaskSource& task, const EvaluationOptions& options,
                                      std::stop_token stop) {
    const bool is_timed = options.mode == EvaluationMode::Full;
    std::vector<JudgePlace> here{{judge_task(task, options, device.gpu), device.gate.get()}};
    KERNELGEN_TRY(auto session, judges_->try_open(here.front(), stop));
    auto admitted = session ? std::optional<AdmittedTask>(*session) : judges_->known(here.front().task);
    if (!admitted) {
      auto beside = judges_->admit(here, {}, stop);
      KERNELGEN_TRY(admitted, std::move(beside.task));
    }
    if (!session && (!admitted || (is_timed && admitted->admission.scored))) {
      auto opened = judges_->open(here, {}, stop);
      KERNELGEN_TRY(session, std::move(opened.session));
      admitted = *session;
    }
    auto description = admitted->description;
    description.labels = admitted->admission.labels;
    // The judge may have been started for a task with another name and the same text.
    description.name = task.name;
    if (is_timed && admitted->admission.scored) {
      const bool on_gpu = device.gpu.has_value();
      KERNELGEN_TRY(description.reference_time, time_reference_alone(*session, *device.gate, on_gpu, std::move(stop)));
    }
    return description;
  }

  /// Profiles with nothing else on the device, and in the sandbox, as a client's code always is here.
  Result<Profile> profile_on(const Device& device, const RemoteProfileRequest& request, const std::stop_token& stop) {
    const auto& what = request.what;
    KERNELGEN_TRY(const auto stand_in, stand_in_of(what.candidate.target, device));
    if (stand_in) return unavailable_profile("its kernels are executed on another device than they are written for");
    ProfileRequest wanted{.task = what.task,
                          .candidate = what.candidate,
                          .artifact = {},
                          .precision = what.options.precision,
                          .shrink = what.options.shrink,
                          .gpu = device.gpu,
                          .counters = request.counters,
                          .metric_set = request.metric_set};
    {
      KERNELGEN_TRY(const auto build, device.gate->acquire_for_build(stop));
      KERNELGEN_TRY(auto failed, build_for_profile(wanted, *device.compiler, stop));
      if (failed) return *std::move(failed);
    }
    KERNELGEN_TRY(const auto lock, device.gate->acquire_exclusive(stop));
    return profiler_->profile(wanted, stop);
  }

  /// The request for a device. `task` and `options` must outlive the answer. Requires: the options' threads are
  /// resolved.
  DeviceRequest device_request(Target target, const TaskSource& task, const EvaluationOptions& options) {
    return {
        .target = target,
        .suitable = traits_of(target).device,
        .asked = options.device,
        .task = judge_key(judge_task(task, options, std::nullopt)),
        .judge = [&](const auto& gpu) { return judges_->state_of(judge_task(task, options, gpu)); },
    };
  }

  /// Adapts the number of compilers to the number of GPUs in use.
  void limit_compilers() {
    const std::scoped_lock lock(limit_mutex_);
    compilers_.limit(max_parallel_compilers(devices_->used_gpus(), cpu_.usable_cores));
  }

  Result<EvaluationRecord> begin_record(const EvaluationRequest& request, const Device& device, std::stop_token stop) {
    EvaluationRecord record;
    record.id = random_id();
    record.started = utc_now_iso8601(std::chrono::system_clock::now);
    record.task_name = request.task.name;
    record.task_content_id = request.task.content_id;
    record.candidate_id = request.candidate.id;
    record.target = request.candidate.target;
    record.language = request.candidate.language;
    record.precision = request.options.precision;
    record.mode = request.options.mode;
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
  /// Makes counting the GPUs and setting the limit atomic.
  std::mutex limit_mutex_;
  Slots compilers_;
  std::unique_ptr<SharedMemorySource> memory_;
  std::unique_ptr<ProcessRunner> processes_;
  std::unique_ptr<Sanitizers> sanitizers_;
  std::unique_ptr<Profiler> profiler_;
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
