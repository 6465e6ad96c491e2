#pragma once

/// \file
/// A dispatch as AMD's profilers record it, and the launch of the common schema made of it.

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "profile/launches.hpp"

namespace kernelgen {
inline namespace v0 {

/// One dispatch of a kernel.
struct RocprofDispatch {
  /// The name as the profiler wrote it.
  std::string kernel;
  /// Counters and sizes, under the names of any of AMD's tools: "TCC_HIT_sum", "VGPR_Count", "Start_Timestamp".
  std::map<std::string, double, std::less<>> values;
};

/// Converts names and units. Counters that `all_metrics()` does not have are left out.
[[nodiscard]] KernelLaunch to_launch(const RocprofDispatch& dispatch);

}  // namespace v0
}  // namespace kernelgen
