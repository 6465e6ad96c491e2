#pragma once

/// \file
/// The record of one evaluation: everything needed to argue about its verdict.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/outcome.hpp>
#include <kernelgen/core/profile.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The meaning of "right": |candidate - truth| <= rtol * |truth| + atol * rms(truth), the truth being the reference in
/// float64 where that could be had. Where the reference itself, or TF32 of its precision class, is further off, its own
/// error decides.
struct Tolerance {
  double rtol = 1e-4;
  double atol = 1e-4;
  /// Limit of the candidate's rms error against a float64 run, in multiples of the reference's own, on the task's own
  /// inputs; 0: no limit.
  double max_rms_error_multiple = 0;
  /// False if a caller loosened the tolerance: such a run is marked "non-standard".
  bool standard = true;
};

/// The judge's default tolerance for a task: that of its coarsest output.
[[nodiscard]] Tolerance standard_tolerance(const TaskDescription& task);

/// The error of one output.
struct OutputError {
  std::string output;
  /// Largest |candidate - truth|, as in Tolerance.
  double max_abs = 0;
  double mean_abs = 0;
  /// The largest ratio of error to allowed error; above 1 fails.
  double max_error_ratio = 0;
  /// rms error against a float64 run over rms of its result; absent where there was no such run.
  std::optional<double> rms_error_vs_float64;
  std::optional<double> reference_rms_error_vs_float64;
  /// The verdict by KernelBench's own tolerance.
  bool kernelbench_allclose = false;
};

/// One checked call of the candidate.
struct CaseResult {
  /// "own", or the name of a transform such as "negate".
  std::string distribution;
  std::uint64_t seed = 0;
  /// 1-based number of the set of weights.
  int weight_set = 1;
  /// 1-based number of the call of an instance.
  int call = 1;
  Outcome outcome;
  std::vector<OutputError> outputs;
};

/// How the weights of a ModelNew were matched with the reference's tensors.
struct WeightReport {
  std::vector<std::string> by_content;
  std::vector<std::string> by_name;
  std::vector<std::string> by_declaration;
  std::vector<std::string> unmapped;
};

/// A ratio with its 95 % confidence interval.
struct Ratio {
  double value = 0;
  double low = 0;
  double high = 0;

  /// The interval contains 1: the samples do not show which side is faster.
  [[nodiscard]] bool contains_one() const { return low <= 1 && 1 <= high; }
};

/// How much of an evaluation is done.
enum class EvaluationMode {
  Full,             ///< correctness and timing, as published
  Quick,            ///< correctness, and timing with fewer samples and comparisons; labelled "quick"
  CorrectnessOnly,  ///< no timing; works on a busy machine; labelled "correctness only"
};
[[nodiscard]] std::string_view to_string(EvaluationMode mode);
[[nodiscard]] std::optional<EvaluationMode> parse_evaluation_mode(std::string_view name);

/// How long and how often to measure.
struct MeasureOptions {
  /// Stop once the 95 % confidence interval of the ratio is narrower than this fraction of it.
  double max_relative_interval = 0.01;
  /// Timed calls, replays of graphs among them, that are compared in full. Fewer than 44 marks the record "reduced
  /// verification"; with 0, only sampled blocks are compared.
  int full_comparisons = 44;
  /// Timed pairs of calls at most.
  int max_samples = 100;
  /// Pairs that are called and checked like timed ones before the first sample is kept. The calls that check
  /// correctness have warmed up both sides, so none are needed as a rule.
  int warmup_calls = 0;
  /// Wall-clock limit of the timing phase, warm-up included. Wins over every other criterion.
  std::chrono::milliseconds deadline{20'000};
};

/// The reason why sampling stopped.
enum class StopReason { Criterion, MaxSamples, Deadline, Cancelled, Failed };
[[nodiscard]] std::string_view to_string(StopReason reason);
[[nodiscard]] std::optional<StopReason> parse_stop_reason(std::string_view name);

/// A baseline: the reference in another form, with which a candidate can be compared as well.
enum class BaselineKind {
  Compile,             ///< torch.compile(model)
  CompileMaxAutotune,  ///< torch.compile(model, mode="max-autotune")
};
/// "compile", "compile-max-autotune".
[[nodiscard]] std::string_view to_string(BaselineKind kind);
[[nodiscard]] std::optional<BaselineKind> parse_baseline_kind(std::string_view name);

/// How a candidate compares with such a baseline, which is timed alone, like the eager reference before the candidate
/// is loaded. Not part of the score.
struct BaselineReport {
  BaselineKind name = BaselineKind::Compile;
  std::vector<std::int64_t> samples_ns;
  /// Absent where the baseline has no time; the reason says why.
  std::optional<double> median_ns;
  /// median_ns over the candidate's median.
  std::optional<double> speedup;
  std::string reason;
};

/// The least memory traffic of a right kernel on a device, as the judge and the worker measured it.
struct MemoryFloor {
  /// Bytes of inputs, parameters and buffers that the outputs depend on; absent where that could not be measured.
  std::optional<std::uint64_t> read_bytes;
  /// Bytes of the outputs that do not fit into the device's cache.
  std::uint64_t written_bytes = 0;
  /// The bandwidth that was measured on the device; 0: unknown.
  double bytes_per_second = 0;

