#include "bench/devices.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <list>
#include <mutex>

#include <kernelgen/device/cpu.hpp>

#include "bench/device_gate.hpp"
#include "bench/runner_pool.hpp"
#include "compile/compiler_table.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Compilers = std::vector<std::unique_ptr<KernelCompiler>>;

constexpr std::string_view k_cpu = "cpu";

bool needs_gpu(Target target) { return is_native(target) && target != Target::Cpp; }

class LocalDevices final : public Devices {
 public:
  LocalDevices(const WorkerOptions& options, std::map<std::string, std::string> runner_environment,
               ProcessRunner& processes)
      : options_(options),
        runner_environment_(std::move(runner_environment)),
        processes_(processes),
        store_((std::filesystem::path(options.cache_dir) / "artifacts").string()) {}

  Result<void> start() {
    KERNELGEN_TRY(auto facts, read_cpu_facts());
    cpu_.line = facts.to_line();
    cpu_.gate = make_device_gate(options_.device_lock);
    cpu_.runners = make_runner_pool(runner_options(std::nullopt));
    KERNELGEN_TRY(cpu_.compiler, make_compiler(Target::Cpp, {}));
    return {};
  }

  Device& cpu() override { return cpu_; }

  Result<Device*> choose(Target target, std::string_view asked, std::stop_token stop) override {
    if (target == Target::Cpp && !asked.empty() && asked != k_cpu)
      return Error{ErrorCode::InvalidArgument, fmt::format("cpp kernels run on the cpu, not on {}", asked)};
    if (needs_gpu(target) && asked == k_cpu)
      return Error{ErrorCode::InvalidArgument, fmt::format("{} kernels need a GPU, not the cpu", to_string(target))};
    if (target == Target::Cpp || asked == k_cpu) return &cpu_;
    const std::scoped_lock lock(mutex_);
    KERNELGEN_TRY(const auto* reading, read(stop));
    if (reading->gpus.empty() && asked.empty() && !needs_gpu(target)) return &cpu_;
    KERNELGEN_TRY(const auto gpu, choose_gpu(*reading, catalog_, asked));
    return slot(gpu, std::move(stop));
  }

 private:
  /// Asked again while there is none: a driver may come late. Requires: the mutex is held.
  Result<const GpuReading*> read(const std::stop_token& stop) {
    if (catalog_.empty()) {
      KERNELGEN_TRY(catalog_, read_gpu_catalog(options_.installation.devices_dir));
    }
    if (reading_.gpus.empty()) {
      KERNELGEN_TRY(reading_, read_gpus(probe_options(), catalog_, processes_, stop));
    }
    return &reading_;
  }

  Result<Device*> slot(const GpuFacts& gpu, std::stop_token stop) {
    for (auto& device : gpus_)
      if (device.gpu->uuid == gpu.uuid) return &device;
    Device device{.gpu = gpu,
                  .line = gpu.to_line(),
                  .gate = make_device_gate(lock_file(gpu)),
                  .runners = make_runner_pool(runner_options(gpu)),
                  .compiler = nullptr};
    KERNELGEN_TRY(device.compiler, make_compiler(Target::Cuda, gpu));
    if (!gpu.measured_bytes_per_second) {
      KERNELGEN_TRY(const auto alone, device.gate->alone(stop));
      KERNELGEN_TRY(device.gpu->measured_bytes_per_second,
                    measure_gpu_bandwidth(gpu, probe_options(), processes_, std::move(stop)));
    }
    gpus_.push_back(std::move(device));
    return &gpus_.back();
  }

  [[nodiscard]] GpuProbeOptions probe_options() const {
    return {.program = options_.installation.gpu_probe,
            .environment = options_.environment,
            .cache_dir = options_.cache_dir};
  }

  /// Beside that of the processor; users and workers of one host meet there.
  [[nodiscard]] std::string lock_file(const GpuFacts& gpu) const {
    const auto directory = std::filesystem::path(options_.device_lock).parent_path();
    return (directory / ("kernelgen." + gpu.uuid + ".lock")).string();
  }

  [[nodiscard]] RunnerPoolOptions runner_options(std::optional<GpuFacts> gpu) const {
    return {.installation = options_.installation,
            .python = options_.python,
            .environment = runner_environment_,
            .builds_dir = (std::filesystem::path(options_.cache_dir) / "builds").string(),
            .gpu = std::move(gpu)};
  }

  /// One store: what the compilers publish there is what the cache hands out.
  Result<std::unique_ptr<KernelCompiler>> make_compiler(Target target, const std::optional<GpuFacts>& gpu) const {
    Compilers compilers;
    KERNELGEN_TRY(auto native, make_native_compiler(target, gpu));
    KERNELGEN_TRY(auto cached, make_caching_compiler(std::move(native), {.directory = store_}));
    compilers.push_back(std::move(cached));
    compilers.push_back(make_python_publisher(store_));
    return make_compiler_table(std::move(compilers));
  }

  [[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_native_compiler(Target target,
                                                                             const std::optional<GpuFacts>& gpu) const {
    CppCompilerOptions cpp{.compiler = options_.compiler,
                           .abi_dir = options_.installation.abi_dir.string(),
                           .output_dir = store_,
                           .sandbox = options_.installation.sandbox.string(),
                           .environment = options_.environment};
    if (!gpu) return make_cpp_compiler(std::move(cpp), processes_);
    // On the device of the tests, kernels are code of the host.
    if (gpu->vendor == "fake") {
      cpp.target = target;
      cpp.flags.insert(cpp.flags.end(), {"-x", "c++"});
      return make_cpp_compiler(std::move(cpp), processes_);
    }
    return make_nvcc_compiler({.architecture = gpu->architecture,
                               .abi_dir = std::move(cpp.abi_dir),
                               .output_dir = store_,
                               .sandbox = std::move(cpp.sandbox),
                               .environment = options_.environment},
                              processes_);
  }

  const WorkerOptions options_;
  const std::map<std::string, std::string> runner_environment_;
  ProcessRunner& processes_;
  const std::string store_;
  Device cpu_;
  std::mutex mutex_;
  GpuCatalog catalog_;
  GpuReading reading_;
  /// Addresses stay.
  std::list<Device> gpus_;
};

}  // namespace

Result<std::unique_ptr<Devices>> make_devices(const WorkerOptions& options,
                                              std::map<std::string, std::string> runner_environment,
                                              ProcessRunner& processes) {
  auto devices = std::make_unique<LocalDevices>(options, std::move(runner_environment), processes);
  KERNELGEN_CHECK(devices->start());
  return std::unique_ptr<Devices>(std::move(devices));
}

}  // namespace v0
}  // namespace kernelgen
