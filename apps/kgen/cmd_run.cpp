#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <ostream>
#include <utility>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/results_directory.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "core/json.hpp"
#include "evaluation_flags.hpp"
#include "prompt_device.hpp"
#include "run_display.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct RunOptions {
  std::string task;
  std::string target;
  std::string llm;
  std::string record;
  std::string results = "results";
  std::string name;
  std::string prompts;
  std::string gpu;
  std::string policy = "hybrid";
  HybridOptions hybrid;
  std::string stages;
  int samples = 3;
  int attempts = 3;
  double temperature = 0.7;
  double goal = 1;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_requests;
  std::optional<std::int64_t> max_evaluations;
  std::optional<double> max_minutes;
  std::optional<std::int64_t> max_prompt_tokens;
  std::optional<std::int64_t> max_output_tokens;
  double request_timeout_seconds = 600;
  int parallel = 4;
  bool json = false;
  EvaluationFlags evaluation;
};

std::chrono::seconds seconds(double number) {
  return std::chrono::seconds(std::max<std::int64_t>(std::llround(number), 1));
}

/// Before anything is spent: a stage is asked for last.
Result<void> check_stages(const std::vector<std::string>& stages, const std::vector<std::string>& known) {
  for (const auto& stage : stages)
    if (std::find(known.begin(), known.end(), stage) == known.end())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("unknown stage {}; stages are {}", stage, fmt::join(known, ", "))};
  return {};
}

Result<std::unique_ptr<Policy>> make_policy(const RunOptions& options, const PromptBuilder& prompts, Target target) {
  if (options.policy == "one-shot")
    return make_one_shot_policy({.samples = options.samples, .temperature = options.temperature});
  if (options.policy == "reflect") {
    return make_reflect_policy({.attempts = options.attempts,
                                .samples = options.samples,
                                .temperature = options.temperature,
                                .goal = options.goal});
  }
  if (options.policy != "hybrid")
    return Error{ErrorCode::InvalidArgument,
                 "unknown policy " + options.policy + "; policies are hybrid, one-shot, reflect"};
  auto hybrid = options.hybrid;
  hybrid.strategies = prompts.strategies(target);
  hybrid.temperature = options.temperature;
  if (options.stages == "none")
    hybrid.stages.clear();
  else if (!options.stages.empty())
    hybrid.stages = CLI::detail::split(options.stages, ',');
  KERNELGEN_CHECK(check_stages(hybrid.stages, prompts.stages(target)));
  return make_hybrid_policy(std::move(hybrid));
}

/// Before anything is spent: a GPU that is not there would be missed only when the first reply is judged.
Result<PromptDevice> choose_device(const RunOptions& options, Target target, Context& context) {
  const auto& flags = options.evaluation;
  return find_prompt_device({.target = target,
                             .gpu = options.gpu,
                             .device = flags.options.device,
                             .cache_dir = flags.cache_dir,
                             .judged_here = flags.launch_prefix.empty() && flags.spool.empty()},
                            context);
}

Result<FlowRequest> make_request(const RunOptions& options, Context& context) {
  FlowRequest request;
  KERNELGEN_TRY(request.task, load_task_source(options.task, {.kernelbench_dir = context.environment.kernelbench_dir}));
  KERNELGEN_TRY(request.target, parse_built_target(options.target));
  KERNELGEN_TRY(request.evaluation, evaluation_options(options.evaluation));
  KERNELGEN_TRY(const auto cpu, read_cpu_facts());
  if (request.evaluation.threads == 0) request.evaluation.threads = cpu.usable_cores;
  KERNELGEN_TRY(auto device, choose_device(options, request.target, context));
  request.device = std::move(device.facts);
  request.gpu = std::move(device.gpu);
  request.name = options.name.empty() ? request.task.name : request.task.name + '.' + options.name;
  request.goal = options.goal;
  request.budget = {
      .tokens = options.max_tokens, .requests = options.max_requests, .evaluations = options.max_evaluations};
  constexpr double k_per_minute = 60;
  if (options.max_minutes) request.budget.time = seconds(*options.max_minutes * k_per_minute);
  request.max_prompt_tokens = options.max_prompt_tokens;
  request.max_output_tokens = options.max_output_tokens;
  request.request_timeout = seconds(options.request_timeout_seconds);
  request.parallel_requests = options.parallel;
  return request;
}

