#pragma once

/// \file
/// Reads profilers' reports: for runs on machines that kernelgen does not reach.

#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/device/gpu.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Reads the reports of one run, or of the passes of one run (counters that do not fit one pass are in several), each
/// as the content of a file: Nsight Compute (`ncu --csv --page raw`), rocprof (v1), rocprofv2 (file plugin), and
/// rocprofv3 (kernel_trace and counter_collection as CSV, JSON, and the database of rocpd). The content tells which one
/// it is. All launches count, warm-up calls too. Profile::unavailable for an empty report; InvalidArgument, with the
/// number of the report, for anything else. Pure; accepts any bytes.
[[nodiscard]] Result<Profile> read_profile_reports(const std::vector<std::string>& texts);

/// The facts of the device that reports name, from a catalog. For one that is not in it, the maker alone, where the
/// profiler tells it; nothing otherwise. Pure.
[[nodiscard]] std::optional<GpuFacts> reported_gpu(const Profile& profile, const GpuCatalog& catalog);

}  // namespace v0
}  // namespace kernelgen
