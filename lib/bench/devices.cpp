#include "bench/devices.hpp"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <list>
#include <mutex>

#include <kernelgen/compile/local_compiler.hpp>
#include <kernelgen/device/cpu.hpp>
#include <kernelgen/platform/platform.hpp>

#include "bench/device_gate.hpp"
#include "bench/emulator.hpp"
#include "bench/runner_pool.hpp"
#include "compile/compiler_table.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Compilers = std::vector<std::unique_ptr<KernelCompiler>>;

constexpr std::string_view k_cpu = "cpu";

class LocalDevices final : public Devices {
 public:
  LocalDevices(const WorkerOptions& options, std::map<std::string, std::string> runner_environment,
               ProcessRunner& processes)
      : options_(options), runner_environment_(std::move(runner_environment)), processes_(processes) {}

  Result<void> start() {
    KERNELGEN_TRY(auto facts, read_cpu_facts());
    cpu_.line = facts.to_line();
    cpu_.gate = make_device_gate(options_.device_lock);
    cpu_.runners = make_runner_pool(runner_options(std::nullopt));
    KERNELGEN_TRY(cpu_.compiler, make_compiler({}));
    return {};
  }

  Result<PlacedDevice> place(const DeviceRequest& request, std::stop_token stop) override {
    const bool on_cpu_only = request.suitable == TargetDevice::Cpu;
    const bool on_gpu_only = request.suitable == TargetDevice::Gpu;
    const auto& asked = request.asked;
    if (asked == k_emulated_gpu) return on_emulator(request, std::move(stop));
    if (on_cpu_only && !asked.empty() && asked != k_cpu)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{} kernels run on the cpu, not on {}", to_string(request.target), asked)};
    if (on_gpu_only && asked == k_cpu && request.target != Target::Hip)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{} kernels need a GPU, not the cpu{}", to_string(request.target),
                               request.target == Target::Hipkittens
                                   ? ": they are written for matrix instructions, which it does not execute"
                                   : "")};
    if (on_cpu_only || asked == k_cpu) return on_processor(cpu_, request);
    const std::scoped_lock lock(mutex_);
    KERNELGEN_TRY(const auto* reading, read(stop));
    if (reading->gpus.empty() && asked.empty() && !on_gpu_only) return on_processor(cpu_, request);
    KERNELGEN_TRY(const auto suitable, suitable_gpus(*reading, request));
    auto chosen = choose_gpu(suitable, catalog_, asked);
    if (!chosen && request.target == Target::Hip && asked.empty()) {
      auto error = std::move(chosen).error();
      error.message += advice_for_hip();
      return error;
    }
    KERNELGEN_TRY(const auto first, std::move(chosen));
    const auto gpus = asked.empty() ? gpus_like_first(suitable) : std::vector{first};
    std::vector<Placement::Choice> choices;
    choices.reserve(gpus.size());
    for (const auto& gpu : gpus)
      choices.push_back({gpu.uuid, request.judge(gpu), external_work_of(gpu), request.tried.contains(gpu.uuid)});
    auto reservation = placement_.reserve(request.task, choices);
    auto& gpu = device_of(gpus[reservation->index()]);
    return PlacedDevice{&gpu.device, gpu.facts.uuid, std::move(reservation)};
  }

  std::vector<PeerDevice> peers(const PlacedDevice& placed, const DeviceRequest& request) override {
    std::vector<PeerDevice> found;
    if (!request.asked.empty() || placed.uuid.empty()) return found;
    const std::scoped_lock lock(mutex_);
    const auto suitable = suitable_gpus(reading_, request);
    if (!suitable) return found;
    for (const auto& facts : gpus_like_first(*suitable)) {
      if (facts.uuid == placed.uuid || request.tried.contains(facts.uuid)) continue;
      auto& gpu = device_of(facts);
      found.push_back({&gpu.device, facts, [this, &gpu] {
                         return gpu.ready && !placement_.is_avoided(gpu.facts.uuid) && !gpu.device.gate->is_held();
                       }});
    }
    return found;
  }

  void move(PlacedDevice& placed, const PeerDevice& peer) override {
    placed.reservation->move_to(peer.facts.uuid);
    placed.device = peer.device;
    placed.uuid = peer.facts.uuid;
  }

  Result<void> set_up(const PlacedDevice& placed, std::stop_token stop) override {
    Gpu* gpu = nullptr;
    {
      const std::scoped_lock lock(mutex_);
      for (auto& one : gpus_)
        if (&one.device == placed.device) gpu = &one;
    }
    return gpu == nullptr ? Result<void>() : set_up(*gpu, std::move(stop));
  }

  void quarantine(const std::string& uuid) override { placement_.quarantine(uuid); }
  void mark_shared(const std::string& uuid) override { placement_.mark_shared(uuid); }
  int used_gpus() const override { return placement_.used_gpus(); }

  Result<int> count_gpus(std::stop_token stop) override {
    const std::scoped_lock lock(mutex_);
    KERNELGEN_TRY(const auto* reading, read(stop));
    return static_cast<int>(gpus_like_first(*reading).size());
  }

 private:
  /// A GPU. The members besides `device` guard its setup, after which it does not change.
  struct Gpu {
    explicit Gpu(GpuFacts read) : facts(std::move(read)) {}
    const GpuFacts facts;
    std::mutex mutex;
    std::atomic<bool> ready = false;
    Device device;
  };

  Result<PlacedDevice> on_processor(Device& device, const DeviceRequest& request) {
    return PlacedDevice{&device, "", placement_.reserve(request.task, {{"", request.judge(std::nullopt)}})};
  }

  Result<PlacedDevice> on_emulator(const DeviceRequest& request, std::stop_token stop) {
    if (traits_of(request.target).gpu_vendor != "amd" || !is_native(request.target))
      return Error{ErrorCode::InvalidArgument, fmt::format("{} kernels do not run on {}, which executes hip",
                                                           to_string(request.target), k_emulated_gpu)};
    const std::scoped_lock lock(mutex_);
    if (!emulator_) {
      KERNELGEN_TRY(emulator_, make_emulator(std::move(stop)));
    }
    return on_processor(*emulator_, request);
  }

  /// Requires: the mutex is held.
  Result<Device> make_emulator(std::stop_token stop) {
    KERNELGEN_TRY(const auto emulator, find_emulator(options_.environment));
    KERNELGEN_CHECK(read_catalog());
    KERNELGEN_TRY(auto gpu, read_emulated_gpu(emulator, probe_options(), catalog_, processes_, std::move(stop)));
    auto runners = runner_options(std::nullopt);
    runners.emulator = emulator;
    Device device{.line = fmt::format("{}: {}, by rocjitsu", k_emulated_gpu, gpu.architecture),
                  .gate = make_device_gate(options_.device_lock),
                  .runners = make_runner_pool(std::move(runners)),
                  .is_emulator = true};
    KERNELGEN_TRY(device.compiler, make_compiler(gpu));
    return device;
  }

  Result<void> read_catalog() {
    if (!catalog_.empty()) return {};
    KERNELGEN_TRY(catalog_, read_gpu_catalog(options_.installation.devices_dir));
    return {};
  }

  /// The GPUs. They are looked for again while there is none, because a driver may be loaded late. Requires: the mutex
  /// is held.
  Result<const GpuInventory*> read(const std::stop_token& stop) {
    KERNELGEN_CHECK(read_catalog());
    if (reading_.gpus.empty()) {
      KERNELGEN_TRY(reading_, read_gpus(probe_options(), catalog_, processes_, stop));
    }
    return &reading_;
  }

  /// The GPUs of the target's vendor, where no GPU is asked for: on a machine with several vendors the target chooses.
  static Result<GpuInventory> suitable_gpus(const GpuInventory& reading, const DeviceRequest& request) {
    const auto& vendor = traits_of(request.target).gpu_vendor;
    if (!request.asked.empty() || reading.gpus.empty()) return reading;
    if (auto suitable = gpus_for(reading, vendor); !suitable.gpus.empty()) return suitable;
    const auto absent = reading.absent.find(vendor);
    return Error{ErrorCode::MissingDevice,
                 fmt::format("{} kernels need a GPU of {}'s; there is {}{}{}", to_string(request.target),
                             platform_of(vendor).maker, reading.gpus.front().to_line(),
                             absent == reading.absent.end() ? std::string() : "; " + absent->second,
                             request.target == Target::Hip ? advice_for_hip() : std::string_view())};
  }

  /// Requires: the mutex is held.
  Gpu& device_of(const GpuFacts& facts) {
    for (auto& gpu : gpus_)
      if (gpu.facts.uuid == facts.uuid) return gpu;
    return gpus_.emplace_back(facts);
  }

  /// Work of others on the GPU: 1 if a worker measures, or the driver says that it works, while this worker has nothing
  /// there; else 0. Memory tells nothing: judges that wait hold some.
  [[nodiscard]] int external_work_of(const GpuFacts& gpu) const {
    if (placement_.active_count(gpu.uuid) != 0) return 0;
    if (is_measuring(lock_file(gpu))) return 1;
    const auto use = platform_of(gpu.vendor).read_use(gpu.uuid, "/");
    return use && use->is_busy() ? 1 : 0;
  }

  /// Sets up a GPU. Waits for measurements on this device only.
  Result<void> set_up(Gpu& gpu, std::stop_token stop) {
    const std::scoped_lock lock(gpu.mutex);
    if (gpu.ready) return {};
    auto& device = gpu.device;
    device.gpu = gpu.facts;
    device.line = gpu.facts.to_line();
    device.gate = make_device_gate(lock_file(gpu.facts));
    if (!device.gpu->measured_bytes_per_second) {
      KERNELGEN_TRY(const auto alone, device.gate->acquire_exclusive(stop));
      KERNELGEN_TRY(device.gpu->measured_bytes_per_second,
                    measure_gpu_bandwidth(gpu.facts, probe_options(), processes_, stop));
    }
    KERNELGEN_TRY(device.gpu->memory_sharing, find_memory_sharing(gpu.facts, probe_options(), processes_, stop));
    device.runners = make_runner_pool(runner_options(gpu.facts));
    KERNELGEN_TRY(device.compiler, make_compiler(gpu.facts));
    gpu.ready = true;
    return {};
  }

  [[nodiscard]] GpuProbeOptions probe_options() const {
    return {.program = options_.installation.gpu_probe,
            .environment = options_.environment,
            .cache_dir = options_.cache_dir};
  }

  /// The lock file of a GPU, in the directory of the lock file of the processor. All users and workers of a host share
  /// it.
  [[nodiscard]] std::string lock_file(const GpuFacts& gpu) const {
    const auto directory = std::filesystem::path(options_.device_lock).parent_path();
    return (directory / ("kernelgen." + gpu.uuid + ".lock")).string();
  }

  [[nodiscard]] RunnerPoolOptions runner_options(std::optional<GpuFacts> gpu) const {
    return {.installation = options_.installation,
            .python = options_.python,
            .environment = runner_environment_,
            .builds_dir = options_.cache_dir.empty() ? std::string()
                                                     : (std::filesystem::path(options_.cache_dir) / "builds").string(),
            .gpu = std::move(gpu)};
  }

  /// Makes the compiler of a device: of native candidates, and of Python ones, which it only stores.
  Result<std::unique_ptr<KernelCompiler>> make_compiler(const std::optional<GpuFacts>& gpu) const {
    Compilers compilers;
    KERNELGEN_TRY(auto native, make_local_compiler({.installation = options_.installation,
                                                    .cache_dir = options_.cache_dir,
                                                    .gpu = gpu,
                                                    .environment = options_.environment,
                                                    .compiler = options_.compiler},
                                                   processes_));
    compilers.push_back(std::move(native));
    compilers.push_back(make_python_publisher(artifact_store(options_)));
    return make_compiler_table(std::move(compilers));
  }

  const WorkerOptions options_;
  const std::map<std::string, std::string> runner_environment_;
  ProcessRunner& processes_;
  Device cpu_;
  std::mutex mutex_;
  /// Set when it is used.
  std::optional<Device> emulator_;
  GpuCatalog catalog_;
  GpuInventory reading_;
  /// A list, because addresses of its elements stay valid.
  std::list<Gpu> gpus_;
  Placement placement_;
};

}  // namespace

std::string_view advice_for_hip() {
  return "; the cpu executes hip kernels on request, for correctness and without a time; a named NVIDIA GPU does, too";
}

std::string artifact_store(const WorkerOptions& options) {
  return (std::filesystem::path(options.cache_dir) / "artifacts").string();
}

Result<std::unique_ptr<Devices>> make_devices(const WorkerOptions& options,
                                              std::map<std::string, std::string> runner_environment,
                                              ProcessRunner& processes) {
  auto devices = std::make_unique<LocalDevices>(options, std::move(runner_environment), processes);
  KERNELGEN_CHECK(devices->start());
  return std::unique_ptr<Devices>(std::move(devices));
}

}  // namespace v0
}  // namespace kernelgen
