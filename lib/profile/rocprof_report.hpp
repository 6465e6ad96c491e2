#pragma once

/// \file
/// Reads what rocprof, rocprofv2 and rocprofv3 write: tables, JSON, and databases of rocpd.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "profile/launches.hpp"

namespace kernelgen {
inline namespace v0 {

/// The content of one file.
struct RocprofReport {
  /// The tool: "rocprof", "rocprofv2", "rocprofv3".
  std::string source;
  /// "AMD Instinct MI300X", where the file has it.
  std::string device;
  /// In the order of the file.
  std::vector<KernelLaunch> launches;
};

/// Reads a table. Nothing for a text without a table of these tools.
[[nodiscard]] std::optional<RocprofReport> read_rocprof_table(std::string_view text);

/// Reads the output of rocprofv3 as JSON. Nothing for any other text.
[[nodiscard]] std::optional<RocprofReport> read_rocprof_json(std::string_view text);

/// True for the content of an SQLite database.
[[nodiscard]] bool is_sqlite(std::string_view bytes);

/// Reads a database of rocpd, which ROCm 7 writes. InvalidArgument, with what is missing, for any other database.
[[nodiscard]] Result<RocprofReport> read_rocpd(std::string_view bytes);

}  // namespace v0
}  // namespace kernelgen
