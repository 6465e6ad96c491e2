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

/// Baselines to compare a correct candidate with besides the eager reference. The score does not change.
struct BaselineOptions {
  /// Each is compiled and timed once for a task, device and versions, and remembered; that may take minutes, during
  /// which the evaluation occupies the device.
  std::vector<BaselineKind> kinds;
  /// Limit of compiling one and comparing it with the eager reference.
  std::chrono::milliseconds timeout{300'000};

  /// Nothing is asked for.
  [[nodiscard]] bool empty() const { return kinds.empty(); }
};

/// How one evaluation is done. The defaults give a verdict that can be published.
struct EvaluationOptions {
  EvaluationMode mode = EvaluationMode::Full;
  PrecisionClass precision = PrecisionClass::Strict;
  /// Unset: by dtype (fp32 1e-4, fp16 and bf16 1e-2). Looser marks the record "non-standard".
  std::optional<double> rtol;
  std::optional<double> atol;
  /// EvaluationMode::Quick caps them; see measure_options_of().
  MeasureOptions measure;
  /// Limit of one call of the candidate, and of loading it; time in which the candidate's own compilers work does not
  /// count.
  std::chrono::milliseconds call_timeout{30'000};
  /// Limit of compiling a native candidate, and of everything that a Python candidate builds while it is imported,
  /// constructed and called for the first time (load_inline, Triton, compilers that it starts itself).
  std::chrono::milliseconds build_timeout{300'000};
  /// Limit of importing and admitting the task.
  std::chrono::milliseconds task_timeout{300'000};
  /// Memory that a candidate may use beyond the exchange buffers, in bytes.
  std::uint64_t memory_limit = 8ULL << 30;
  /// Threads on both sides; 0 means one per core.
  int threads = 0;
  /// "cpu"; a GPU by index, UUID or name; empty: a GPU for `cuda`, and for `triton` and `torch` where there is one.
  std::string device;
  /// Integer constants at the top of the task file to replace before it is loaded, to make it fit a small machine.
  /// A shrunk task is labelled.
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  /// None by default. Ignored by EvaluationMode::CorrectnessOnly.
  BaselineOptions baselines;
};

/// The measurement that the options ask for: `measure`, and with EvaluationMode::Quick at most 20 samples, 8 full
/// comparisons and 3 seconds, down to an interval of 5 %.
[[nodiscard]] MeasureOptions measure_options_of(const EvaluationOptions& options);

/// InvalidArgument, naming the option, for values that no evaluation can be done with: a limit that is not positive or
/// longer than a week, a tolerance that is negative or no number, a count that is negative.
[[nodiscard]] Result<void> check_options(const EvaluationOptions& options);

/// One candidate against one task.
struct EvaluationRequest {
  TaskSource task;
  Candidate candidate;
  EvaluationOptions options{};
};

/// A step of an evaluation, for display only.
struct EvaluationProgress {
  std::string phase;  ///< "admit", "compile", "build ahead", "wait for the judge", "correctness", "timing"
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
