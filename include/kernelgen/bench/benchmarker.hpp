#pragma once

/// \file
/// Benchmarker: judges one candidate against one task and returns a record.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>
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
  /// The kinds to time. Each is compiled and timed once per task, device and versions, and then cached. That may take
  /// minutes, during which the evaluation occupies the device.
  std::vector<BaselineKind> kinds;
  /// Time limit for compiling one baseline and comparing it with the eager reference.
  std::chrono::milliseconds timeout{300'000};

  /// Nothing is asked for.
  [[nodiscard]] bool empty() const { return kinds.empty(); }
};

/// Tools that watch further calls of a correct candidate: a shaker, which calls it while addresses, processors and load
/// change; for `cpp` ThreadSanitizer, and AddressSanitizer with UndefinedBehaviorSanitizer, each in a build of its own;
/// on a GPU the four tools of compute-sanitizer. What they find becomes the outcome.
struct SanitizerOptions {
  /// MissingTool, before anything else is done, if a tool of the target is not installed.
  bool enabled = false;
  /// Time limit of each tool. A tool that does not end says nothing, and the record says that.
  std::chrono::milliseconds timeout{180'000};

  /// Nothing is asked for.
  [[nodiscard]] bool empty() const { return !enabled; }
};

/// How a processor executes `hip` kernels (EvaluationOptions::device "cpu"): results are checked and nothing is timed.
struct HipCpuOptions {
  /// Lanes of a wavefront: 64 as on gfx9 (CDNA), or 32 as on gfx10 and later (RDNA).
  int wave_size = 64;

  /// Nothing differs from the defaults.
  [[nodiscard]] bool empty() const { return wave_size == HipCpuOptions{}.wave_size; }
};

/// GPUs that are not here, for which a `triton` candidate is compiled as well. Nothing runs on them, and no verdict
/// depends on them: EvaluationRecord::compiled_for tells what the kernels need there.
struct CompileForOptions {
  /// Architectures of AMD's GPUs, by the compilers' names: "gfx942". The catalog has to have a GPU of each.
  std::vector<std::string> architectures;

  /// Nothing is asked for.
  [[nodiscard]] bool empty() const { return architectures.empty(); }
};

/// Options of one evaluation. The defaults give a verdict that can be published.
struct EvaluationOptions {
  EvaluationMode mode = EvaluationMode::Full;
  PrecisionClass precision = PrecisionClass::Strict;
  /// Tolerances. Unset: by dtype (fp32 1e-4, fp16 and bf16 1e-2). A looser one marks the record "non-standard".
  std::optional<double> rtol;
  std::optional<double> atol;
  /// Amount of sampling. EvaluationMode::Quick caps it; see measure_options_of().
  MeasureOptions measure;
  /// Time limit for one call of the candidate, and for loading it. Time in which the candidate's own compilers work
  /// does not count.
  std::chrono::milliseconds call_timeout{30'000};
  /// Time limit for compiling a native candidate, and for everything that a Python candidate builds while it is
  /// imported, constructed and called for the first time (load_inline, Triton, compilers that it starts itself).
  std::chrono::milliseconds build_timeout{300'000};
  /// Time limit for importing and admitting the task.
  std::chrono::milliseconds task_timeout{300'000};
  /// Memory that a candidate may use beyond the exchange buffers, in bytes.
  std::uint64_t memory_limit = 8ULL << 30;
  /// Threads on both sides; 0 means one per core.
  int threads = 0;
  /// The device: "cpu", "amd:emulated" (an emulator of AMD GPUs on the processor, for `hip`), or a GPU by index, maker
  /// and index ("amd:0"), UUID or name. Empty: a GPU for `cuda` and `hip`, and for `triton` and
  /// `torch` if the machine has one. `hip` kernels are executed on "cpu" as well, without a time: see HipCpuOptions.
  std::string device;
  /// Integer constants at the top of the task file to replace before it is loaded, to make it fit a small machine.
  /// A shrunk task is labelled.
  std::vector<std::pair<std::string, std::int64_t>> shrink;
  /// Judges even where a candidate could reach other processes, because the machine has neither pid namespaces nor
  /// Landlock. The record is labelled.
  bool allow_weak_isolation = false;
  /// What may do the work of a right candidate. One that is right and breaks this has OutcomeKind::LibraryUse.
  LibraryUse library_use = LibraryUse::Anything;
  /// Further baselines; none by default. EvaluationMode::CorrectnessOnly ignores them.
  BaselineOptions baselines;
  /// Tools that watch a correct candidate; none by default.
  SanitizerOptions sanitizers;
  HipCpuOptions hip_cpu;
  CompileForOptions compile_for;
};

/// The measurement that the options ask for: `measure`, and with EvaluationMode::Quick at most 20 samples, 8 full
/// comparisons and 3 seconds, down to an interval of 5 %.
[[nodiscard]] MeasureOptions measure_options_of(const EvaluationOptions& options);

/// Checks that the options are possible. InvalidArgument, naming the option, for a limit that is not positive or longer
/// than a week, a tolerance that is negative or no number, or a negative count.
[[nodiscard]] Result<void> check_options(const EvaluationOptions& options);

/// One candidate, and the task that it is judged against.
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

/// Receives the steps of an evaluation, on the thread that called evaluate().
using ProgressCallback = std::function<void(const EvaluationProgress&)>;

/// Judges candidates. Implementations are thread-safe: calls queue for the device.
class Benchmarker {
 public:
  virtual ~Benchmarker() = default;
  /// Evaluates one candidate. The record's outcome says what the candidate did. An Error means that kernelgen or the
  /// machine failed, and says nothing about the candidate.
  virtual Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                            std::stop_token stop) = 0;
  /// Builds and runs the reference only; for prompts and for `kgen doctor`. In EvaluationMode::Full it is timed, too.
  virtual Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                           std::stop_token stop) = 0;
};

/// Options for starting a worker.
struct WorkerBenchmarkerOptions {
  Installation installation;
  /// The command that starts the worker, put before its own command line: {"ssh", "node"}, {"srun", "--gres=gpu:1"}.
  /// Empty: the worker runs on this machine.
  std::vector<std::string> launch_prefix;
  /// The Python with torch; empty: KGEN_PYTHON as the caller read it, else python3 on the path.
  std::string python;
  /// Directory that caches compiled candidates and admitted tasks; created if it does not exist.
  std::string cache_dir;
  /// Compilers of your own, for targets that you registered or in place of the worker's compilers. The first one that
  /// supports a candidate's target builds it: in your process, on the thread that calls evaluate(). It is asked to stop
  /// after EvaluationOptions::build_timeout. The worker gets the artifact, at most 32 MiB, judges it like one of its
  /// own, and labels the record "custom-compiler: " and the digest of the compiler's key.
  std::vector<std::shared_ptr<KernelCompiler>> compilers{};
};

/// Makes a benchmarker that starts a worker when it is first needed, keeps it running, and replaces it if it dies.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_worker_benchmarker(WorkerBenchmarkerOptions options);

}  // namespace v0
}  // namespace kernelgen