Result<std::unique_ptr<LLMClient>> make_client(const RunOptions& options, Context& context) {
  KERNELGEN_TRY(auto client, context.make_llm(options.llm, waiting_of(options.evaluation), ReplayMode::Strict));
  if (options.record.empty()) return client;
  return make_recording_client(std::move(client), options.record);
}

ExitCode exit_code_for(const FlowOutcome& outcome) {
  if (outcome.best.empty()) return ExitCode::NotCorrect;
  return outcome.reached ? ExitCode::Success : ExitCode::NotReached;
}

template <class T>
boost::json::value or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value(nullptr);
}

boost::json::object to_object(const ActionResult& result) {
  boost::json::object object;
  object["id"] = result.action.id;
  object["number"] = result.number;
  object["status"] = to_string(result.status);
  object["outcome"] = or_null(result.record ? std::optional(result.record->outcome.to_class()) : std::nullopt);
  object["score"] = or_null(result.score());
  return object;
}

std::string to_json(const FlowOutcome& outcome, const std::string& directory) {
  boost::json::object object;
  object["directory"] = directory;
  object["best"] = or_null(outcome.best.empty() ? std::nullopt : std::optional(outcome.best));
  object["reached"] = outcome.reached;
  object["reason"] = outcome.reason;
  boost::json::array actions;
  for (const auto& [id, result] : outcome.history) actions.push_back(to_object(result));
  object["actions"] = std::move(actions);
  return to_pretty_json(object);
}

std::string describe(const FlowOutcome& outcome, const std::string& directory) {
  std::string text;
  if (outcome.best.empty()) {
    text = "no correct kernel: " + outcome.reason + '\n';
  } else {
    const auto& best = outcome.history.at(outcome.best);
    text = fmt::format("best kernel: {}, {}, {}\n", outcome.best, format_score(best.score()),
                       outcome.reached ? "goal reached" : "goal not reached");
    text += outcome.reason + '\n';
    text += fmt::format("{}/best_code{}\n", directory, file_extension(best.candidate->target));
  }
  return text + fmt::format("{}: prompts, replies, kernels, records\n", directory);
}

Result<ExitCode> run(const RunOptions& options, Context& context) {
  KERNELGEN_TRY(const auto request, make_request(options, context));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto prompts,
                make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.prompts}));
  KERNELGEN_TRY(const auto policy, make_policy(options, *prompts, request.target));
  KERNELGEN_TRY(const auto client, make_client(options, context));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  const auto detector = make_persistent_detector();
  KERNELGEN_TRY(const auto results, open_results_directory(options.results));
  KERNELGEN_TRY(const auto directory, results->run_directory(request.task.name, options.name));
  KERNELGEN_TRY(const auto journal, open_run_journal(directory, [] { return std::chrono::system_clock::now(); }));

  RunDisplay display(context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); });
  auto outcome = run_flow(
      request, *policy, {*client, *prompts, *benchmarker, *detector}, *journal,
      [&](const auto& seen) { display.see(seen); }, context.stop);
  display.clear();
  // Also after an error: what was found so far is worth a report.
  auto reported = write_reports(options.results);
  if (!outcome) return std::move(outcome).error();
  context.out << (options.json ? to_json(*outcome, directory.string()) : describe(*outcome, directory.string()));
  if (!reported) return std::move(reported).error();
  return exit_code_for(*outcome);
}

