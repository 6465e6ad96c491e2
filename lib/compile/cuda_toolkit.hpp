#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// The identity of a CUDA toolkit, and the places of its parts.
struct CudaToolkitFacts {
  /// "Cuda compilation tools, release 13.0, V13.0.88".
  std::string version;
  /// {13, 0}; zeros where nvcc does not say.
  std::pair<int, int> release;
  /// The directory with bin/ and include/, links followed; empty where nvcc does not say.
  std::string root;
  /// The compiler of the host side: a name or a path, as nvcc starts it.
  std::string host_compiler;
  /// "cuda.nvcc", "cuda.ptxas", ...: SHA-256 of each program, library and header that the output depends on.
  std::map<std::string, std::string> digests;
};

/// The path of nvcc: `named` when not empty, else CUDA_HOME/bin, CUDA_PATH/bin, the PATH, /usr/local/cuda/bin.
/// MissingTool says what to do.
[[nodiscard]] Result<std::string> find_nvcc(const std::string& named,
                                            const std::map<std::string, std::string>& environment);

/// "release 13.0" in what `nvcc --version` says; zeros where there is none.
[[nodiscard]] std::pair<int, int> parse_cuda_release(std::string_view version);

/// The variables that `nvcc --dryrun` prints before its commands: "#$ NAME=VALUE". The last of equal names counts.
[[nodiscard]] std::map<std::string, std::string> parse_nvcc_variables(std::string_view dry_run);

/// Queries nvcc for its identity, and caches the answer while its files stay the same. Thread-safe.
class CudaToolkit {
 public:
  /// `runner` must outlive this object.
  CudaToolkit(std::string nvcc, std::map<std::string, std::string> environment, ProcessRunner& runner)
      : nvcc_(std::move(nvcc)), environment_(std::move(environment)), runner_(runner) {}

  [[nodiscard]] const std::map<std::string, std::string>& environment() const { return environment_; }
  [[nodiscard]] Result<std::string> locate() const { return find_nvcc(nvcc_, environment_); }
  [[nodiscard]] Result<CudaToolkitFacts> facts(std::stop_token stop);

 private:
  [[nodiscard]] Result<CudaToolkitFacts> ask(const std::string& nvcc, std::vector<std::string>& files,
                                             std::stop_token stop) const;

  std::string nvcc_;
  std::map<std::string, std::string> environment_;
  ProcessRunner& runner_;
  std::mutex mutex_;
  std::string stamp_;
  std::vector<std::string> files_;
  CudaToolkitFacts remembered_;
};

}  // namespace v0
}  // namespace kernelgen
