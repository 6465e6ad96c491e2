#pragma once

/// \file
/// Decides whether, and within which limits, a Python candidate is built before it occupies a device. Pure.

#include <string_view>

#include <kernelgen/bench/benchmarker.hpp>

#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// True if a Python candidate may compile something. A candidate that only calls torch's own kernels gains less from
/// building ahead than the extra process costs.
[[nodiscard]] bool may_build(std::string_view source);

/// The limits of building ahead.
[[nodiscard]] StepLimits build_ahead_limits(const EvaluationOptions& options, bool on_device);

}  // namespace v0
}  // namespace kernelgen