void bind_search(CLI::App& command, RunOptions& options) {
  const auto count = [&](const char* name, int& value, const char* text) {
    command.add_option(name, value, text)->type_name("N")->check(quiet(CLI::Range(0, 1000)))->capture_default_str();
  };
  const auto number = [&](const char* name, double& value, const char* text) {
    command.add_option(name, value, text)->type_name("X")->check(quiet(CLI::NonNegativeNumber))->capture_default_str();
  };
  command.add_option("--policy", options.policy, "hybrid, one-shot or reflect")
      ->type_name("NAME")
      ->capture_default_str();
  count("--seeds", options.hybrid.seeds, "hybrid: first kernels, different on purpose");
  count("--seed-repairs", options.hybrid.seed_repairs, "hybrid: attempts to mend a seed");
  count("--optimize-repairs", options.hybrid.optimize_repairs, "hybrid: attempts to mend an optimized kernel");
  count("--stage-repairs", options.hybrid.stage_repairs, "hybrid: attempts to mend a stage");
  command.add_option("--stages", options.stages, "hybrid: stages in their order, or none")->type_name("A,B,C");
  number("--threshold", options.hybrid.threshold, "hybrid: no stages for a persistent kernel with this score");
  number("--epsilon", options.hybrid.epsilon, "hybrid: a stage must be faster by this fraction");
  number("--stop-at-score", options.hybrid.stop_at_score, "hybrid: seeds one by one until this score; 0: all at once");
  count("--samples", options.samples, "one-shot, reflect: kernels per attempt");
  count("--attempts", options.attempts, "reflect: attempts");
  number("--temperature", options.temperature, "Sampling temperature of the model");
  number("--goal", options.goal, "Exit with 0 when the best score is at least this");
}

void bind_limits(CLI::App& command, RunOptions& options) {
  const auto limit = [&](const char* name, std::optional<std::int64_t>& value, const char* text) {
    command.add_option(name, value, text)->type_name("N")->check(quiet(CLI::PositiveNumber));
  };
  limit("--max-tokens", options.max_tokens, "End after so many tokens");
  limit("--max-requests", options.max_requests, "End after so many requests");
  limit("--max-evaluations", options.max_evaluations, "End after so many evaluations");
  command.add_option("--max-minutes", options.max_minutes, "End after so many minutes, of all sessions together")
      ->type_name("M")
      ->check(quiet(CLI::PositiveNumber));
  limit("--max-prompt-tokens", options.max_prompt_tokens, "Leave examples and history out of longer prompts");
  limit("--max-output-tokens", options.max_output_tokens, "Limit of one reply");
  command.add_option("--request-timeout", options.request_timeout_seconds, "Limit of one request, in seconds")
      ->type_name("S")
      ->check(quiet(CLI::PositiveNumber))
      ->capture_default_str();
  command.add_option("--parallel", options.parallel, "Requests in flight at once")
      ->type_name("N")
      ->check(quiet(CLI::Range(1, 256)))
      ->capture_default_str();
}

void bind_options(CLI::App& command, RunOptions& options) {
  command.add_option("task", options.task, "The task: a file, or level3/40 with KERNELBENCH_DIR")
      ->required()
      ->type_name("TASK");
  command.add_option("--target", options.target, "cpp, cuda, torch or triton")->required()->type_name("NAME");
  command.add_option("--llm", options.llm, "Who writes: openai:MODEL[@URL], command:..., mailbox:DIR, replay:FILE")
      ->required()
      ->type_name("SPEC");
  command.add_option("--record", options.record, "Append every reply to FILE, for --llm replay:FILE")
      ->type_name("FILE");
  command.add_option("--results", options.results, "Results directory")->type_name("DIR")->capture_default_str();
  command.add_option("--name", options.name, "Name of a further run of the same task")->type_name("NAME");
  command.add_option("--gpu", options.gpu, "The GPU behind --launch-prefix or --spool, for the prompts")
      ->type_name("NAME");
  command.add_option("--prompts", options.prompts, "Templates here replace those of the same name")->type_name("DIR");
  command.add_flag("--json", options.json, "Print the outcome as JSON, and nothing else, to standard output");
  bind_search(command, options);
  bind_limits(command, options);
  bind_evaluation_flags(command, options.evaluation);
  command.add_flag("--no-wait", options.evaluation.no_wait,
                   "Exit with 75 instead of waiting for a mailbox or a spool; the same command goes on");
}

}  // namespace

void add_run_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("run", "Search for a fast kernel: seeds, repairs, analysis, stages");
  const auto options = std::make_shared<RunOptions>();
  bind_options(*command, *options);
  command->callback([options, &context, &action] { action = [options, &context] { return run(*options, context); }; });
}

}  // namespace kernelgen::cli
