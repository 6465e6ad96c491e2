#pragma once

/// \file
/// Benchmarker: one candidate against one task, answered by a record.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// How long and how often to measure.
struct MeasureOptions {
  /// Stop once the 95 % confidence interval of the ratio is narrower than this fraction of it.
  double max_relative_interval = 0.01;
  /// Timed calls, replays of graphs among them, that are compared in full. Fewer than 44 marks the record "reduced
  /// verification"; with 0, only canary lines are.
  int full_comparisons = 44;
  int max_samples = 100;
  /// Wall-clock limit of the timing phase. Wins over every other criterion.
  std::chrono::milliseconds deadline{20'000};
};

/// What to compare a correct candidate with besides the eager reference. The score does not change.
struct BaselineOptions {
  /// Each is compiled and timed once for a task, device and versions, and remembered; that may take minutes, during
  /// which the device is held.
  std::vector<BaselineKind> kinds;
  /// Limit of compiling one and comparing it with the eager reference.
  std::chrono::milliseconds timeout{300'000};

  [[nodiscard]] bool empty() const { return kinds.empty(); }
};

/// How one evaluation is done. The defaults give a verdict that can be published.
struct EvaluationOptions {
  PrecisionClass precision = PrecisionClass::Strict;
  /// Unset: by dtype (fp32 1e-4, fp16 and bf16 1e-2). Looser marks the record "non-standard".
  std::optional<double> rtol;
  std::optional<double> atol;
  MeasureOptions measure;
  /// Limit of one call of the candidate, and of loading it.
  std::chrono::milliseconds call_timeout{30'000};
  /// Limit of compilation.
  std::chrono::milliseconds compile_timeout{120'000};
  /// Limit of importing and admitting the task.
  std::chrono::milliseconds task_timeout{300'000};
  /// Memory that a candidate may use beyond the exchange buffers, in bytes.
  std::uint64_t memory_limit = 8ULL << 30;
  /// Threads on both sides; 0 means one per core.
  int threads = 0;
  /// Where: "cpu"; a GPU by index, UUID or name; empty: a GPU for `cuda`, and for `triton` and `torch` where there is
  /// one.
  std::string device;
  /// Integer constants at the top of the task file to replace before it is loaded, to make it fit a small machine.
  /// A shrunk task is labelled.
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  /// None by default.
  BaselineOptions baselines;
};

/// One candidate against one task.
struct EvaluationRequest {
  TaskSource task;
  Candidate candidate;
  EvaluationOptions options;
};

/// A step of an evaluation, for display only.
struct EvaluationProgress {
  std::string phase;  ///< "admit", "compile", "wait for the judge", "correctness", "timing"
  std::string detail;
};

/// Called from the thread that called evaluate().
using ProgressCallback = std::function<void(const EvaluationProgress&)>;

/// Judges candidates. Implementations are thread-safe: calls queue for the device.
class Benchmarker {
 public:
  virtual ~Benchmarker() = default;
  /// An Error means the machinery failed and nothing is known about the candidate;
  /// whatever the candidate did is in the record's outcome.
  virtual Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                            std::stop_token stop) = 0;
  /// Builds and runs the reference only; for prompts and for `kgen doctor`.
  virtual Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                           std::stop_token stop) = 0;
};

/// How to start a worker.
struct WorkerBenchmarkerOptions {
  Installation installation;
  /// Put before the worker's command line: {"ssh", "node"}, {"srun", "--gres=gpu:1"}. Empty: this machine.
  std::vector<std::string> launch_prefix;
  /// The Python with torch; empty: KGEN_PYTHON as the caller read it, else python3 on the path.
  std::string python;
  /// Cache of compiled candidates and admitted tasks, made when missing.
  std::string cache_dir;
};

/// Starts a worker when first needed, keeps it warm, and starts another one when it died.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_worker_benchmarker(WorkerBenchmarkerOptions options);

}  // namespace v0
}  // namespace kernelgen
