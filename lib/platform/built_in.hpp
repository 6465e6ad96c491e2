#pragma once

/// \file
/// The platforms that kernelgen has by itself.

#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {

[[nodiscard]] Platform nvidia_platform();
[[nodiscard]] Platform amd_platform();
[[nodiscard]] Platform fake_platform();

}  // namespace v0
}  // namespace kernelgen
