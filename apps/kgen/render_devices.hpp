#pragma once

#include <string>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen::cli {

/// What a machine can evaluate on, a block for each device. Pure. Ends with a line end.
[[nodiscard]] std::string render_devices(const CpuFacts& cpu, const GpuReading& reading);
/// The same for programs: {"cpu": LINE, "gpus": [FACTS], "reason": WHY THERE ARE NONE}.
[[nodiscard]] std::string devices_to_json(const CpuFacts& cpu, const GpuReading& reading);

/// What is known of GPUs, one a line. Pure. Ends with a line end.
[[nodiscard]] std::string render_catalog(const GpuCatalog& catalog);
/// The same for programs, complete: {"gpus": [{"facts", "also", "source"}]}.
[[nodiscard]] std::string catalog_to_json(const GpuCatalog& catalog);

}  // namespace kernelgen::cli
