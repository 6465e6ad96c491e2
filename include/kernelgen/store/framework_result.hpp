#pragma once

/// \file
/// Records as the HIP framework's scripts read them: ours, with the members of its result files beside them.

#include <optional>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What a result file says besides the record.
struct FrameworkResult {
  /// Path of the task.
  std::string problem{};
  /// Path of the candidate's source.
  std::string code_path{};
  /// Profile of the candidate, where there is one.
  std::optional<Profile> profile{};
  /// The GPU of the profile, for findings that depend on its size.
  std::optional<GpuFacts> gpu{};
};

/// The record as to_json() writes it, and parse_record() reads it, with these members at its end
/// (docs/hip_framework.md): problem, code_path, compile_success, accuracy_pass, max_diff, mean_diff, has_nan, has_inf,
/// ref_time_ms, new_time_ms, speedup, perf_analysis, rocprof_metrics, error.
[[nodiscard]] std::string to_framework_json(const EvaluationRecord& record, const FrameworkResult& result);

}  // namespace v0
}  // namespace kernelgen