  /// Bytes that every right kernel moves; without read_bytes those that it writes.
  [[nodiscard]] double bytes() const { return static_cast<double>(read_bytes.value_or(0) + written_bytes); }
};

/// On a device: a series of calls on inputs of their own, replayed as one graph, by the worker's clock. Times in
/// nanoseconds.
struct ReplayedSeries {
  /// The number of calls in a series.
  std::int64_t calls = 0;
  /// The worker's clock around each of the series.
  std::vector<std::int64_t> host_ns;
  /// The overhead that such a series may have, and for each call the range in which it varies, which a false clock
  /// could hide. Measured before the candidate was loaded.
  double overhead_ns = 0;
  double looseness_ns = 0;
  /// The least time of a call, and of a replay, that this leaves: with what starting one takes, and less 1 us or 5 %,
  /// whichever is larger. No sample is below it.
  double least_call_ns = 0;
  double least_replay_ns = 0;
};

/// Calls that are separate, where others are timed in series: the inputs of each are there when the call before it has
/// ended, so that no two can be computed together. Times in nanoseconds.
struct SeparateCalls {
  std::vector<std::int64_t> reference_ns;
  /// The runner's clock; never less than what the worker's clock leaves for the fastest of these calls.
  std::vector<std::int64_t> candidate_ns;
  std::vector<std::int64_t> host_ns;  ///< the worker's clock around the same calls
  /// Ratio of reference to candidate.
  Ratio speedup;
};

/// Raw samples and what was computed from them. All times in nanoseconds.
struct TimingReport {
  /// The options of the measurement as they took effect; absent in records of earlier versions.
  std::optional<MeasureOptions> options;
  std::vector<std::int64_t> reference_alone_before_ns;  ///< the reference alone, no candidate alive
  std::vector<std::int64_t> reference_ns;               ///< the reference, interleaved
  /// The runner's clock, or on a device the device's; never less than what the worker's clock leaves for the call.
  std::vector<std::int64_t> candidate_ns;
  std::vector<std::int64_t> host_ns;  ///< the worker's clock around the same calls
  /// The number of calls of which each sample is the mean: short calls are timed as a series, one right after the
  /// other. Absent in records of earlier versions, which have single calls.
  std::vector<std::int64_t> calls;
  /// The overhead that the worker's time of a series may have, the part of it that a false clock could hide, and what
  /// each further call of a series adds. Measured before the candidate was loaded.
  double clock_overhead_ns = 0;
  double clock_looseness_ns = 0;
  double clock_per_call_ns = 0;
  std::vector<std::int64_t> fresh;                     ///< 1: all inputs new; 0: known ones with secret lines replaced
  std::vector<std::int64_t> reference_alone_after_ns;  ///< the same again, runner gone; empty when not needed
  /// On a device: the time for which it worked on after the candidate's stream was done, on other streams. The two
  /// events do not see this work.
  std::vector<std::int64_t> off_stream_ns;
  /// On a device: the clock of its multiprocessors in MHz before each pair, 0 where unknown; empty if always unknown.
  std::vector<std::int64_t> clock_mhz;
  /// On a device: calls replayed as graphs; first those of the reference without a candidate alive. For a candidate
  /// that cannot be captured, candidate_graph_ns has plain calls.
  std::vector<std::int64_t> reference_alone_graph_ns;
  std::vector<std::int64_t> reference_graph_ns;
  std::vector<std::int64_t> candidate_graph_ns;
  std::vector<std::int64_t> graph_host_ns;
  /// Absent where the candidate or the reference cannot be a graph, and where calls are long.
  std::optional<ReplayedSeries> replayed_series;
  /// Absent where calls are not timed in series.
  std::optional<SeparateCalls> separate_calls;
  /// Times of the median pair: reference over candidate is exactly speedup_call.value. See paired_estimate(). Records
  /// of earlier versions have the median of each column here, and their ratio may differ from speedup_call.
  double reference_median_ns = 0;
  double candidate_median_ns = 0;
  /// Ratio of reference to candidate, both called from the host.
  Ratio speedup_call;
  /// Ratio of reference to candidate, both replayed as graphs; absent without a device clock, or where the reference
  /// cannot be captured. The reason says why, or why the candidate was called instead of replayed.
  std::optional<Ratio> speedup_device;
  std::string speedup_device_reason;
  StopReason stop_reason = StopReason::Criterion;
  std::int64_t full_comparisons = 0;
  std::int64_t sampled_comparisons = 0;
  std::int64_t discarded = 0;
  /// The share of its time that the reference's process waited for a processor while sampling, 0 to 1; absent where
  /// the kernel has no such statistics.
  std::optional<double> contention;
  /// The share of probes that found the device busy with foreign work while sampling, 0 to 1; absent where it is
  /// unknown.
  std::optional<double> device_contention;
  /// On a device: what the times were held against.
  std::optional<MemoryFloor> memory_floor;
  /// ABI prepare() or ModelNew construction, and the first call.
  std::int64_t prepare_ns = 0;
  std::int64_t first_call_ns = 0;
  /// The baselines that were asked for, in that order; for a correct candidate only.
  std::vector<BaselineReport> baselines;

