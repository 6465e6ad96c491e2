#pragma once

/// \file
/// A judge on this machine, from nothing.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// What open_local_judge() finds by itself unless it is told.
struct LocalJudgeOptions {
  /// Unset: find_installation().
  std::optional<Installation> installation{};
  /// The Python with torch, as a path or a name on the PATH. Empty: KGEN_PYTHON of the environment, else python3.
  std::string python{};
  /// What was built and learned is kept here; made when missing. Empty: default_cache_dir().
  std::filesystem::path cache_dir{};
  /// The same as WorkerBenchmarkerOptions::compilers.
  std::vector<std::shared_ptr<KernelCompiler>> compilers{};
};

/// Makes a benchmarker that judges on this machine. Its worker starts with the first evaluation and ends with it.
///
/// Reads the environment of this process: KGEN_PYTHON, XDG_CACHE_HOME, HOME, PATH. Errors, before anything is started:
/// MissingTool for a part of the installation or a Python that is not there; those of default_cache_dir() and of making
/// that directory. That the Python has torch is found out by the first evaluation.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> open_local_judge(const LocalJudgeOptions& options = {});

/// The cache directory that kgen uses: kernelgen/ in XDG_CACHE_HOME, else in .cache/ of HOME. NotFound when the
/// environment has neither.
[[nodiscard]] Result<std::filesystem::path> default_cache_dir(const std::map<std::string, std::string>& environment);

}  // namespace v0
}  // namespace kernelgen
