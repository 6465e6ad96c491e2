#pragma once

/// \file
/// The doctor's findings about GPUs, as pure functions of what was read.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace v0 {

/// What was read from the machine.
struct GpuSituation {
  Result<GpuInventory> reading = Error{ErrorCode::NotFound, "not looked for", {}};
  /// The machine has an NVIDIA card, whether or not its driver is there.
  bool has_card = false;
  /// The path of nvcc, or why there is none.
  Result<std::string> nvcc = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// {13, 0}; zeros where nvcc did not say.
  std::pair<int, int> nvcc_release{0, 0};
  /// The processes on the devices now, one a line, as nvidia-smi lists them.
  std::string processes;
};

/// The driver's {13, 0}, of the first NVIDIA device; nothing without one.
[[nodiscard]] std::optional<std::pair<int, int>> driver_release(const GpuSituation& situation);

/// The findings "GPU", "nvcc" where it matters, and "GPU use" where foreign processes use it.
[[nodiscard]] std::vector<DoctorFinding> gpu_findings(const GpuSituation& situation);

/// The problem with a torch of that CUDA version ("13.0", empty for none) on this machine; nothing when it will work.
[[nodiscard]] std::optional<DoctorFinding> torch_on_gpu(const GpuSituation& situation, const std::string& torch_version,
                                                        const std::string& torch_cuda, const std::string& python);

/// A card of NVIDIA's on the PCI bus, as <root>/sys shows it.
[[nodiscard]] bool has_nvidia_card(const std::string& root);

}  // namespace v0
}  // namespace kernelgen
