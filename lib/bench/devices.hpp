#pragma once

/// \file
/// The devices of this host, each with its gate, runners and compiler, and how an evaluation gets one.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

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
  /// True if the processor emulates a GPU. Then `gpu` is unset.
  bool is_emulator = false;
};

/// A request for a device.
struct DeviceRequest {
  /// The target, for messages.
  Target target = Target::Cpp;
  /// The devices that its kernels run on.
  TargetDevice suitable = TargetDevice::Cpu;
  /// "cpu", "amd:emulated", or a GPU by index, UUID or name. Empty: a GPU if the target can use one and the machine has
  /// one; among those of the same model as the first, the one that will finish the work first.
  std::string asked;
  /// A key that requests which can share a judge have in common.
  std::string task;
  /// Returns the state of the task's judge on a device; unset device: the processor.
  std::function<JudgeState(const std::optional<GpuFacts>&)> judge;
  /// UUIDs of devices to which any other one is preferred.
  std::set<std::string> tried{};
};

/// A device, with a reservation of it for as long as this object lives. The work may move: see Devices::peers().
struct PlacedDevice {
  /// The device. Requires before use: set_up().
  Device* device = nullptr;
  /// Its UUID; empty: the processor.
  std::string uuid;
  std::unique_ptr<Placement::Reservation> reservation;
};

/// A device that serves a request as well as the one where it was placed.
struct PeerDevice {
  /// Requires before use: is_free() has returned true.
  Device* device = nullptr;
  GpuFacts facts;
  /// Whether it may take work over now: it is set up, nothing holds it, and nothing speaks against it. Does not wait.
  std::function<bool()> is_free;
};

/// All devices. Thread-safe. It must outlive its places.
class Devices {
 public:
  virtual ~Devices() = default;
  /// Chooses a device and reserves it. MissingDevice or InvalidArgument when there is none.
  [[nodiscard]] virtual Result<PlacedDevice> place(const DeviceRequest& request, std::stop_token stop) = 0;
  /// The other devices among which a request was placed, but for those that were tried. None for a request that names
  /// its device.
  [[nodiscard]] virtual std::vector<PeerDevice> peers(const PlacedDevice& placed, const DeviceRequest& request) = 0;
  /// Gives up the reservation for one of a peer, which has a judge for the work.
  virtual void move(PlacedDevice& placed, const PeerDevice& peer) = 0;
  /// Makes the device usable; only the first call for a device takes time.
  virtual Result<void> set_up(const PlacedDevice& placed, std::stop_token stop) = 0;
  /// Avoids, for a while, a GPU that could not be used, for requests that name none.
  virtual void quarantine(const std::string& uuid) = 0;
  /// Prefers, for a while, other GPUs to one that foreign processes use, for requests that name none.
  virtual void mark_shared(const std::string& uuid) = 0;
  /// The number of GPUs with an evaluation.
  [[nodiscard]] virtual int used_gpus() const = 0;
  /// The number of GPUs that requests without a device are spread over.
  [[nodiscard]] virtual Result<int> count_gpus(std::stop_token stop) = 0;
};

/// What to do without a GPU for `hip` kernels; the end of a message.
[[nodiscard]] std::string_view advice_for_hip();

/// The content store of the worker's artifacts.
[[nodiscard]] std::string artifact_store(const WorkerOptions& options);

/// Makes the devices of this host. `processes` must outlive them.
[[nodiscard]] Result<std::unique_ptr<Devices>> make_devices(const WorkerOptions& options,
                                                            std::map<std::string, std::string> runner_environment,
                                                            ProcessRunner& processes);

}  // namespace v0
}  // namespace kernelgen
