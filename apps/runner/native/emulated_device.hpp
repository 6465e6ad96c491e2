#pragma once

/// \file
/// A GPU that AMD's emulator rocjitsu executes on the processor, in this process.

#include <memory>
#include <string>

#include "../runner_protocol.h"
#include "device.hpp"

namespace kgen_runner {

/// Its kernels work on the host's memory. One thread at a time.
class EmulatedDevice {
 public:
  /// Requires: the dynamic linker has loaded the emulator, before this program; ROCJITSU_RUNTIME_DIR names the
  /// directory where it looks for the path of its configuration. nullptr, with the reason in `error`, where it does not
  /// start.
  [[nodiscard]] static std::unique_ptr<EmulatedDevice> open(const std::string& config, std::string& error);

  [[nodiscard]] void* stream() const { return device_->stream(); }
  /// Waits for the work that was queued. The reply gets its fault, or a race between its wavefronts.
  void finish(kgen_reply& reply);

 private:
  EmulatedDevice(std::unique_ptr<Device> device, std::string races)
      : device_(std::move(device)), races_(std::move(races)) {}

  std::unique_ptr<Device> device_;
  /// The file in which the emulator reports races.
  std::string races_;
};

}  // namespace kgen_runner
