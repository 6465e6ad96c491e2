#pragma once

/// \file
/// A results directory: many runs, one kgen at a time (docs/results.md).

#include <filesystem>
#include <memory>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Holds a results directory for this process while it lives.
class ResultsDirectory {
 public:
  virtual ~ResultsDirectory() = default;
  [[nodiscard]] virtual const std::filesystem::path& path() const = 0;
  /// Where a run keeps its files: path()/task, or path()/task/name for a further run of the same task.
  /// InvalidArgument when a name cannot be that of a directory: letters, digits, '.', '_' and '-', not starting with
  /// '.'.
  [[nodiscard]] virtual Result<std::filesystem::path> run_directory(const std::string& task,
                                                                    const std::string& name) const = 0;
};

/// Makes the directory when it is missing. Busy when another process has it.
[[nodiscard]] Result<std::unique_ptr<ResultsDirectory>> open_results_directory(const std::filesystem::path& path);

}  // namespace v0
}  // namespace kernelgen
