#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/launched_workers.hpp>
#include <kernelgen/core/waiting.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"

namespace kernelgen::cli {

/// Values of the options that all commands share which evaluate kernels.
struct EvaluationFlags {
  std::vector<std::string> shrink;
  std::string launch_prefix;
  /// Commands that start workers.
  std::vector<WorkerLaunch> workers;
  std::string spool;
  bool no_wait = false;
  std::string cache_dir;
  /// The Python that has torch; empty: python3.
  std::string python;
  double timeout_seconds = 30;
  double build_timeout_seconds = 300;
  double task_timeout_seconds = 300;
  double baseline_timeout_seconds = 300;
  /// Values that need no translation are stored here directly.
  EvaluationOptions options;
};

/// Adds the options of `flags`, which must outlive them, under the heading "Evaluation".
void add_evaluation_options(std::vector<Option>& options, EvaluationFlags& flags, const Environment& environment);

/// --baseline and --baseline-timeout.
[[nodiscard]] Option baseline_option(EvaluationFlags& flags);
[[nodiscard]] Option baseline_timeout_option(EvaluationFlags& flags);

/// The option --no-wait, with help for the command.
[[nodiscard]] Option no_wait_option(EvaluationFlags& flags, std::string help);

/// Options that several commands have, each with its own help.
[[nodiscard]] Option task_option(std::string& task);
/// The model of commands that are given none.
inline constexpr const char* k_default_model = "gateway";
[[nodiscard]] Option llm_option(std::string& spec);
[[nodiscard]] Option repeated_llm_option(std::vector<std::string>& specs);
[[nodiscard]] Option prompts_option(std::string& prompts);
[[nodiscard]] Option gpu_option(std::string& gpu, std::string help);
[[nodiscard]] Option temperature_option(double& temperature);
[[nodiscard]] Option precision_option(PrecisionClass& precision);
[[nodiscard]] Option shrink_option(std::vector<std::string>& shrink, std::string help);
[[nodiscard]] Option python_option(std::string& python, const Environment& environment);
[[nodiscard]] Option cache_dir_option(std::string& cache_dir, std::string help);

/// The value of --target.
[[nodiscard]] Value target_value(std::optional<Target>& target);
/// The names of all kinds of prompts, for parse_prompt_kind().
[[nodiscard]] const std::vector<std::string>& prompt_kind_names();

/// The library's options for an evaluation.
[[nodiscard]] Result<EvaluationOptions> evaluation_options(const EvaluationFlags& flags);

/// Whether to wait for work that is done outside this process.
[[nodiscard]] Waiting waiting_of(const EvaluationFlags& flags);

/// Makes the benchmarker that the options name: a worker, behind the launch prefix if there is one, or a spool
/// directory.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_benchmarker(const EvaluationFlags& flags, Context& context);

/// Reads the source of a kernel. Errors name the option; a file that is a task is refused.
[[nodiscard]] Result<std::string> read_code(const std::string& option, const std::string& path);
/// Reads the task of --problem. Errors name the option; a file that is a kernel is refused.
[[nodiscard]] Result<TaskSource> read_problem(const std::string& name, const Environment& environment);

/// The target of --target, else the one of the file's suffix or its source. InvalidArgument says what to pass if there
/// is none.
[[nodiscard]] Result<Target> choose_target(std::optional<Target> named, const std::string& path,
                                           const std::string& source);

/// A duration from the seconds of an option.
[[nodiscard]] std::chrono::milliseconds to_milliseconds(double seconds);

}  // namespace kernelgen::cli
