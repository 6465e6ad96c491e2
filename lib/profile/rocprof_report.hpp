#pragma once

/// \file
/// Reads the tables of rocprof, rocprofv2 and rocprofv3.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/launches.hpp"

namespace kernelgen {
inline namespace v0 {

/// The content of one file.
struct RocprofReport {
  /// The tool: "rocprof", "rocprofv2", "rocprofv3".
  std::string source;
  /// In the order of the file.
  std::vector<KernelLaunch> launches;
};

/// Nothing for a text without a table of these tools.
[[nodiscard]] std::optional<RocprofReport> read_rocprof_report(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
