#pragma once

/// \file
/// A clang++ on this machine that takes sources written for clang, as HIP's are.

#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// Looks for a clang++ that takes vectors of _Float16, and tests compilers for it. On x86-64 these need clang 15.
/// Thread-safe.
class ClangSearch {
 public:
  /// `runner` must outlive this object.
  ClangSearch(std::map<std::string, std::string> environment, ProcessRunner& runner);

  /// The path of the first one: that of ROCM_PATH, `clang++` of the PATH, the newest of those with a version in their
  /// name, that of /opt/rocm. Unset if there is none. Fails if `stop` is requested.
  [[nodiscard]] Result<std::optional<std::string>> find(const std::stop_token& stop);
  /// Whether a compiler takes such a source. The answer is remembered while its file stays the same.
  [[nodiscard]] Result<bool> takes_vectors(const std::string& driver, const std::stop_token& stop);

 private:
  std::map<std::string, std::string> environment_;
  ProcessRunner& runner_;
  std::mutex mutex_;
  /// By file_stamp() of the compiler.
  std::map<std::string, bool> answers_;
};

}  // namespace v0
}  // namespace kernelgen
