#pragma once

#include <string>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen::cli {

/// A block of facts for each device of a machine. Pure. Ends with a line end.
[[nodiscard]] std::string render_devices(const CpuFacts& cpu, const GpuInventory& reading);
/// The devices as JSON: {"cpu": LINE, "gpus": [FACTS], "reason": WHY THERE ARE NONE}.
[[nodiscard]] std::string devices_to_json(const CpuFacts& cpu, const GpuInventory& reading);

/// A table of the GPUs that are known, one a line. Pure. Ends with a line end.
[[nodiscard]] std::string render_catalog(const GpuCatalog& catalog);
/// The table as JSON, with all facts: {"gpus": [{"facts", "also", "source"}]}.
[[nodiscard]] std::string catalog_to_json(const GpuCatalog& catalog);

}  // namespace kernelgen::cli
