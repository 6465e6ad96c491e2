#pragma once

/// \file
/// Compiles Python candidates for GPUs that are not here, to tell what their kernels need there.
///
///     candidate -> builder (untrusted, sandboxed, one for each architecture) -> list of kernels -> ArchitectureReport

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/device/gpu.hpp>

#include "bench/evaluation.hpp"
#include "bench/runner.hpp"

namespace kernelgen {
inline namespace v0 {

/// One GPU of the catalog for each architecture, each once. InvalidArgument, with those that can be asked for, if there
/// is none.
[[nodiscard]] Result<std::vector<GpuFacts>> choose_architectures(const GpuCatalog& catalog,
                                                                 const std::vector<std::string>& architectures);

/// Reads the list of a builder: a line of JSON for each kernel. The list is hostile, like the process that writes it.
[[nodiscard]] ArchitectureReport read_kernel_list(std::string_view list);

/// Adds how the process of a list ended, unless an error in the list explains why kernels are missing.
void add_end(ArchitectureReport& report, const RunnerAnswer& answer, const EvaluationOptions& options);

/// The candidate to compile.
struct CompileForRequest {
  /// ExchangeLayout::python_job.
  std::string_view job;
  /// The path of the source.
  std::string artifact;
  /// The key of the candidate's builds, to which the architecture is added.
  std::string builds_key;
  const EvaluationOptions& options;
};

/// Compiles a candidate for one GPU.
[[nodiscard]] Result<ArchitectureReport> compile_for(const GpuFacts& gpu, const CompileForRequest& request,
                                                     RunnerSource& runners, SharedMemorySource& memory,
                                                     std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
