#pragma once

/// \file
/// The devices of this host, each with what an evaluation on it needs. Which one an evaluation gets is decided here.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>

#include <kernelgen/bench/worker.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

#include "bench/evaluation.hpp"
#include "bench/placement.hpp"
#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// One device: the processor, or a GPU.
struct Device {
  /// Unset: the processor.
  std::optional<GpuFacts> gpu;
  /// "cpu: AMD EPYC, 2 cores", "NVIDIA H200 (sm_90), 132 SMs, 140 GiB".
  std::string line;
  std::unique_ptr<DeviceGate> gate;
  std::unique_ptr<RunnerSource> runners;
  std::unique_ptr<KernelCompiler> compiler;
};

/// What somebody needs a device for.
struct DeviceRequest {
  Target target = Target::Cpp;
  /// "cpu", a GPU by index, UUID or name; empty: a GPU where the target can use one and one is there, and of those that
  /// are like the first the one on which it will be done soonest.
  std::string asked;
  /// Equal for those that share a judge, were they on one device.
  std::string task;
  /// What it takes until there is a judge on a device; unset: the processor.
  std::function<JudgeNeed(const std::optional<GpuFacts>&)> judge;
  /// UUIDs of those to which any other is preferred.
  std::set<std::string> tried{};
};

/// A device on which somebody is at hand until this ends.
struct PlacedDevice {
  /// To be set up before it is used.
  Device* device = nullptr;
  /// Its UUID; empty: the processor.
  std::string uuid;
  std::unique_ptr<Placement::Place> place;
};

/// Thread-safe. It must outlive who is placed.
class Devices {
 public:
  virtual ~Devices() = default;
  /// MissingDevice or InvalidArgument when it cannot be.
  [[nodiscard]] virtual Result<PlacedDevice> place(const DeviceRequest& request, std::stop_token stop) = 0;
  /// Takes its time when it is the first for a device, and nothing later.
  virtual Result<void> set_up(const PlacedDevice& placed, std::stop_token stop) = 0;
  /// A GPU could not be used: for a while, who names none gets another one.
  virtual void bar(const std::string& uuid) = 0;
  /// A GPU that others use: for a while, who names none rather gets another one.
  virtual void mark_shared(const std::string& uuid) = 0;
  /// GPUs on which somebody is at hand.
  [[nodiscard]] virtual int used_gpus() const = 0;
  /// How many GPUs are used when nobody asks for one.
  [[nodiscard]] virtual Result<int> count_gpus(std::stop_token stop) = 0;
};

/// `processes` must outlive the answer.
[[nodiscard]] Result<std::unique_ptr<Devices>> make_devices(const WorkerOptions& options,
                                                            std::map<std::string, std::string> runner_environment,
                                                            ProcessRunner& processes);

}  // namespace v0
}  // namespace kernelgen
