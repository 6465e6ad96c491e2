#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>

#include <kernelgen/bench/spool.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/task/task_source.hpp>

#include <unistd.h>

#include "commands.hpp"
#include "render.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_source_bytes = 16u << 20;

struct EvalOptions {
  std::string code;
  std::string problem;
  std::string output;
  std::string target;
  std::string precision{to_string(PrecisionClass::Strict)};
  std::vector<std::string> shrink;
  std::string launch_prefix;
  std::string cache_dir;
  std::string spool;
  bool no_wait = false;
  double timeout_seconds = 30;
  double task_timeout_seconds = 300;
  bool json = false;
  EvaluationOptions evaluation;
};

Result<Target> choose_target(const EvalOptions& options, const std::string& source) {
  if (options.target.empty()) {
    if (const auto guess = guess_target(options.code, source)) return *guess;
    return Error{ErrorCode::InvalidArgument,
                 "cannot tell the target of " + options.code + " from its name; pass --target"};
  }
  if (const auto target = parse_target(options.target)) return *target;
  return Error{ErrorCode::InvalidArgument,
               "unknown target " + options.target + "; targets are cpp, cuda, hip, hipkittens, triton, torch"};
}

Result<void> check_built(Target target) {
  if (target == Target::Cpp || target == Target::Torch || target == Target::Triton) return {};
  return Error{ErrorCode::Unsupported,
               "target " + std::string(to_string(target)) + " is not built yet; cpp, torch and triton are"};
}

Result<std::pair<std::string, std::int64_t>> parse_shrink(const std::string& text) {
  const auto equals = text.find('=');
  std::int64_t value = 0;
  if (equals == text.npos || equals == 0 || !CLI::detail::lexical_cast(text.substr(equals + 1), value) || value < 1)
    return Error{ErrorCode::InvalidArgument, "--shrink takes NAME=VALUE with a whole number above 0, not " + text};
  return std::pair{text.substr(0, equals), value};
}

/// Before any work is done: whether the record will find a place.
Result<void> check_output(const std::string& output) {
  if (output.empty()) return {};
  const std::filesystem::path path(output);
  const auto directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Error{ErrorCode::InvalidArgument, "cannot write " + output + ": it is a directory"};
  if (::access(directory.c_str(), W_OK) != 0) return errno_error(errno, "cannot write " + output);
  return {};
}

Result<EvaluationRequest> make_request(const EvalOptions& options, const Environment& environment) {
  EvaluationRequest request;
  request.options = options.evaluation;
  KERNELGEN_TRY(auto source, read_file(options.code, k_max_source_bytes));
  KERNELGEN_TRY(const auto target, choose_target(options, source));
  KERNELGEN_CHECK(check_built(target));
  const auto precision = parse_precision(options.precision);
  if (!precision) {
    return Error{ErrorCode::InvalidArgument,
                 "unknown precision " + options.precision + "; classes are strict, default, tf32, fp16, bf16"};
  }
  request.options.precision = *precision;
  request.options.call_timeout = std::chrono::milliseconds(std::llround(options.timeout_seconds * 1000));
  request.options.task_timeout = std::chrono::milliseconds(std::llround(options.task_timeout_seconds * 1000));
  for (const auto& text : options.shrink) {
    KERNELGEN_TRY(auto shrink, parse_shrink(text));
    request.options.shrink.push_back(std::move(shrink));
  }
  KERNELGEN_TRY(request.task, load_task_source(options.problem, {.kernelbench_dir = environment.kernelbench_dir}));
  request.candidate = make_candidate(target, std::move(source));
  return request;
}

Result<std::unique_ptr<Benchmarker>> make_benchmarker(const EvalOptions& options, Context& context) {
  if (!options.spool.empty())
    return make_spool_benchmarker(
        {.directory = options.spool, .waiting = options.no_wait ? Waiting::Return : Waiting::Wait});
  KERNELGEN_TRY(auto installation, context.find_installation());
  KERNELGEN_TRY(auto cache_dir, choose_cache_dir(options.cache_dir, context.environment));
  return context.make_benchmarker({.installation = std::move(installation),
                                   .launch_prefix = CLI::detail::split_up(options.launch_prefix),
                                   .python = context.environment.python,
                                   .cache_dir = std::move(cache_dir)});
}

