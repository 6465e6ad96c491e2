#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <limits>
#include <ostream>

#include <fmt/format.h>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/reply_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct PromptOptions {
  std::string task;
  std::optional<PromptKind> phase;
  std::optional<Target> target;
  std::string variant;
  std::string candidate;
  std::string result;
  std::string second;
  std::string second_result;
  std::string analysis;
  std::string critique;
  std::string profile;
  std::string prompts;
  std::string gpu;
  PrecisionClass precision = PrecisionClass::Strict;
  std::string python;
  std::string cache_dir;
  std::optional<std::int64_t> max_tokens;
  int threads = 0;
  bool json = false;
};

/// A file with a kernel and one with its record, and the options that name them.
struct AttemptFiles {
  const char* kernel_option;
  const std::string& kernel;
  const char* record_option;
  const std::string& record;
};

/// Reads a candidate with its verdict; nothing when none was given.
Result<std::optional<Attempt>> read_attempt(const AttemptFiles& files, Target target) {
  if (files.kernel.empty()) {
    if (files.record.empty()) return std::optional<Attempt>();
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{} needs {}, the kernel that was judged", files.record_option, files.kernel_option)};
  }
  Attempt attempt{.action_id = std::filesystem::path(files.kernel).stem().string()};
  KERNELGEN_TRY(attempt.source, read_code(files.kernel_option, files.kernel));
  if (files.record.empty()) {
    attempt.message = "it was not judged";
    return std::optional(std::move(attempt));
  }
  KERNELGEN_TRY(const auto text, read_file(files.record).context(files.record_option));
  KERNELGEN_TRY(attempt.record,
                parse_record(text).context(fmt::format("{}: reading {}", files.record_option, files.record)));
  if (attempt.record->candidate_id != make_candidate(target, attempt.record->language, attempt.source).id)
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is not the record of {} for target {}", files.record,
                                                         files.kernel, to_string(target))};
  return std::optional(std::move(attempt));
}

/// Takes the description from the record if it describes this task, and runs the reference otherwise.
Result<TaskDescription> describe_task(const PromptRequest& request, const PromptOptions& options, Context& context) {
  EvaluationOptions evaluation;
  // The same command prints the same prompt, so nothing is timed.
  evaluation.mode = EvaluationMode::CorrectnessOnly;
  evaluation.precision = options.precision;
  evaluation.threads = options.threads;
  if (request.base && request.base->record && request.base->record->task) {
    const auto& known = *request.base->record->task;
    if (known.content_id == request.task.content_id && known.precision == options.precision) return known;
  }
  KERNELGEN_TRY(auto installation, context.find_installation());
  KERNELGEN_TRY(auto cache_dir, choose_cache_dir(options.cache_dir, context.environment));
  KERNELGEN_TRY(const auto benchmarker, context.make_benchmarker({.installation = std::move(installation),
                                                                  .python = options.python,
                                                                  .cache_dir = std::move(cache_dir)}));
  return benchmarker->describe(request.task, evaluation, context.stop);
}

Result<std::unique_ptr<PromptBuilder>> make_builder(const PromptOptions& options, const Context& context) {
  KERNELGEN_TRY(const auto installation, context.find_installation());
  return make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.prompts})
      .context("--prompts");
}

std::string to_json_text(const Prompt& prompt) {
  return to_pretty_json({{"kind", to_string(prompt.kind)},
                         {"estimated_tokens", prompt.estimated_tokens},
                         {"shared_bytes", prompt.shared_bytes},
                         {"dropped", boost::json::value_from(prompt.dropped)},
                         {"fingerprint", prompt.fingerprint},
                         {"text", prompt.text}});
}

/// Reads the profile, if one was given, and adds its findings for this step.
Result<void> read_profile(const PromptOptions& options, const std::optional<GpuFacts>& gpu, PromptRequest& request) {
  if (options.profile.empty()) return {};
  KERNELGEN_TRY(const auto text, read_file(options.profile).context("--profile"));
  KERNELGEN_TRY(request.profile, parse_profile(text).context("--profile: reading " + options.profile));
  const auto stage = request.kind == PromptKind::Stage ? options.variant : "";
  for (auto& finding : findings_for_stage(*request.profile, stage, gpu))
    request.findings.push_back(std::move(finding.message));
  return {};
}

