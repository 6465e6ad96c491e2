#pragma once

/// \file
/// How Nsight Compute is found and called.

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/metrics.hpp>

namespace kernelgen {
inline namespace v0 {

/// A path, or why there is none.
class NcuLocation {
 public:
  NcuLocation(std::string path) : found_(std::move(path)) {}
  NcuLocation(ProfileUnavailable why) : found_(std::move(why)) {}
  explicit operator bool() const { return found_.index() == 0; }
  /// Requires: a path.
  const std::string& operator*() const { return std::get<0>(found_); }
  /// Requires: no path.
  [[nodiscard]] const ProfileUnavailable& error() const { return std::get<1>(found_); }

 private:
  std::variant<std::string, ProfileUnavailable> found_;
};

/// `name` when given, else "ncu" on the PATH, else where CUDA and Nsight's own packages put it, newest first.
[[nodiscard]] NcuLocation locate_ncu(const std::string& name, const std::map<std::string, std::string>& environment);

/// What the metrics of a set are called, and the duration.
[[nodiscard]] std::vector<std::string> ncu_names(const MetricSet& set);
/// The other name of a metric, by one of them; empty when it has none, or this is it.
[[nodiscard]] std::string other_ncu_name(const std::string& name);

/// Which launches are counted.
struct LaunchChoice {
  /// A regular expression over the functions' names; empty: all kernels.
  std::string functions;
  int count = 0;
};

/// All launches of a call where they are few, else those of the kernels that take longest.
[[nodiscard]] LaunchChoice choose_launches(const Profile& timeline, int max_launches);

/// The command line up to the program. Output goes to the file `log`, so that nothing that the program prints can be
/// taken for it; only what lies between cudaProfilerStart() and cudaProfilerStop() is counted; clocks stay as they are.
[[nodiscard]] std::vector<std::string> ncu_command(const std::string& ncu, const std::string& log,
                                                   const std::vector<std::string>& metrics, const LaunchChoice& choice);

}  // namespace v0
}  // namespace kernelgen
