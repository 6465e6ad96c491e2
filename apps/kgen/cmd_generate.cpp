#include <filesystem>
#include <optional>
#include <ostream>
#include <utility>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/prompt_set.hpp>
#include <kernelgen/prompt/reply_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "search_setup.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct GenerateOptions {
  std::string problem;
  std::string output;
  std::optional<Target> target;
  std::string llm = k_default_model;
  std::string prompt;
  std::string response_file;
  std::string prompts;
  std::string gpu;
  int samples = 1;
  double temperature = 0.7;
  EvaluationFlags evaluation;
};

bool is_gateway(const std::string& spec) {
  return spec == k_default_model || spec.starts_with(std::string(k_default_model) + ':');
}

/// The prompt set that chooses by the task: that of --prompts; for a gateway, which the HIP framework asked, else the
/// framework's. Empty: none.
std::filesystem::path choose_prompt_set(const GenerateOptions& options, Target target,
                                        const Installation& installation) {
  if (is_prompt_set(options.prompts)) return options.prompts;
  return options.prompts.empty() && is_gateway(options.llm) ? framework_prompts(target, installation)
                                                            : std::filesystem::path();
}

/// The builder of prompts. --prompt names a prompt of the set here, if anything.
Result<std::unique_ptr<PromptBuilder>> make_prompts(const GenerateOptions& options, Target target,
                                                    const Installation& installation) {
  PromptBuilderOptions prompts{.directory = installation.prompts_dir, .overrides = options.prompts};
  prompts.prompt_set = choose_prompt_set(options, target, installation);
  const auto context = options.prompts.empty() ? "prompts" : "--prompts";
  if (options.prompt.empty()) return make_prompt_builder(prompts).context(context);
  KERNELGEN_TRY(auto set, read_prompt_set(prompts.prompt_set).context(context));
  set.patterns.clear();
  set.default_prompt = std::filesystem::path(options.prompt).filename().string();
  std::vector<std::string> names;
  for (const auto& [name, text] : set.texts) names.push_back(name);
  if (!set.texts.contains(set.default_prompt))
    return Error{ErrorCode::NotFound, "--prompt: there is no file " + options.prompt + ", and the prompt set has " +
                                          list_alternatives(names)};
  KERNELGEN_TRY(auto builder, make_prompt_builder({.directory = installation.prompts_dir, .overrides = {}}));
  return make_prompt_set_builder(std::move(builder), std::move(set));
}

/// Reads a prompt and appends the reference, because a model cannot solve the task without it.
Result<Prompt> read_prompt(const std::string& file, const TaskSource& task) {
  KERNELGEN_TRY(auto text, read_file(file).context("--prompt"));
  if (text.find(task.text) == text.npos)
    text += "\n\nThe reference, " + task.name + ".py:\n\n````python\n" + task.text + "````\n";
  return Prompt{.kind = PromptKind::Seed, .text = std::move(text)};
}

Result<Prompt> make_prompt(const GenerateOptions& options, Target target, Context& context) {
  KERNELGEN_TRY(auto task, read_problem(options.problem, context.environment));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(options.prompt, ignored);
  if (!options.prompt.empty() && (is_file || choose_prompt_set(options, target, installation).empty()))
    return read_prompt(options.prompt, task);
  PromptRequest request;
  request.target = target;
  KERNELGEN_TRY(const auto evaluation, evaluation_options(options.evaluation));
  KERNELGEN_TRY(const auto cpu, read_cpu_facts());
  KERNELGEN_TRY(const auto builder, make_prompts(options, target, installation));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  KERNELGEN_TRY(request.description, benchmarker->describe(task, evaluation, context.stop));
  request.tolerance = standard_tolerance(request.description);
  if (evaluation.rtol) request.tolerance.rtol = *evaluation.rtol;
  if (evaluation.atol) request.tolerance.atol = *evaluation.atol;
  request.threads = evaluation.threads > 0 ? evaluation.threads : cpu.usable_cores;
  KERNELGEN_TRY(auto device, find_prompt_device({.target = request.target,
                                                 .gpu = options.gpu,
                                                 .device = options.evaluation.options.device,
                                                 .cache_dir = options.evaluation.cache_dir,
                                                 .is_judged_here = false},
                                                context));
  request.device = std::move(device.facts);
  set_prompt_gpu(request, device.gpu);
  request.task = std::move(task);
  return builder->build(request);
}

/// The path of a sample: "kernel.cpp" for the only one, "kernel_s2.cpp" for the second of several.
std::string sample_path(const std::string& path, int sample, int samples) {
  if (samples == 1) return path;
  std::filesystem::path numbered(path);
  numbered.replace_filename(numbered.stem().string() + "_s" + std::to_string(sample) + numbered.extension().string());
  return numbered.string();
}

/// The files for a sample's reply.
struct SampleFiles {
  std::string code;
  /// File for the whole reply; empty: the reply is written only if it has no code.
  std::string response;
};

SampleFiles files_of(const GenerateOptions& options, int sample) {
  SampleFiles files{.code = sample_path(options.output, sample, options.samples), .response = {}};
  if (!options.response_file.empty()) files.response = sample_path(options.response_file, sample, options.samples);
  return files;
}

/// Checks that the files can be written before a reply is paid for.
Result<void> check_outputs(const GenerateOptions& options) {
  for (int sample = 1; sample <= options.samples; ++sample) {
    const auto files = files_of(options, sample);
    KERNELGEN_CHECK(check_writable(files.code).context("--output"));
    if (!files.response.empty()) KERNELGEN_CHECK(check_writable(files.response).context("--response-file"));
  }
  return {};
}

