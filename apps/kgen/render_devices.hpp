#pragma once

#include <map>
#include <string>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>

namespace kernelgen::cli {

/// What GPUs do now, by their UUIDs, as far as drivers tell it in files.
using GpuUses = std::map<std::string, GpuUse>;

/// A block of facts for each device of a machine. Pure. Ends with a line end.
[[nodiscard]] std::string render_devices(const CpuFacts& cpu, const GpuInventory& reading, const GpuUses& uses = {});
/// The devices as JSON: {"cpu": LINE, "gpus": [FACTS], "reason": WHY THERE ARE NONE, "absent": {VENDOR: WHY}}. FACTS
/// has "use": what the GPU does now, or null.
[[nodiscard]] std::string devices_to_json(const CpuFacts& cpu, const GpuInventory& reading, const GpuUses& uses = {});

/// A table of the GPUs that are known, one a line. Pure. Ends with a line end.
[[nodiscard]] std::string render_catalog(const GpuCatalog& catalog);
/// The table as JSON, with all facts: {"gpus": [{"facts", "also", "source"}]}.
[[nodiscard]] std::string catalog_to_json(const GpuCatalog& catalog);

}  // namespace kernelgen::cli