Result<ExitCode> run_eval(const EvalOptions& options, Context& context) {
  KERNELGEN_CHECK(check_output(options.output));
  KERNELGEN_TRY(const auto request, make_request(options, context.environment));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options, context));
  ProgressDisplay progress(context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); });
  KERNELGEN_TRY(const auto record,
                benchmarker->evaluate(
                    request, [&](const EvaluationProgress& step) { progress.show(step); }, context.stop));
  progress.clear();
  // The verdict is shown even when it cannot be written: it may have taken long to get.
  const auto written = options.output.empty() ? Result<void>{} : write_file_atomic(options.output, to_json(record));
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

/// Without its description, which would make the help unreadable.
CLI::Validator quiet(CLI::Validator validator) { return validator.description(""); }

void bind_options(CLI::App& command, EvalOptions& options) {
  command.add_option("--code", options.code, "The kernel: a source file")->required()->type_name("FILE");
  command.add_option("--problem,--task", options.problem, "The task: a file, or level3/40 with KERNELBENCH_DIR")
      ->required()
      ->type_name("TASK");
  command.add_option("--output", options.output, "Write the record there")->type_name("FILE");
  command.add_flag("--json", options.json, "Print the record, and nothing else, to standard output");
  command.add_option("--target", options.target, "cpp, torch or triton; guessed from the file when not given")
      ->type_name("NAME");
  command.add_option("--precision", options.precision, "strict, default, tf32, fp16 or bf16")
      ->type_name("CLASS")
      ->capture_default_str();
  command.add_option("--rtol", options.evaluation.rtol, "Relative tolerance; looser than standard is recorded")
      ->type_name("X")
      ->check(quiet(CLI::NonNegativeNumber));
  command.add_option("--atol", options.evaluation.atol, "Absolute tolerance, as a fraction of the reference's rms")
      ->type_name("X")
      ->check(quiet(CLI::NonNegativeNumber));
  command.add_option("--timeout", options.timeout_seconds, "Limit of one call of the kernel, in seconds")
      ->type_name("S")
      ->check(quiet(CLI::Range(0.001, 86400.0)))
      ->capture_default_str();
  command.add_option("--task-timeout", options.task_timeout_seconds, "Limit of importing and admitting the task")
      ->type_name("S")
      ->check(quiet(CLI::Range(0.001, 86400.0)))
      ->capture_default_str();
  command.add_option("--threads", options.evaluation.threads, "Threads for kernel and reference; 0: one per core")
      ->type_name("N")
      ->check(quiet(CLI::Range(0, 4096)))
      ->capture_default_str();
  command
      .add_option("--memory-limit", options.evaluation.memory_limit, "Memory of the kernel: 512MB, 8GB (the default)")
      ->type_name("SIZE")
      ->transform(quiet(CLI::AsSizeValue(false)));
  command.add_option("--shrink", options.shrink, "Replace a constant of the task file; labelled; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* prefix =
      command
          .add_option("--launch-prefix", options.launch_prefix, "Start the worker behind this, such as \"ssh node\"")
          ->type_name("COMMAND");
  auto* spool = command.add_option("--spool", options.spool, "Have it judged by a worker that serves this directory")
                    ->type_name("DIR")
                    ->excludes(prefix);
  command.add_flag("--no-wait", options.no_wait, "Leave the request there; ask again later for the record")
      ->needs(spool);
  command.add_option("--cache-dir", options.cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen")
      ->type_name("DIR");
}

}  // namespace

void add_eval_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("eval", "Judge one kernel against one task");
  // Shared with the callback, which runs after this function returned.
  const auto options = std::make_shared<EvalOptions>();
  bind_options(*command, *options);
  command->callback(
      [options, &context, &action] { action = [options, &context] { return run_eval(*options, context); }; });
}

}  // namespace kernelgen::cli
