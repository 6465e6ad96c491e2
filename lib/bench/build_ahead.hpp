#pragma once

/// \file
/// Whether, and within which limits, a Python candidate is built before it occupies a device. Pure.

#include <string_view>

#include <kernelgen/bench/benchmarker.hpp>

#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// Whether a Python candidate may compile something. For a candidate that calls torch's own kernels only, a process
/// that builds ahead costs more than it gains.
[[nodiscard]] bool may_build(std::string_view source);

/// The limits of building ahead.
[[nodiscard]] StepLimits build_ahead_limits(const EvaluationOptions& options, bool on_device);

}  // namespace v0
}  // namespace kernelgen
