#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <ostream>

#include <fmt/format.h>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/reply_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "prompt_device.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct PromptOptions {
  std::string task;
  std::string phase;
  std::string target;
  std::string variant;
  std::string candidate;
  std::string result;
  std::string analysis;
  std::string critique;
  std::string profile;
  std::string prompts;
  std::string gpu;
  std::string precision{to_string(PrecisionClass::Strict)};
  std::string cache_dir;
  std::int64_t max_tokens = 0;
  int threads = 0;
  bool json = false;
};

Result<PromptKind> choose_kind(const std::string& name) {
  if (const auto kind = parse_prompt_kind(name)) return *kind;
  return Error{ErrorCode::InvalidArgument,
               "unknown phase " + name + "; phases are seed, repair, analysis, optimize, stage, reflect, critic"};
}

Result<Target> choose_target(const std::string& name) {
  if (const auto target = parse_target(name)) return *target;
  return Error{ErrorCode::InvalidArgument,
               "unknown target " + name + "; targets are cpp, cuda, hip, hipkittens, triton, torch"};
}

/// The candidate with its verdict; nothing when none was given.
Result<std::optional<Attempt>> read_attempt(const PromptOptions& options, Target target) {
  if (options.candidate.empty()) {
    if (options.result.empty()) return std::optional<Attempt>();
    return Error{ErrorCode::InvalidArgument, "--result needs --candidate, the kernel that was judged"};
  }
  Attempt attempt{.action_id = std::filesystem::path(options.candidate).stem().string()};
  KERNELGEN_TRY(attempt.source, read_file(options.candidate, k_max_source_bytes));
  if (options.result.empty()) {
    attempt.message = "it was not judged";
    return std::optional(std::move(attempt));
  }
  KERNELGEN_TRY(const auto text, read_file(options.result));
  KERNELGEN_TRY(attempt.record, parse_record(text).context("reading " + options.result));
  if (attempt.record->candidate_id != make_candidate(target, attempt.source).id)
    return Error{ErrorCode::InvalidArgument, fmt::format("{} is not the record of {} for target {}", options.result,
                                                         options.candidate, to_string(target))};
  return std::optional(std::move(attempt));
}

/// From the record where it holds one of this very task, else by running the reference.
Result<TaskDescription> describe_task(const PromptRequest& request, const PromptOptions& options, Context& context) {
  EvaluationOptions evaluation;
  const auto precision = parse_precision(options.precision);
  if (!precision)
    return Error{ErrorCode::InvalidArgument,
                 "unknown precision " + options.precision + "; classes are strict, default, tf32, fp16, bf16"};
  evaluation.precision = *precision;
  evaluation.threads = options.threads;
  if (request.base && request.base->record && request.base->record->task) {
    const auto& known = *request.base->record->task;
    if (known.content_id == request.task.content_id && known.precision == *precision) return known;
  }
  KERNELGEN_TRY(auto installation, context.find_installation());
  KERNELGEN_TRY(auto cache_dir, choose_cache_dir(options.cache_dir, context.environment));
  KERNELGEN_TRY(const auto benchmarker, context.make_benchmarker({.installation = std::move(installation),
                                                                  .python = context.environment.python,
                                                                  .cache_dir = std::move(cache_dir)}));
  return benchmarker->describe(request.task, evaluation, context.stop);
}

Result<std::unique_ptr<PromptBuilder>> make_builder(const PromptOptions& options, const Context& context) {
  KERNELGEN_TRY(const auto installation, context.find_installation());
  return make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.prompts});
}

std::string to_json_text(const Prompt& prompt) {
  return to_pretty_json({{"kind", to_string(prompt.kind)},
                         {"estimated_tokens", prompt.estimated_tokens},
                         {"dropped", boost::json::value_from(prompt.dropped)},
                         {"fingerprint", prompt.fingerprint},
                         {"text", prompt.text}});
}

/// The profile, with what it means for this step; nothing when none was given.
Result<void> read_profile(const PromptOptions& options, const std::optional<GpuFacts>& gpu, PromptRequest& request) {
  if (options.profile.empty()) return {};
  KERNELGEN_TRY(const auto text, read_file(options.profile));
  KERNELGEN_TRY(request.profile, parse_profile(text).context("reading " + options.profile));
  const auto stage = request.kind == PromptKind::Stage ? options.variant : "";
  for (auto& finding : findings_for_stage(*request.profile, stage, gpu))
    request.findings.push_back(std::move(finding.message));
  return {};
}

