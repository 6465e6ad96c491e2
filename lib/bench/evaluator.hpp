#pragma once

#include <memory>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/worker.hpp>

namespace kernelgen {
inline namespace v0 {

/// The Benchmarker inside the worker: its own judges, runners and compilers.
/// Requires: the calling process is a child subreaper.
class LocalBenchmarker : public Benchmarker {
 public:
  /// "cpu: AMD EPYC, 2 cores"
  [[nodiscard]] virtual std::string device() const = 0;
  /// How many GPUs share the requests that name none.
  virtual Result<int> count_gpus(std::stop_token stop) = 0;
  /// Starts a judge, which takes as long as importing torch: MissingTool when this machine has none.
  virtual Result<void> check_able(std::stop_token stop) = 0;
};
[[nodiscard]] Result<std::unique_ptr<LocalBenchmarker>> make_local_benchmarker(const WorkerOptions& options);

}  // namespace v0
}  // namespace kernelgen
