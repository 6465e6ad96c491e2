#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kgen_runner {

/// The number in the name of a GPU's node, as NVIDIA's driver tells it below `told`; nothing where it does not.
[[nodiscard]] std::optional<std::string> minor_of(const std::string& uuid,
                                                  const std::string& told = "/proc/driver/nvidia/gpus");

/// The nodes that a runner on this GPU needs, of those in `dev`: /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, ...; of
/// other GPUs none, unless the driver does not tell which is whose. Names as in /dev.
[[nodiscard]] std::vector<std::string> gpu_nodes(const std::optional<std::string>& minor,
                                                 const std::string& dev = "/dev");

}  // namespace kgen_runner
