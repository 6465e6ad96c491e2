#pragma once

#include <memory>
#include <string>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// The CPU as a device: compiling and admitting disturb a measurement, so they share it. A measurement also excludes
/// those of other workers on this host, through a lock on `lock_file`, which is made when missing.
[[nodiscard]] std::unique_ptr<DeviceGate> make_cpu_gate(std::string lock_file);

}  // namespace v0
}  // namespace kernelgen
