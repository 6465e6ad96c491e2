#pragma once

/// \file
/// Profiles out of what profilers wrote: for runs that somebody else made, on a machine that kernelgen does not reach.

#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Reads the tables of one run, or of the passes of one run (counters that do not fit one pass are in several): Nsight
/// Compute (`ncu --csv --page raw`), rocprof (v1), rocprofv2 (file plugin), rocprofv3 (kernel_trace and
/// counter_collection, `--output-format csv`). Which it is follows from the names in the header. All launches count,
/// warm-up calls too. Profile::unavailable where a table is there and nothing in it; InvalidArgument for what has no
/// table, with the number of the text. Pure; any text is survived.
[[nodiscard]] Result<Profile> read_profile_reports(const std::vector<std::string>& texts);

}  // namespace v0
}  // namespace kernelgen
