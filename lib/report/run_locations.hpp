#pragma once

/// \file
/// Where the runs of a results directory lie.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/result.hpp>

#include "report/cached_run_report.hpp"

namespace kernelgen {
inline namespace v0 {

/// True if the directory has a journal.
[[nodiscard]] bool is_run(const std::filesystem::path& directory);

/// The runs below a results directory, in natural order of their names, and the tasks that cannot be listed. Only names
/// were read.
struct RunLocations {
  std::vector<RunLocation> runs;
  std::vector<std::pair<std::string, Error>> unlisted;
};

/// Lists the runs one or two levels below the directory. Links to directories are left out, so that nothing is read
/// twice or endlessly. InvalidArgument for anything but a directory with runs.
[[nodiscard]] Result<RunLocations> find_runs(const std::filesystem::path& results);

}  // namespace v0
}  // namespace kernelgen
