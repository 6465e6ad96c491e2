#pragma once

/// \file
/// Finds rocprofv3 or rocprof, and says what to ask them for.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/profile/metrics.hpp>

#include "profile/tool_location.hpp"

namespace kernelgen {
inline namespace v0 {

/// Finds the program: `name` when given, else rocprofv3 and then rocprof, each in ROCM_PATH/bin, on the PATH and in
/// /opt/rocm/bin.
[[nodiscard]] ToolLocation locate_rocprof(const std::string& name,
                                          const std::map<std::string, std::string>& environment);

/// "rocprofv3" or "rocprof", by the name of the program.
[[nodiscard]] std::string rocprof_version(const std::string& program);

/// AMD's counters that make one metric, and must be read together.
using RocprofGroup = std::vector<std::string>;
/// Groups that the hardware counts at once.
using RocprofPass = std::vector<RocprofGroup>;

/// The passes that read the metrics of a set, as far as devices of this architecture have them.
[[nodiscard]] std::vector<RocprofPass> rocprof_passes(const MetricSet& set, std::string_view architecture);

/// The content of the file that asks for counters.
[[nodiscard]] std::string rocprof_input(const RocprofPass& pass);

/// The command line up to the program. Tables are written below the directory `output`.
[[nodiscard]] std::vector<std::string> rocprof_command(const std::string& program, const std::filesystem::path& input,
                                                       const std::filesystem::path& output);

}  // namespace v0
}  // namespace kernelgen