/// Writes the reply and its code. Returns why there is no code; nothing if there is.
Result<std::optional<std::string>> write_sample(const SampleFiles& files, Target target, const Reply& reply) {
  const auto extracted = extract_code(reply, target);
  const auto response = extracted.code || !files.response.empty() ? files.response : files.code + ".reply.txt";
  if (!response.empty()) KERNELGEN_CHECK(write_file_atomic(response, reply.text));
  if (!extracted.code) return std::optional(extracted.problem + "; the reply is in " + response);
  KERNELGEN_CHECK(write_file_atomic(files.code, *extracted.code));
  return std::optional<std::string>();
}

/// Collects the results of samples. Each is written at once, because others may take minutes.
class Samples {
 public:
  Samples(const GenerateOptions& options, Target target, std::ostream& out)
      : options_(options), target_(target), out_(out) {}

  void add(int sample, const Result<Reply>& reply) {
    const std::string name = "sample " + std::to_string(sample) + ": ";
    if (!reply) return note({reply.error().code, name + reply.error().to_line()});
    auto written = write_sample(files_of(options_, sample), target_, *reply);
    if (!written)
      return note({written.error().code, name + written.error().to_line() + write_to_fallback(sample, *reply)});
    if (!*written)
      ++with_code_;
    else if (!without_code_)
      without_code_ = name + **written;
  }

  [[nodiscard]] int with_code() const { return with_code_; }
  /// The reason why the first reply without code has none.
  [[nodiscard]] const std::optional<std::string>& without_code() const { return without_code_; }
  /// The first failure that is not the model's.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  void note(Error error) {
    if (!problem_) problem_ = std::move(error);
  }

  /// Writes a reply to a fallback place, and returns a message about it.
  [[nodiscard]] std::string write_to_fallback(int sample, const Reply& reply) {
    const auto kept = write_fallback_file({}, "sample" + std::to_string(sample) + ".txt", reply.text);
    if (kept) return "; the reply is in " + kept->string();
    out_ << reply.text << '\n';
    return "; the reply is on standard output";
  }

  const GenerateOptions& options_;
  const Target target_;
  std::ostream& out_;
  int with_code_ = 0;
  std::optional<std::string> without_code_;
  std::optional<Error> problem_;
};

void ask_for_samples(const GenerateOptions& options, const Prompt& prompt, LLMClient& client, Samples& samples,
                     const std::stop_token& stop) {
  const LLMRequest request{.id = std::filesystem::path(options.output).stem().string() + ".sample",
                           .prompt = prompt.text,
                           .fingerprint = prompt.fingerprint,
                           .temperature = options.temperature};
  client.complete_several(request, options.samples, stop,
                          [&](int sample, const Result<Reply>& reply) { samples.add(sample, reply); });
}

Result<ExitCode> generate(const GenerateOptions& options, Context& context) {
  // Without a source, .py fits torch and triton. It means torch, which demands less of the model.
  KERNELGEN_TRY(const auto target, choose_target(options.target, options.output, ""));
  KERNELGEN_TRY(const auto client,
                context.make_llm(options.llm, waiting_of(options.evaluation), ReplayMode::Strict).context("--llm"));
  KERNELGEN_CHECK(check_outputs(options));
  KERNELGEN_TRY(const auto prompt, make_prompt(options, target, context));
  Samples samples(options, target, context.out);
  ask_for_samples(options, prompt, *client, samples, context.stop);
  context.out << samples.with_code() << " of " << options.samples << " replies held code\n";
  if (const auto& problem = samples.problem()) {
    if (!is_outage(problem->code)) return *problem;
    return Error{ErrorCode::Pending, problem->message + "; what was answered is written, ask for the rest later"};
  }
  if (!samples.without_code()) return ExitCode::Success;
  context.err << "kgen: " << *samples.without_code() << '\n';
  return samples.with_code() > 0 ? ExitCode::BelowTarget : ExitCode::NotCorrect;
}

std::vector<Option> describe_options(GenerateOptions& options, const Environment& environment) {
  std::vector<Option> described{
      task_option(options.problem),
      {.name = "--output",
       .value_name = "FILE",
       .help = "Where the code goes; NAME_sK for several samples",
       .value = values::file(options.output),
       .is_required = true,
       .task_file = TaskFileRule::WritesFiles},
      llm_option(options.llm),
      {.name = "--target",
       .value_name = "NAME",
       .help = "cpp, cuda, hip, hipkittens, torch or triton; guessed from the output when not given",
       .value = target_value(options.target),
       .task_file = TaskFileRule::Allowed},
      {.name = "--prompt",
       .value_name = "FILE",
       .help = "Send this text, and the reference, instead of the seed prompt; or a name of the prompt set",
       .value = values::file(options.prompt)},
      {.name = "--response-file",
       .value_name = "FILE",
       .help = "Keep the whole reply there",
       .value = values::file(options.response_file),
       .task_file = TaskFileRule::WritesFiles},
      {.name = "--num-samples",
       .value_name = "N",
       .help = "Replies to ask for at once",
       .value = values::whole_number(options.samples, {1, 256}),
       .task_file = TaskFileRule::Spends},
      temperature_option(options.temperature),
      gpu_option(options.gpu, "Write for this GPU, which need not be here; kgen devices --all"),
      prompts_option(options.prompts),
      no_wait_option(options.evaluation, "Exit with 75 instead of waiting for a mailbox or a spool")};
  described[0].is_required = true;
  add_evaluation_options(described, options.evaluation, environment);
  return described;
}

}  // namespace

Command make_generate_command(Context& context) {
  const auto options = std::make_shared<GenerateOptions>();
  return {.name = "generate",
          .summary = "Ask a model for one kernel, without judging it",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return generate(*options, context); },
          .task_option = "--problem"};
}

}  // namespace kernelgen::cli
