#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// The time after which a build no longer keeps measurements waiting.
inline constexpr std::chrono::milliseconds k_build_patience{10'000};

/// The gate of one device. An exclusive hold also excludes measurements of other workers on this host, through a lock
/// on `lock_file`, which is made when missing. A build older than `build_patience` no longer excludes anything.
[[nodiscard]] std::unique_ptr<DeviceGate> make_device_gate(std::string lock_file,
                                                           std::chrono::milliseconds build_patience = k_build_patience);

/// Whether a measurement is under way on the device with this lock file, in this worker or another one.
[[nodiscard]] bool is_held(const std::string& lock_file);

}  // namespace v0
}  // namespace kernelgen
