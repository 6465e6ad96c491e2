#include "platform/built_in.hpp"

namespace kernelgen {
inline namespace v0 {

/// The device of the tests: a driver that computes on the processor.
Platform fake_platform() {
  Platform platform;
  platform.vendor = "fake";
  platform.maker = "fake";
  platform.toolkit = "CUDA";
  platform.choosing_variable = "CUDA_VISIBLE_DEVICES";
  platform.has_compute_sanitizer = true;
  platform.compiler = DeviceCompiler::HostCpp;
  platform.label = "fake device: a time is no result";
  platform.serves_all = true;
  return platform;
}

}  // namespace v0
}  // namespace kernelgen
