#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// Time after which a build no longer blocks measurements.
inline constexpr std::chrono::milliseconds k_build_blocks_for{10'000};

/// Makes the gate of one device. An exclusive hold also excludes measurements of other workers on this host, through a
/// lock on `lock_file`, which is created if it does not exist. A build older than `build_blocks_for` no longer excludes
/// anything.
[[nodiscard]] std::unique_ptr<DeviceGate> make_device_gate(
    std::string lock_file, std::chrono::milliseconds build_blocks_for = k_build_blocks_for);

/// True while this worker or another one measures on the device with this lock file.
[[nodiscard]] bool is_measuring(const std::string& lock_file);

}  // namespace v0
}  // namespace kernelgen
