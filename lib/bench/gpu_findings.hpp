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

/// Facts about the GPUs of a machine, and the tools for them.
struct GpuEnvironment {
  Result<GpuInventory> reading = Error{ErrorCode::NotFound, "not looked for", {}};
  /// True if the machine has an NVIDIA card, with or without a driver.
  bool has_card = false;
  /// The path of nvcc, or why there is none.
  Result<std::string> nvcc = Error{ErrorCode::MissingTool, "not looked for", {}};
  /// Version of nvcc, {13, 0}; zeros if nvcc did not report it.
  std::pair<int, int> nvcc_release{0, 0};
  /// The processes on the devices now, one a line, as nvidia-smi lists them.
  std::string processes;
};

/// The CUDA version of the driver, {13, 0}, from the first NVIDIA device; nothing without one.
[[nodiscard]] std::optional<std::pair<int, int>> driver_release(const GpuEnvironment& situation);

/// The findings "GPU", "nvcc" where it matters, and "GPU use" where foreign processes use it.
[[nodiscard]] std::vector<DoctorFinding> gpu_findings(const GpuEnvironment& situation);

/// The problem with a torch for this CUDA version ("13.0", empty for none) on this machine; nothing if it works.
[[nodiscard]] std::optional<DoctorFinding> torch_on_gpu(const GpuEnvironment& situation,
                                                        const std::string& torch_version, const std::string& torch_cuda,
                                                        const std::string& python);

/// True if <root>/sys shows an NVIDIA card on the PCI bus.
[[nodiscard]] bool has_nvidia_card(const std::string& root);

}  // namespace v0
}  // namespace kernelgen
