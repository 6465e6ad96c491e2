#pragma once

/// \file
/// What the doctor says about GPUs, from what was found. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace v0 {

/// What was found.
struct GpuSituation {
  Result<GpuReading> reading = Error{ErrorCode::NotFound, "not looked for", {}};
  /// The machine has an NVIDIA card, whether or not its driver is there.
  bool has_card = false;
  /// Where nvcc lies, or why there is none.
  Result<std::string> nvcc = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// {13, 0}; zeros where nvcc did not say.
  std::pair<int, int> nvcc_release{0, 0};
  /// What runs on the devices now, one process a line, as nvidia-smi lists it.
  std::string processes;
};

/// The driver's {13, 0}, of the first NVIDIA device; nothing without one.
[[nodiscard]] std::optional<std::pair<int, int>> driver_release(const GpuSituation& situation);

/// Findings "GPU", "nvcc" where it matters, "GPU use" where somebody else uses it.
[[nodiscard]] std::vector<DoctorFinding> gpu_findings(const GpuSituation& situation);

/// What is wrong with a torch of that CUDA version ("13.0", empty for none) on this machine; nothing when it will do.
[[nodiscard]] std::optional<DoctorFinding> torch_on_gpu(const GpuSituation& situation, const std::string& torch_version,
                                                        const std::string& torch_cuda, const std::string& python);

/// A card of NVIDIA's on the PCI bus, as <root>/sys shows it.
[[nodiscard]] bool has_nvidia_card(const std::string& root);

}  // namespace v0
}  // namespace kernelgen
