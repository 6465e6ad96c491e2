#pragma once

/// \file
/// Profiles where evaluations are made: behind a launch prefix, by launched workers, or through a spool directory.

#include <memory>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/profile/profiler.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Makes a profiler that leaves its requests to the workers of `benchmarker`, which profile on the device of an
/// evaluation with these options, alone on it, and in the sandbox of candidates. What cannot be done there is
/// Profile::unavailable or Profile::no_counters, with the reason; so is everything at a worker of an earlier version.
/// Requests need a candidate; `artifact` and `gpu` are the worker's affair. `benchmarker` must outlive the profiler.
///
/// profile() returns errors as evaluate() does: Pending where the profile is taken elsewhere and waiting is not wanted.
/// InvalidArgument for a benchmarker that is none of make_worker_benchmarker(), make_spool_benchmarker() and
/// make_launched_workers().
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_remote_profiler(Benchmarker& benchmarker,
                                                                     EvaluationOptions options);

}  // namespace v0
}  // namespace kernelgen
