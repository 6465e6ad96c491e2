#pragma once

#include <memory>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/worker.hpp>

#include "bench/prebuilt.hpp"
#include "bench/profiling.hpp"

namespace kernelgen {
inline namespace v0 {

/// LocalBenchmarker: the Benchmarker inside the worker, with its judges, runners and compilers. Judges candidates in
/// this process and its children. Requires: the calling process is a child subreaper.
class LocalBenchmarker : public Benchmarker, public ProfilingBenchmarker {
 public:
  /// Evaluates a candidate that the client built, in every other respect like evaluate(). Its target need not be known
  /// here.
  virtual Result<EvaluationRecord> evaluate_prebuilt(const EvaluationRequest& request, const Prebuilt& prebuilt,
                                                     const ProgressCallback& progress, std::stop_token stop) = 0;
  /// "cpu: AMD EPYC, 2 cores"
  [[nodiscard]] virtual std::string device() const = 0;
  /// The number of GPUs that requests without a device are spread over.
  virtual Result<int> count_gpus(std::stop_token stop) = 0;
  /// Starts a judge, which takes as long as importing torch. MissingTool if this machine has no torch.
  virtual Result<void> check_readiness(std::stop_token stop) = 0;
};
[[nodiscard]] Result<std::unique_ptr<LocalBenchmarker>> make_local_benchmarker(const WorkerOptions& options);

}  // namespace v0
}  // namespace kernelgen
