#pragma once

/// \file
/// Profiles as requests: what both ends of a connection or a spool directory share.

#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/profiler.hpp>

namespace kernelgen {
inline namespace v0 {

/// A candidate to profile, on the device that its evaluation would have.
struct RemoteProfileRequest {
  EvaluationRequest what;
  Counters counters = Counters::Read;
  /// See metric_sets().
  std::string metric_set = "brief";
};

/// What a benchmarker is besides, if it can profile in the place where it judges. Thread-safe.
class ProfilingBenchmarker {
 public:
  virtual ~ProfilingBenchmarker() = default;
  /// Unsupported for a worker of an earlier version.
  virtual Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token stop) = 0;
};

/// Builds a native candidate that has no artifact, and notes the artifact in the request. A candidate that does not
/// compile gives a profile that says so.
[[nodiscard]] Result<std::optional<Profile>> build_for_profile(ProfileRequest& request, KernelCompiler& compiler,
                                                               const std::stop_token& stop);

}  // namespace v0
}  // namespace kernelgen