Result<PromptRequest> make_request(const PromptOptions& options, Context& context) {
  PromptRequest request;
  KERNELGEN_TRY(request.kind, choose_kind(options.phase));
  KERNELGEN_TRY(request.target, choose_target(options.target));
  KERNELGEN_TRY(request.task, load_task_source(options.task, {.kernelbench_dir = context.environment.kernelbench_dir}));
  KERNELGEN_TRY(request.base, read_attempt(options, request.target));
  if (request.target == Target::Cpp && options.candidate.ends_with(".c")) request.language = Language::C;
  if (!options.analysis.empty()) {
    KERNELGEN_TRY(const auto text, read_file(options.analysis));
    KERNELGEN_TRY(request.analysis, read_analysis(text).context("reading " + options.analysis));
  }
  if (!options.critique.empty()) {
    KERNELGEN_TRY(const auto text, read_file(options.critique));
    KERNELGEN_CHECK(read_critique(text).context("reading " + options.critique));
    request.critique = text;
  }
  request.variant = options.variant;
  if (options.max_tokens > 0) request.max_tokens = options.max_tokens;
  KERNELGEN_TRY(auto device, find_prompt_device({.target = request.target,
                                                 .gpu = options.gpu,
                                                 .device = {},
                                                 .cache_dir = options.cache_dir,
                                                 .judged_here = false},
                                                context));
  KERNELGEN_CHECK(read_profile(options, device.gpu, request));
  request.device = std::move(device.facts);
  request.on_gpu = device.gpu.has_value();
  KERNELGEN_TRY(const auto cpu, read_cpu_facts());
  request.threads = options.threads > 0 ? options.threads : cpu.usable_cores;
  return request;
}

Result<ExitCode> run_prompt(const PromptOptions& options, Context& context) {
  // Everything cheap is checked before the reference is run.
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

void bind_options(CLI::App& command, PromptOptions& options) {
  command.add_option("task", options.task, "A file, or level3/40 with KERNELBENCH_DIR")->required()->type_name("TASK");
  command.add_option("--phase", options.phase, "seed, repair, analysis, optimize, stage, reflect or critic")
      ->required()
      ->type_name("NAME");
  command.add_option("--target", options.target, "cpp, cuda, hip, hipkittens, torch or triton")
      ->required()
      ->type_name("NAME");
  command
      .add_option("--variant", options.variant,
                  "A strategy (seed), a stage (stage), an escalation (repair), correctness or optimization (critic)")
      ->type_name("NAME");
  command.add_option("--candidate", options.candidate, "The kernel to start from; all phases but seed need one")
      ->type_name("FILE");
  command.add_option("--result", options.result, "Its record, as eval --output writes it")->type_name("FILE");
  command.add_option("--analysis", options.analysis, "The reply to an analysis prompt; for optimize")
      ->type_name("FILE");
  command
      .add_option("--critique", options.critique, "The reply to a critic prompt; for repair, optimize, stage, reflect")
      ->type_name("FILE");
  command.add_option("--profile", options.profile, "What profile --json printed about the candidate")
      ->type_name("FILE");
  command.add_option("--gpu", options.gpu, "Write for this GPU, which need not be here; kgen devices --all")
      ->type_name("NAME");
  command.add_option("--prompts", options.prompts, "Templates that replace the shipped ones of the same name")
      ->type_name("DIR");
  command.add_option("--max-tokens", options.max_tokens, "Leave optional parts out until it is this short")
      ->type_name("N")
      ->check(CLI::PositiveNumber.description(""));
  command.add_option("--precision", options.precision, "strict, default, tf32, fp16 or bf16")
      ->type_name("CLASS")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Threads of the kernel; 0: one per core")
      ->type_name("N")
      ->check(CLI::Range(0, 4096).description(""))
      ->capture_default_str();
  command.add_flag("--json", options.json, "Print text, token estimate and fingerprint as JSON");
  command.add_option("--cache-dir", options.cache_dir, "Admitted tasks; XDG_CACHE_HOME/kernelgen")->type_name("DIR");
}

}  // namespace

void add_prompt_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("prompt", "Show what would be sent to a model");
  const auto options = std::make_shared<PromptOptions>();
  bind_options(*command, *options);
  command->callback(
      [options, &context, &action] { action = [options, &context] { return run_prompt(*options, context); }; });
}

}  // namespace kernelgen::cli
