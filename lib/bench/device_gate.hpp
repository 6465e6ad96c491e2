#pragma once

#include <memory>
#include <string>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// Work that disturbs a measurement shares the device. A measurement also excludes those of other workers on this host,
/// through a lock on `lock_file`, which is made when missing.
[[nodiscard]] std::unique_ptr<DeviceGate> make_device_gate(std::string lock_file);

/// Whether somebody measures there now, of this worker or another.
[[nodiscard]] bool is_held(const std::string& lock_file);

}  // namespace v0
}  // namespace kernelgen
