#pragma once

/// \file
/// Profiler: the time of a module, kernel by kernel, and what its kernels wait for.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Whether to read counters, or only the timeline: names, launches, durations.
enum class Counters { Read, None };

/// One module to profile.
struct ProfileRequest {
  TaskSource task;
  /// Unset: the task's own module, the reference.
  std::optional<Candidate> candidate;
  /// Path of a native candidate's artifact; empty for the others.
  std::string artifact;
  PrecisionClass precision = PrecisionClass::Strict;
  /// See EvaluationOptions::shrink.
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  /// Unset: the CPU, which has a timeline of operators and no counters.
  std::optional<GpuFacts> gpu;
  Counters counters = Counters::Read;
  /// See metric_sets().
  std::string metric_set = "brief";
};

/// Profiles modules. Advisory: a profile is no verdict, because the module's own process reports it.
class Profiler {
 public:
  virtual ~Profiler() = default;
  /// Profiles one module. A module that cannot be profiled is a value: Profile::unavailable where it fails or does not
  /// end, Profile::no_counters where only the counters could not be read. An Error means that the machinery failed.
  virtual Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) = 0;
  /// Whether nothing may be evaluated by this process meanwhile. False: the worker that takes the profile sees to that.
  [[nodiscard]] virtual bool needs_devices() const { return true; }
};

/// Whether a profiled process runs in the sandbox of candidates.
enum class ProfilerSandbox {
  None,      ///< it has the rights of the caller
  Required,  ///< what the profiler cannot do in there is unavailable, with the reason
};

/// How modules are profiled on this machine.
struct LocalProfilerOptions {
  Installation installation;
  /// The Python with torch, as a path or a name on the PATH of `environment`.
  std::string python = "python3";
  /// The program ncu. Empty: found on the PATH, else where CUDA and its packages install it.
  std::string ncu;
  /// The program rocprofv3 or rocprof. Empty: found in ROCM_PATH, on the PATH, else in /opt/rocm; rocprofv3 first.
  std::string rocprof;
  /// The profiled process's whole environment; see clean_environment().
  std::map<std::string, std::string> environment;
  /// Directory for a private directory of each profile.
  std::string scratch_dir = "/tmp";
  /// Limit of each run: the timeline, and each one with counters.
  std::chrono::milliseconds timeout{180'000};
  /// None because profilers reach into processes; Required for candidates that a person has not read.
  ProfilerSandbox sandbox = ProfilerSandbox::None;
  /// Calls before the first profiled one.
  int warmups = 3;
  /// Calls that the timeline averages.
  int calls = 5;
  /// Launches of a call that Nsight Compute counts. Above this limit, only the longest kernels' launches are counted.
  int max_launches = 48;
};

/// Runs the module in a Python process: once with torch's profiler for the timeline, and under the counter program of
/// the GPU's platform for the counters, each after warm-up calls: once under `ncu`, or under `rocprofv3` or `rocprof`
/// as often as the hardware needs passes. Without a GPU there is the timeline alone. Unless a sandbox is required, the
/// process has the rights of the caller, because a profiler reaches into it: profile only what you would run yourself.
/// It never gets more rights than the caller has (no sudo). `runner` must outlive it.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_local_profiler(LocalProfilerOptions options,
                                                                    ProcessRunner& runner);

}  // namespace v0
}  // namespace kernelgen
