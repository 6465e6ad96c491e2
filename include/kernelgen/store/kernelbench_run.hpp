#pragma once

/// \file
/// The files of a KernelBench run folder: kernels named level_X_problem_Y_sample_Z_kernel.py, and what their author
/// claims about them in eval_results.json. Everything but read_kernelbench_run() is pure.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Which times a claimed speed-up compares.
enum class SpeedupKind {
  PerCall,  ///< calls from the host, as KernelBench times them
  Score,    ///< what score_of() takes: on a device replayed as graphs, where possible
};

/// What the author of a kernel says about it. Not a result: nothing here was measured by this program.
struct Claim {
  std::optional<bool> correct = {};
  /// Reference time over kernel time.
  std::optional<double> speedup = {};
  /// The 95 % interval of the speed-up; few claims have one.
  std::optional<Ratio> interval = {};
  SpeedupKind kind = SpeedupKind::PerCall;
  /// The device on which it was measured; empty: unknown.
  std::string device = {};
  /// Parts that cannot be used, one line each: "runtime: expected a number above 0".
  std::vector<std::string> problems = {};

  /// Nothing is claimed that could be checked.
  [[nodiscard]] bool empty() const { return !correct && !speedup; }
};

/// Which task and which attempt a kernel of a run folder is.
struct KernelBenchSample {
  int level = 0;
  int problem = 0;
  int sample = 0;
  /// Orders by level, problem and sample.
  auto operator<=>(const KernelBenchSample&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Reads "level_1_problem_19_sample_0_kernel.py"; nothing for other names.
[[nodiscard]] std::optional<KernelBenchSample> parse_kernel_file_name(std::string_view file_name);
/// The opposite.
[[nodiscard]] std::string kernel_file_name(const KernelBenchSample& sample);

/// One entry of eval_results.json.
struct KernelBenchResult {
  int problem = 0;
  int sample = 0;
  std::optional<bool> compiled = {};
  std::optional<bool> correct = {};
  /// Milliseconds of a call. Absent where the file has -1, as for kernels that are not correct.
  std::optional<double> runtime_ms = {};
  /// The same of the reference, which few files have.
  std::optional<double> reference_ms = {};
  std::string device = {};
  /// Parts that cannot be used, as in Claim.
  std::vector<std::string> problems = {};
};

/// The content of an eval_results.json.
struct KernelBenchResults {
  std::vector<KernelBenchResult> results;
  /// Entries that cannot be read, one line each: "problem 3: expected an object".
  std::vector<std::string> problems;
};

/// Reads eval_results.json of any version: an entry or a list of entries for each problem, numbers or texts, NaN and
/// Infinity as Python writes them. Of several entries of one sample the last one counts. InvalidArgument, with line and
/// column, for what is no JSON, and for JSON of another kind.
[[nodiscard]] Result<KernelBenchResults> parse_eval_results(std::string_view text);

/// Times of references in milliseconds, by level and file name: {1, "19_ReLU.py"}.
using BaselineTimes = std::map<std::pair<int, std::string>, double>;
/// Reads a file such as KernelBench's results/timing/HARDWARE/baseline_time_torch.json. Errors as above.
[[nodiscard]] Result<BaselineTimes> parse_baseline_times(std::string_view text);

/// Makes a claim of an entry. The speed-up is that of the entry's own reference time, else of `reference_ms`; absent
/// where neither is known, and for kernels that are not claimed to be correct.
[[nodiscard]] Claim claim_of(const KernelBenchResult& result, std::optional<double> reference_ms);

/// Reads claims about files: {"relu.py": {"correct": true, "speedup": 2.1, "device": "NVIDIA H100"}}. Errors as above.
[[nodiscard]] Result<std::map<std::string, Claim>> parse_claims(std::string_view text);

/// The claim as one line of JSON, and back; for journals. Errors as above.
[[nodiscard]] std::string to_json(const Claim& claim);
[[nodiscard]] Result<Claim> parse_claim(std::string_view text);

/// A run folder: its kernel files by name, and what is claimed about them.
struct KernelBenchRun {
  std::vector<KernelBenchSample> kernels;
  KernelBenchResults claims;
};
/// Lists the kernels, sorted, and reads eval_results.json where there is one. Kernels are not read. InvalidArgument for
/// a folder without kernels and claims, and for a malformed eval_results.json.
[[nodiscard]] Result<KernelBenchRun> read_kernelbench_run(const std::filesystem::path& directory);

/// A kernel that was judged, for eval_results.json.
struct JudgedSample {
  KernelBenchSample sample;
  EvaluationRecord record;
};
/// Writes eval_results.json in the present format: an entry has sample_id, compiled, correctness, metadata, runtime and
/// runtime_stats in milliseconds, and beside these ref_runtime and ref_runtime_stats. The outcome and the interval of
/// the speed-up are in metadata.kernelgen.
[[nodiscard]] std::string eval_results_json(const std::vector<JudgedSample>& samples);

/// Whether the outcome says enough to be an entry: not for a task that tells nothing, and not for a kernel that could
/// not be measured.
[[nodiscard]] bool is_verdict_for_kernelbench(const Outcome& outcome);

}  // namespace v0
}  // namespace kernelgen
