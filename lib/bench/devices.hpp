#pragma once

/// \file
/// The devices of this host, each with what an evaluation on it needs. Which one an evaluation gets is decided here.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include <kernelgen/bench/worker.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

#include "bench/evaluation.hpp"
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

/// Thread-safe. A device is set up when it is first asked for.
class Devices {
 public:
  virtual ~Devices() = default;
  [[nodiscard]] virtual Device& cpu() = 0;
  /// The device for a target. `asked`: "cpu", a GPU by index, UUID or name, or empty: a GPU where the target can use
  /// one and one is there. MissingDevice or InvalidArgument when that cannot be.
  [[nodiscard]] virtual Result<Device*> choose(Target target, std::string_view asked, std::stop_token stop) = 0;
};

/// `processes` must outlive the answer.
[[nodiscard]] Result<std::unique_ptr<Devices>> make_devices(const WorkerOptions& options,
                                                            std::map<std::string, std::string> runner_environment,
                                                            ProcessRunner& processes);

}  // namespace v0
}  // namespace kernelgen
