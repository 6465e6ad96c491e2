#include <filesystem>
#include <ostream>
#include <thread>
#include <utility>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>
#include <kernelgen/prompt/reply_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "prompt_device.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct GenerateOptions {
  std::string problem;
  std::string output;
  std::string target;
  std::string llm;
  std::string prompt;
  std::string response_file;
  std::string prompts;
  std::string gpu;
  int samples = 1;
  double temperature = 0.7;
  EvaluationFlags evaluation;
};

/// The file's text with the reference after it; a model that does not see the reference cannot be right.
Result<Prompt> read_prompt(const std::string& file, const TaskSource& task) {
  KERNELGEN_TRY(auto text, read_file(file));
  if (text.find(task.text) == text.npos)
    text += "\n\nThe reference, " + task.name + ".py:\n\n````python\n" + task.text + "````\n";
  return Prompt{.kind = PromptKind::Seed, .text = std::move(text)};
}

Result<Prompt> make_prompt(const GenerateOptions& options, Target target, Context& context) {
  KERNELGEN_TRY(auto task, load_task_source(options.problem, {.kernelbench_dir = context.environment.kernelbench_dir}));
  if (!options.prompt.empty()) return read_prompt(options.prompt, task);
  PromptRequest request;
  request.target = target;
  KERNELGEN_TRY(const auto evaluation, evaluation_options(options.evaluation));
  KERNELGEN_TRY(const auto cpu, read_cpu_facts());
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto builder,
                make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.prompts}));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  KERNELGEN_TRY(request.description, benchmarker->describe(task, evaluation, context.stop));
  request.tolerance = standard_tolerance(request.description);
  request.threads = evaluation.threads > 0 ? evaluation.threads : cpu.usable_cores;
  KERNELGEN_TRY(auto device, find_prompt_device({.target = request.target,
                                                 .gpu = options.gpu,
                                                 .device = options.evaluation.options.device,
                                                 .cache_dir = options.evaluation.cache_dir,
                                                 .judged_here = false},
                                                context));
  request.device = std::move(device.facts);
  request.on_gpu = device.gpu.has_value();
  request.task = std::move(task);
  return builder->build(request);
}

/// "kernel.cpp" for the only sample, "kernel_s2.cpp" for the second of several.
std::string sample_path(const std::string& path, int sample, int samples) {
  if (samples == 1) return path;
  std::filesystem::path numbered(path);
  numbered.replace_filename(numbered.stem().string() + "_s" + std::to_string(sample) + numbered.extension().string());
  return numbered.string();
}

/// Writes what came; the code's file appears only when there is code.
Result<void> keep(const GenerateOptions& options, Target target, const Reply& reply, int sample) {
  if (!options.response_file.empty())
    KERNELGEN_CHECK(write_file_atomic(sample_path(options.response_file, sample, options.samples), reply.text));
  const auto extracted = extract_code(reply, target);
  if (!extracted.code) return Error{ErrorCode::NotFound, "sample " + std::to_string(sample) + ": " + extracted.problem};
  return write_file_atomic(sample_path(options.output, sample, options.samples), *extracted.code);
}

Result<ExitCode> generate(const GenerateOptions& options, Context& context) {
  // Without a source, a Python file can be either; a ModelNew without Triton is the weaker claim.
  KERNELGEN_TRY(const auto target, choose_built_target(options.target, options.output, ""));
  KERNELGEN_TRY(const auto client, context.make_llm(options.llm, waiting_of(options.evaluation), ReplayMode::Strict));
  KERNELGEN_TRY(const auto prompt, make_prompt(options, target, context));
  std::vector<std::optional<Result<Reply>>> replies(static_cast<std::size_t>(options.samples));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < replies.size(); ++i) {
      threads.emplace_back([&, i] {
        const std::string id =
            std::filesystem::path(options.output).stem().string() + ".sample" + std::to_string(i + 1);
        replies[i] = client->complete(
            {.id = id, .prompt = prompt.text, .fingerprint = prompt.fingerprint, .temperature = options.temperature},
            context.stop);
      });
    }
  }
  // Every sample that came is kept before the first problem ends the command.
  std::optional<Error> problem;
  int written = 0;
  for (int sample = 1; sample <= options.samples; ++sample) {
    auto& reply = *replies[static_cast<std::size_t>(sample - 1)];
    auto kept = reply ? keep(options, target, *reply, sample) : Result<void>(reply.error());
    if (kept)
      ++written;
    else if (!problem)
      problem = kept.error();
  }
  context.out << written << " of " << options.samples << " replies held code\n";
  if (!problem) return ExitCode::Success;
  if (problem->code != ErrorCode::NotFound) return *problem;
  context.err << "kgen: " << problem->to_line() << '\n';
  return written > 0 ? ExitCode::NotReached : ExitCode::NotCorrect;
}

void bind_options(CLI::App& command, GenerateOptions& options) {
  command.add_option("--problem,--task", options.problem, "The task: a file, or level3/40 with KERNELBENCH_DIR")
      ->required()
      ->type_name("TASK");
  command.add_option("--output", options.output, "Where the code goes; NAME_sK for several samples")
      ->required()
      ->type_name("FILE");
  command.add_option("--llm", options.llm, "Who writes: openai:MODEL[@URL], command:..., mailbox:DIR, replay:FILE")
      ->required()
      ->type_name("SPEC");
  command.add_option("--target", options.target, "cpp, cuda, torch or triton; guessed from the output when not given")
      ->type_name("NAME");
  command.add_option("--prompt", options.prompt, "Send this text, and the reference, instead of the seed prompt")
      ->type_name("FILE");
  command.add_option("--response-file", options.response_file, "Keep the whole reply there")->type_name("FILE");
  command.add_option("--num-samples", options.samples, "Replies to ask for at once")
      ->type_name("N")
      ->check(quiet(CLI::Range(1, 256)))
      ->capture_default_str();
  command.add_option("--temperature", options.temperature, "Sampling temperature of the model")
      ->type_name("X")
      ->check(quiet(CLI::NonNegativeNumber))
      ->capture_default_str();
  command.add_option("--gpu", options.gpu, "Write for this GPU, which need not be here; kgen devices --all")
      ->type_name("NAME");
  command.add_option("--prompts", options.prompts, "Templates here replace those of the same name")->type_name("DIR");
  bind_evaluation_flags(command, options.evaluation);
  command.add_flag("--no-wait", options.evaluation.no_wait, "Exit with 75 instead of waiting for a mailbox or a spool");
}

}  // namespace

void add_generate_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("generate", "Ask a model for one kernel, without judging it");
  const auto options = std::make_shared<GenerateOptions>();
  bind_options(*command, *options);
  command->callback(
      [options, &context, &action] { action = [options, &context] { return generate(*options, context); }; });
}

}  // namespace kernelgen::cli