Result<PromptRequest> make_request(const PromptOptions& options, Context& context) {
  PromptRequest request;
  request.kind = *options.phase;
  request.target = *options.target;
  KERNELGEN_TRY(request.task, load_task_source(options.task, {.kernelbench_dir = context.environment.kernelbench_dir}));
  KERNELGEN_TRY(request.base,
                read_attempt({"--candidate", options.candidate, "--result", options.result}, request.target));
  KERNELGEN_TRY(request.second,
                read_attempt({"--second", options.second, "--second-result", options.second_result}, request.target));
  request.language = guess_language(options.candidate, request.target);
  if (!options.analysis.empty()) {
    KERNELGEN_TRY(const auto text, read_file(options.analysis).context("--analysis"));
    KERNELGEN_TRY(request.analysis, read_analysis(text).context("--analysis: reading " + options.analysis));
  }
  if (!options.critique.empty()) {
    KERNELGEN_TRY(const auto text, read_file(options.critique).context("--critique"));
    KERNELGEN_CHECK(read_critique(text).context("--critique: reading " + options.critique));
    request.critique = text;
  }
  request.variant = options.variant;
  request.max_tokens = options.max_tokens;
  KERNELGEN_TRY(auto device, find_prompt_device({.target = request.target,
                                                 .gpu = options.gpu,
                                                 .device = {},
                                                 .cache_dir = options.cache_dir,
                                                 .is_judged_here = false},
                                                context));
  KERNELGEN_CHECK(read_profile(options, device.gpu, request));
  request.device = std::move(device.facts);
  set_prompt_gpu(request, device.gpu);
  KERNELGEN_TRY(const auto cpu, read_cpu_facts());
  request.threads = options.threads > 0 ? options.threads : cpu.usable_cores;
  return request;
}

Result<ExitCode> run_prompt(const PromptOptions& options, Context& context) {
  // Cheap checks come before the reference is run.
  KERNELGEN_TRY(const auto builder, make_builder(options, context));
  KERNELGEN_TRY(auto request, make_request(options, context));
  KERNELGEN_TRY(request.description, describe_task(request, options, context));
  request.tolerance =
      request.base && request.base->record ? request.base->record->tolerance : standard_tolerance(request.description);
  KERNELGEN_TRY(const auto prompt, builder->build(request));
  if (options.json) {
    context.out << to_json_text(prompt);
    return ExitCode::Success;
  }
  context.out << prompt.text;
  context.err << fmt::format("about {} tokens", prompt.estimated_tokens);
  for (const auto& part : prompt.dropped) context.err << ", without " << part;
  context.err << '\n';
  return ExitCode::Success;
}

std::vector<Option> describe_options(PromptOptions& options, const Environment& environment) {
  return {{.name = "task",
           .value_name = "TASK",
           .help = "A file, or level3/40 with KERNELBENCH_DIR",
           .value = values::file(options.task),
           .is_required = true},
          {.name = "--phase",
           .value_name = "NAME",
           .help = "seed, repair, analysis, optimize, stage, reflect, critic or crossover",
           .value = values::enumeration(options.phase, prompt_kind_names(), parse_prompt_kind),
           .is_required = true},
          {.name = "--target",
           .value_name = "NAME",
           .help = "cpp, cuda, hip, hipkittens, torch or triton",
           .value = target_value(options.target),
           .is_required = true,
           .task_file = TaskFileRule::Allowed},
          {.name = "--variant",
           .value_name = "NAME",
           .help = "A strategy (seed), a stage (stage), an escalation (repair), correctness or optimization (critic)",
           .value = values::text(options.variant)},
          {.name = "--candidate",
           .value_name = "FILE",
           .help = "The kernel to start from; all phases but seed need one",
           .value = values::file(options.candidate)},
          {.name = "--result",
           .value_name = "FILE",
           .help = "Its record, as eval --output writes it",
           .value = values::file(options.result)},
          {.name = "--second",
           .value_name = "FILE",
           .help = "The other kernel of a crossover",
           .value = values::file(options.second)},
          {.name = "--second-result",
           .value_name = "FILE",
           .help = "Its record",
           .value = values::file(options.second_result)},
          {.name = "--analysis",
           .value_name = "FILE",
           .help = "The reply to an analysis prompt; for optimize",
           .value = values::file(options.analysis)},
          {.name = "--critique",
           .value_name = "FILE",
           .help = "The reply to a critic prompt; for repair, optimize, stage, reflect",
           .value = values::file(options.critique)},
          {.name = "--profile",
           .value_name = "FILE",
           .help = "What profile --json printed about the candidate",
           .value = values::file(options.profile)},
          gpu_option(options.gpu, "Write for this GPU, which need not be here; kgen devices --all"),
          prompts_option(options.prompts),
          {.name = "--max-tokens",
           .value_name = "N",
           .help = "Leave optional parts out until it is this short",
           .value = values::whole_number(options.max_tokens, {1, std::numeric_limits<std::int64_t>::max()})},
          precision_option(options.precision),
          {.name = "--threads",
           .value_name = "N",
           .help = "Threads of the kernel; 0: one per core",
           .value = values::whole_number(options.threads, {0, 4096}),
           .is_shared = true,
           .task_file = TaskFileRule::WeakensVerdict},
          {.name = "--json",
           .help = "Print text, token estimate and fingerprint as JSON",
           .value = values::flag(options.json)},
          python_option(options.python, environment),
          cache_dir_option(options.cache_dir, "Admitted tasks; XDG_CACHE_HOME/kernelgen")};
}

}  // namespace

Command make_prompt_command(Context& context) {
  const auto options = std::make_shared<PromptOptions>();
  return {.name = "prompt",
          .summary = "Show what would be sent to a model",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return run_prompt(*options, context); },
          .task_option = "task"};
}

}  // namespace kernelgen::cli
