#include <algorithm>
#include <filesystem>
#include <ostream>

#include <kernelgen/core/record.hpp>
#include <kernelgen/store/framework_result.hpp>
#include <kernelgen/task/task_source.hpp>

#include <unistd.h>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "render.hpp"
#include "search_setup.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct EvalOptions {
  std::string code;
  std::string problem;
  std::string output;
  std::optional<Target> target;
  bool json = false;
  bool correctness_only = false;
  bool quick = false;
  double measure_seconds = 20;
  double sanitize_timeout_seconds = 180;
  std::string profile = "sandboxed";
  EvaluationFlags evaluation;
};

/// The value of --compile-for: architectures separated by commas, in any number of options. The worker knows them.
Value architectures_value(std::vector<std::string>& architectures) {
  Value value{.completions = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"}};
  value.store = [&architectures](const std::string& text) -> Result<void> {
    for (const auto part : split(text, ',')) {
      if (part.empty()) return Error{ErrorCode::InvalidArgument, "expected architectures, such as gfx942,gfx1100"};
      architectures.emplace_back(part);
    }
    return {};
  };
  return value;
}

/// Checks before any work is done that the record can be written.
Result<void> check_output(const std::string& output) {
  if (output.empty()) return {};
  const std::filesystem::path path(output);
  const auto directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Error{ErrorCode::InvalidArgument, "cannot write " + output + ": it is a directory"};
  if (std::filesystem::exists(directory, ignored) && !std::filesystem::is_directory(directory, ignored))
    return Error{ErrorCode::InvalidArgument, "cannot write " + output + ": " + directory.string() + " is no directory"};
  if (::access(directory.c_str(), W_OK) != 0) return errno_error(errno, "cannot write " + output);
  return {};
}

Result<EvaluationRequest> make_request(const EvalOptions& options, const Environment& environment) {
  EvaluationRequest request;
  KERNELGEN_TRY(auto source, read_code("--code", options.code));
  KERNELGEN_TRY(const auto target, choose_target(options.target, options.code, source));
  KERNELGEN_TRY(request.options, evaluation_options(options.evaluation));
  if (options.correctness_only) request.options.mode = EvaluationMode::CorrectnessOnly;
  if (options.quick) request.options.mode = EvaluationMode::Quick;
  request.options.measure.deadline = to_milliseconds(options.measure_seconds);
  request.options.sanitizers.timeout = to_milliseconds(options.sanitize_timeout_seconds);
  KERNELGEN_TRY(request.task, read_problem(options.problem, environment));
  request.candidate = make_candidate(target, guess_language(options.code, target), std::move(source));
  return request;
}

Result<Profile> take_profile(const EvalOptions& options, const EvaluationRequest& request, std::optional<GpuFacts>& gpu,
                             Context& context) {
  const auto& evaluation = options.evaluation;
  if (!evaluation.spool.empty() || !evaluation.launch_prefix.empty())
    return Error{ErrorCode::Unavailable, "the kernel was judged elsewhere"};
  KERNELGEN_TRY(auto device, find_prompt_device({.target = request.candidate.target,
                                                 .device = evaluation.options.device,
                                                 .cache_dir = evaluation.cache_dir,
                                                 .is_judged_here = true},
                                                context));
  gpu = std::move(device.gpu);
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto profiler, make_sandboxed_profiler(evaluation, gpu, installation, context));
  ProfileRequest profile{.task = request.task, .candidate = request.candidate, .artifact = {}};
  profile.precision = request.options.precision;
  profile.shrink = request.options.shrink;
  profile.gpu = gpu;
  profile.metric_set = "full";
  return profiler->profile(profile, context.stop);
}

/// Adds the profile of a correct kernel that is slower than the reference. One that cannot be taken says why.
void add_profile(const EvalOptions& options, const EvaluationRequest& request, const EvaluationRecord& record,
                 FrameworkResult& result, Context& context) {
  const auto verdict = classify_verdict(record);
  const bool is_slower = verdict == VerdictClass::Slower;
  if (!is_slower || options.output.empty() || options.profile == "none") return;
  auto taken = take_profile(options, request, result.gpu, context);
  if (!taken)
    result.profile = unavailable_profile(taken.error().to_line());
  else
    result.profile = *std::move(taken);
}

Result<ExitCode> run_eval(const EvalOptions& options, Context& context) {
  KERNELGEN_CHECK(check_output(options.output).context("--output"));
  KERNELGEN_TRY(const auto request, make_request(options, context.environment));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  ProgressDisplay progress(context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); });
  KERNELGEN_TRY(auto record, benchmarker->evaluate(
                                 request, [&](const EvaluationProgress& step) { progress.show(step); }, context.stop));
  progress.clear();
  name_source_file(record, options.code);
  FrameworkResult result{.problem = request.task.path, .code_path = options.code};
  add_profile(options, request, record, result, context);
  // The verdict is shown even if the record cannot be written, because it may have taken long.
  const auto written =
      options.output.empty() ? Result<void>{} : write_file_atomic(options.output, to_framework_json(record, result));
  if (options.json) {
    context.out << to_json(record);
  } else {
    const auto& terminal = context.out_terminal;
    context.out << render_record(record, {.width = terminal.interactive ? terminal.width : 0,
                                          .color = terminal.color,
                                          .record_path = written ? options.output : ""});
  }
  if (!written) return written.error();
  return exit_code_for(record);
}

