#include <kernelgen/bench/local_judge.hpp>

#include <kernelgen/exec/process.hpp>

#include "support/files.hpp"
#include "support/try.hpp"
#include "support/xdg.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

std::string choose_python(const LocalJudgeOptions& options, const std::map<std::string, std::string>& environment) {
  if (!options.python.empty()) return options.python;
  const auto named = environment.find("KGEN_PYTHON");
  return named == environment.end() || named->second.empty() ? "python3" : named->second;
}

/// A path that leads nowhere would be noticed by the first evaluation, long after.
Result<std::string> find_python(const std::string& python, const std::map<std::string, std::string>& environment) {
  auto found = find_program(python, environment);
  std::error_code ignored;
  if (found && !std::filesystem::exists(*found, ignored))
    found = Error{ErrorCode::MissingTool, "there is no " + *found};
  if (!found) found.error().message += "; set KGEN_PYTHON, or LocalJudgeOptions::python, to a Python that has torch";
  return found;
}

}  // namespace

Result<std::filesystem::path> default_cache_dir(const std::map<std::string, std::string>& environment) {
  const auto cache = xdg_directory(environment, "XDG_CACHE_HOME", "/.cache");
  if (cache.empty()) return Error{ErrorCode::NotFound, "no cache directory: neither XDG_CACHE_HOME nor HOME is set"};
  return std::filesystem::path(cache) / "kernelgen";
}

Result<std::unique_ptr<Benchmarker>> open_local_judge(const LocalJudgeOptions& options) {
  const auto environment = current_environment();
  WorkerBenchmarkerOptions worker;
  KERNELGEN_TRY(worker.installation, options.installation ? *options.installation : find_installation());
  KERNELGEN_TRY(worker.python, find_python(choose_python(options, environment), environment));
  std::filesystem::path cache = options.cache_dir;
  if (cache.empty()) {
    KERNELGEN_TRY(cache, default_cache_dir(environment));
  }
  KERNELGEN_CHECK(make_directories(cache).context("making the cache directory"));
  worker.cache_dir = cache.string();
  worker.compilers = options.compilers;
  return make_worker_benchmarker(std::move(worker));
}

}  // namespace v0
}  // namespace kernelgen