  /// The ratio that the score is: speedup_device where there is one, else speedup_call.
  [[nodiscard]] const Ratio& scored_speedup() const { return speedup_device ? *speedup_device : speedup_call; }
};

/// The kernels and libraries that may do the work of a candidate's calls.
enum class LibraryUse {
  OwnKernels,  ///< its own kernels, beside copies, fills and a twentieth of the time
  Assisted,    ///< libraries may help, but its own kernels take half of the time or more
  Anything,    ///< every right kernel; the record says what does its work
};
/// "own-kernels", "assisted", "anything".
[[nodiscard]] std::string_view to_string(LibraryUse use);
[[nodiscard]] std::optional<LibraryUse> parse_library_use(std::string_view name);

/// What ran in a call: a kernel on a device, or a shared object on the processor.
struct WorkActivity {
  std::string name;
  KernelOrigin origin = KernelOrigin::Own;
  double microseconds = 0;
};

/// What does the work of a candidate's calls, seen in one that was not timed, after all that were.
struct WorkReport {
  /// "device activities", or "processor samples".
  std::string source;
  /// Shares of the time of all activities, 0 to 1: the candidate's own kernels, vendors' libraries, the framework, and
  /// copies and fills.
  double own = 0;
  double library = 0;
  double framework = 0;
  double copies = 0;
  /// The time of the examined call: of all activities of a device, or by the runner's clock. Far from timed_ns, it
  /// explains little of what was timed.
  double examined_ns = 0;
  /// The median time of the calls that were timed, as replays where there are any; 0 where nothing was timed.
  double timed_ns = 0;
  /// Longest first, at most eight.
  std::vector<WorkActivity> activities;
  /// Why nothing is known; the shares are 0 then.
  std::string unavailable;
};

/// What executes kernels in place of the GPUs that they are written for. That says nothing about these GPUs.
enum class StandIn {
  Processor,  ///< executes the source, compiled for it
  Emulator,   ///< executes the machine code on the processor
  OtherGpu,   ///< executes the source, compiled for it; its times are those of that GPU
};
/// "processor", "emulator", "other_gpu".
[[nodiscard]] std::string_view to_string(StandIn stand_in);

/// Versions, device and isolation of an evaluation.
struct EnvironmentReport {
  std::string kernelgen_version;
  std::string device;  ///< "cpu: AMD EPYC, 2 cores"
  /// The GPU's UUID, "GPU-aabbccdd-..."; empty for the processor.
  std::string device_uuid;
  std::string system;    ///< kernel release
  std::string compiler;  ///< first line of --version; empty for Python targets
  std::string python;
  std::string torch;
  std::string triton;
  int threads = 0;
  /// "full", or the part that is missing: "partial: no user namespaces".
  std::string isolation;
  /// Unset: what the kernel is written for executed it.
  std::optional<StandIn> stand_in{};
};

/// One phase of an evaluation and its duration.
struct Phase {
  std::string name;
  double milliseconds = 0;
};

/// The name of the phase in which an evaluation waits for its device; it holds the device in those after it.
inline constexpr std::string_view k_device_wait_phase = "wait for the device";

/// The result of a tool that watched a candidate.
enum class SanitizerStatus {
  Clean,          ///< the calls ended, and nothing was found
  Found,          ///< the tool found errors of the candidate
  NotFinished,    ///< the calls or the tool did not end, so that nothing is known
  NotApplicable,  ///< the tool has nothing to watch in this kind of candidate
};
[[nodiscard]] std::string_view to_string(SanitizerStatus status);

/// The beginning of a label: a tool should have watched the candidate and could not; the reason follows.
inline constexpr std::string_view k_not_sanitized = "not sanitized: ";

/// One tool that watched calls of the candidate, for errors that need not show in the outputs.
struct SanitizerReport {
  /// "shaker", "thread", "address"; on a GPU "memcheck", "racecheck", "initcheck", "synccheck".
  std::string tool;
  /// First line of the tool's version; empty where it did not run.
  std::string version;
  SanitizerStatus status = SanitizerStatus::NotApplicable;
  /// Why it did not finish or does not apply.
  std::string reason;
  /// What it found, each once; the severity is "error".
  std::vector<Diagnostic> findings;
  std::chrono::nanoseconds duration{0};
};

/// The resources that a candidate's kernels need on an architecture for which they were compiled, and on which they did
/// not run.
struct ArchitectureReport {
  /// The compilers' name: "gfx942".
  std::string architecture;
  /// One for each form of a kernel that the first call launches: "matmul[BLOCK=64, num_warps=4, num_stages=2]".
  std::vector<KernelResources> kernels;
  /// The first reason why a kernel cannot run there or is missing here: its class, and one line. Absent if there is
  /// none.
  std::optional<Outcome> failure;
};

/// The record of one evaluation.
struct EvaluationRecord {
  int schema = 1;
  /// Random, unique.
  std::string id;
  /// UTC, ISO 8601.
  std::string started;
  std::string task_name;
  std::string task_content_id;
  std::string candidate_id;
  Target target = Target::Cpp;
  Language language = Language::Cpp;
  PrecisionClass precision = PrecisionClass::Strict;
  EvaluationMode mode = EvaluationMode::Full;
  Outcome outcome;
  /// Notes for readers of the record: "algebraic", "non-standard tolerance", "interpreter: a time is not a result".
  std::vector<std::string> labels;
  std::optional<TaskDescription> task;
  std::optional<CompileReport> compile;
  Tolerance tolerance;
  std::vector<CaseResult> cases;
  std::optional<WeightReport> weights;
  std::optional<TimingReport> timing;
  /// Absent where no call was examined.
  std::optional<WorkReport> work;
  /// The tools that watched a correct candidate, where that was asked for.
  std::vector<SanitizerReport> sanitizers;
  /// The architectures for which it was compiled besides, where that was asked for.
  std::vector<ArchitectureReport> compiled_for;
  EnvironmentReport environment;
  std::vector<Phase> phases;
};

/// The number that a search compares: the value of scored_speedup(). Nothing unless the outcome is Correct and was
/// timed; a time taken under an interpreter is no result.
[[nodiscard]] std::optional<double> score_of(const EvaluationRecord& record);

/// The time in which an evaluation held its device: its phases after k_device_wait_phase. 0 if it never got the device.
[[nodiscard]] std::chrono::milliseconds device_time_of(const EvaluationRecord& record);

/// Puts `file` in the place of the neutral name of the candidate's source (source_file_name) in the compiler's
/// diagnostics and log and in the outcome's message, for display to the file's owner.
void name_source_file(EvaluationRecord& record, std::string_view file);

/// The record as JSON text, UTF-8, with a schema number.
[[nodiscard]] std::string to_json(const EvaluationRecord& record);
/// Reads the output of to_json(), of this or an older schema. Unknown members are ignored.
[[nodiscard]] Result<EvaluationRecord> parse_record(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