/// Adds the options for the amount of measurement. A task's kgen.toml may not set them, because measuring less weakens
/// the verdict.
void add_measurement_options(std::vector<Option>& described, EvalOptions& options) {
  constexpr std::int64_t k_most_samples = 1'000'000;
  auto& measure = options.evaluation.options.measure;
  const std::vector<Option> added{{.name = "--correctness-only",
                                   .help = "Time nothing; works on a busy machine",
                                   .value = values::flag(options.correctness_only),
                                   .excludes = {"--baseline"}},
                                  {.name = "--quick",
                                   .help = "Fewer samples and comparisons; labelled",
                                   .value = values::flag(options.quick),
                                   .excludes = {"--correctness-only"}},
                                  {.name = "--samples",
                                   .value_name = "N",
                                   .help = "Timed pairs of calls at most",
                                   .value = values::whole_number(measure.max_samples, {1, k_most_samples}),
                                   .excludes = {"--correctness-only"}},
                                  {.name = "--warmup",
                                   .value_name = "N",
                                   .help = "Pairs of calls before the first timed one",
                                   .value = values::whole_number(measure.warmup_calls, {0, k_most_samples}),
                                   .excludes = {"--correctness-only"}},
                                  {.name = "--measure-seconds",
                                   .value_name = "S",
                                   .help = "Limit of all timed calls together",
                                   .value = values::seconds(options.measure_seconds),
                                   .excludes = {"--correctness-only"}}};
  for (auto option : added) {
    option.group = "Measurement";
    option.task_file = TaskFileRule::WeakensVerdict;
    described.push_back(std::move(option));
  }
}

std::vector<Option> describe_options(EvalOptions& options, const Environment& environment) {
  std::vector<Option> described{
      {.name = "--code",
       .value_name = "FILE",
       .help = "The kernel: a source file",
       .value = values::file(options.code)},
      task_option(options.problem),
      {.name = "--output",
       .value_name = "FILE",
       .help = "Write the record there, with the members of the HIP framework's results",
       .value = values::file(options.output),
       .task_file = TaskFileRule::WritesFiles},
      {.name = "--profile",
       .value_name = "KIND",
       .help = "none, or sandboxed: what --output says about the time of a correct kernel that is slower",
       .value = values::choice(options.profile, {"none", "sandboxed"})},
      {.name = "--json",
       .help = "Print the record, and nothing else, to standard output",
       .value = values::flag(options.json)},
      {.name = "--target",
       .value_name = "NAME",
       .help = "cpp, cuda, hip, hipkittens, torch or triton; guessed from the file when not given",
       .value = target_value(options.target),
       .task_file = TaskFileRule::Allowed},
      {.name = "--wave-size",
       .value_name = "N",
       .help = "Lanes of a wavefront where the CPU executes hip: 64 or 32",
       .value = values::whole_number(options.evaluation.options.hip_cpu.wave_size, {32, 64}),
       .task_file = TaskFileRule::Allowed},
      {.name = "--compile-for",
       .value_name = "LIST",
       .help = "Compile triton for GPUs that are not here, too: gfx942,gfx1100",
       .value = architectures_value(options.evaluation.options.compile_for.architectures),
       .is_repeatable = true,
       .task_file = TaskFileRule::Allowed},
      baseline_option(options.evaluation),
      baseline_timeout_option(options.evaluation),
      {.name = "--sanitize",
       .help = "Watch further calls of a correct kernel for races and wrong accesses",
       .value = values::flag(options.evaluation.options.sanitizers.enabled),
       .task_file = TaskFileRule::WeakensVerdict},
      {.name = "--sanitize-timeout",
       .value_name = "S",
       .help = "Limit of each tool that watches it",
       .value = values::seconds(options.sanitize_timeout_seconds, 1),
       .task_file = TaskFileRule::WeakensVerdict},
      no_wait_option(options.evaluation, "Leave the request there; ask again later for the record")};
  described[0].is_required = true;
  described[1].is_required = true;
  described.back().needs = "--spool";
  add_measurement_options(described, options);
  add_evaluation_options(described, options.evaluation, environment);
  return described;
}

}  // namespace

Command make_eval_command(Context& context) {
  const auto options = std::make_shared<EvalOptions>();
  return {.name = "eval",
          .summary = "Judge one kernel against one task",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return run_eval(*options, context); },
          .task_option = "--problem"};
}

}  // namespace kernelgen::cli
