#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kgen_runner {

/// The number in the name of a GPU's device node, as NVIDIA's driver reports it below `driver_directory`; nothing where
/// it is unknown.
[[nodiscard]] std::optional<std::string> minor_of(const std::string& uuid,
                                                  const std::string& driver_directory = "/proc/driver/nvidia/gpus");

/// Device nodes that a runner needs for its GPU, among those in `dev`: /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm,
/// ...; none of other GPUs, unless the driver does not report the numbers. Names as in /dev.
[[nodiscard]] std::vector<std::string> gpu_nodes(const std::optional<std::string>& minor,
                                                 const std::string& dev = "/dev");

}  // namespace kgen_runner
