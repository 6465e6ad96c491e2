#include <algorithm>
#include <filesystem>
#include <ostream>

#include <kernelgen/core/record.hpp>
#include <kernelgen/task/task_source.hpp>

#include <unistd.h>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "render.hpp"
#include "support/errno_error.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct EvalOptions {
  std::string code;
  std::string problem;
  std::string output;
  std::string target;
  bool json = false;
  std::vector<std::string> baselines;
  double baseline_timeout_seconds = 300;
  EvaluationFlags evaluation;
};

/// Each once, in the order in which they were named.
Result<BaselineOptions> parse_baselines(const EvalOptions& options) {
  BaselineOptions parsed{.timeout = milliseconds(options.baseline_timeout_seconds)};
  for (const auto& name : options.baselines) {
    const auto kind = parse_baseline_kind(name);
    if (!kind)
      return Error{ErrorCode::InvalidArgument,
                   "unknown baseline " + name + "; there are compile and compile-max-autotune"};
    if (std::find(parsed.kinds.begin(), parsed.kinds.end(), *kind) == parsed.kinds.end()) parsed.kinds.push_back(*kind);
  }
  return parsed;
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
  KERNELGEN_TRY(auto source, read_file(options.code, k_max_source_bytes));
  KERNELGEN_TRY(const auto target, choose_built_target(options.target, options.code, source));
  KERNELGEN_TRY(request.options, evaluation_options(options.evaluation));
  KERNELGEN_TRY(request.options.baselines, parse_baselines(options));
  KERNELGEN_TRY(request.task, load_task_source(options.problem, {.kernelbench_dir = environment.kernelbench_dir}));
  request.candidate = make_candidate(target, std::move(source));
  return request;
}

Result<ExitCode> run_eval(const EvalOptions& options, Context& context) {
  KERNELGEN_CHECK(check_output(options.output));
  KERNELGEN_TRY(const auto request, make_request(options, context.environment));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
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

void bind_options(CLI::App& command, EvalOptions& options) {
  command.add_option("--code", options.code, "The kernel: a source file")->required()->type_name("FILE");
  command.add_option("--problem,--task", options.problem, "The task: a file, or level3/40 with KERNELBENCH_DIR")
      ->required()
      ->type_name("TASK");
  command.add_option("--output", options.output, "Write the record there")->type_name("FILE");
  command.add_flag("--json", options.json, "Print the record, and nothing else, to standard output");
  command.add_option("--target", options.target, "cpp, cuda, torch or triton; guessed from the file when not given")
      ->type_name("NAME");
  command.add_option("--baseline", options.baselines, "Compare with torch.compile too: compile, compile-max-autotune")
      ->type_name("LIST")
      ->expected(1)
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--baseline-timeout", options.baseline_timeout_seconds, "Limit of compiling and checking a baseline")
      ->type_name("S")
      ->check(quiet(CLI::Range(0.001, k_day_seconds)))
      ->capture_default_str();
  bind_evaluation_flags(command, options.evaluation);
  command.add_flag("--no-wait", options.evaluation.no_wait, "Leave the request there; ask again later for the record")
      ->needs("--spool");
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
