#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <limits>
#include <ostream>
#include <thread>
#include <utility>

#include <kernelgen/bench/compiling_profiler.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/results_directory.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "run_display.hpp"
#include "run_policy.hpp"
#include "support/json_text.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct RunOptions {
  std::string task;
  std::optional<Target> target;
  std::string llm;
  std::string record;
  std::string results = "results";
  std::string name;
  std::string prompts;
  std::string gpu;
  SearchOptions search;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_requests;
  std::optional<std::int64_t> max_evaluations;
  std::optional<double> max_minutes;
  std::optional<double> max_cost;
  std::optional<double> price_input;
  std::optional<double> price_output;
  std::optional<double> price_cached;
  std::optional<std::int64_t> max_prompt_tokens;
  std::optional<std::int64_t> max_output_tokens;
  double request_timeout_seconds = 600;
  int parallel = 4;
  std::optional<int> parallel_evaluations;
  bool json = false;
  bool no_sanitize = false;
  EvaluationFlags evaluation;
};

std::chrono::seconds to_seconds(double number) {
  return std::chrono::seconds(std::max<std::int64_t>(std::llround(number), 1));
}

/// Finds the device before any request is paid for; a missing GPU would otherwise be noticed after the first reply.
Result<PromptDevice> choose_device(const RunOptions& options, Target target, Context& context) {
  const auto& flags = options.evaluation;
  return find_prompt_device({.target = target,
                             .gpu = options.gpu,
                             .device = flags.options.device,
                             .cache_dir = flags.cache_dir,
                             .is_judged_here = flags.launch_prefix.empty() && flags.spool.empty()},
                            context);
}

/// The prices of the options; nothing when no price was given.
Result<std::optional<Prices>> choose_prices(const RunOptions& options) {
  const bool priced = options.price_input || options.price_output;
  if (!priced && (options.max_cost || options.price_cached))
    return Error{ErrorCode::InvalidArgument, "--max-cost and --price-cached need --price-input and --price-output"};
  if (!priced) return std::optional<Prices>();
  return std::optional(Prices{.per_million_input = options.price_input.value_or(0),
                              .per_million_output = options.price_output.value_or(0),
                              .per_million_cached = options.price_cached});
}

/// Makes the profiler that --profile asks for, which needs the device on this machine.
Result<std::unique_ptr<Profiler>> choose_profiler(const RunOptions& options, const FlowRequest& request,
                                                  const Installation& installation, Context& context) {
  if (options.search.profile == "none") return std::unique_ptr<Profiler>();
  const auto& flags = options.evaluation;
  if (!flags.launch_prefix.empty() || !flags.spool.empty())
    return Error{ErrorCode::InvalidArgument,
                 "--profile needs the device on this machine, not behind --launch-prefix "
                 "or --spool"};
  if (!request.gpu || platform_of(request.gpu->vendor).counters == CounterProgram::None)
    return Error{ErrorCode::InvalidArgument,
                 "--profile needs a target that runs on an NVIDIA or AMD GPU of this machine"};
  KERNELGEN_TRY(auto profiler, make_profiler(flags.python, std::nullopt, installation, context));
  KERNELGEN_TRY(auto compiler, make_local_compiler(request.gpu, flags.cache_dir, installation, context));
  return make_compiling_profiler(std::move(profiler), std::move(compiler));
}

Result<FlowRequest> make_request(const RunOptions& options, Context& context) {
  FlowRequest request;
  KERNELGEN_TRY(request.task, load_task_source(options.task, {.kernelbench_dir = context.environment.kernelbench_dir}));
  request.target = *options.target;  // the option is required
  KERNELGEN_TRY(request.evaluation, evaluation_options(options.evaluation));
  KERNELGEN_TRY(auto device, choose_device(options, request.target, context));
  request.device = std::move(device.facts);
  request.parallel_evaluations = options.parallel_evaluations.value_or(device.gpu_count);
  request.gpu = std::move(device.gpu);
  if (options.search.profile == "timeline") request.counters = Counters::None;
  request.name = options.name.empty() ? request.task.name : request.task.name + '.' + options.name;
  request.goal = options.search.goal;
  request.budget = {.tokens = options.max_tokens,
                    .requests = options.max_requests,
                    .evaluations = options.max_evaluations,
                    .cost = options.max_cost};
  KERNELGEN_TRY(request.prices, choose_prices(options));
  constexpr double k_per_minute = 60;
  if (options.max_minutes) request.budget.time = to_seconds(*options.max_minutes * k_per_minute);
  request.max_prompt_tokens = options.max_prompt_tokens;
  request.max_output_tokens = options.max_output_tokens;
  request.request_timeout = to_seconds(options.request_timeout_seconds);
  request.parallel_requests = options.parallel;
  request.sanitize_winner = !options.no_sanitize;
  return request;
}

/// Makes the client. `unrecorded` is set if a reply could not be recorded by the time the client is destroyed.
Result<std::unique_ptr<LLMClient>> make_client(const RunOptions& options, Context& context,
                                               std::optional<Error>& unrecorded) {
  KERNELGEN_TRY(auto client, context.make_llm(options.llm, waiting_of(options.evaluation), ReplayMode::Strict));
  if (options.record.empty()) return client;
  return make_recording_client(std::move(client), options.record,
                               [&unrecorded](const Error& error) { unrecorded = error; })
      .context("--record");
}

/// The error of an unfinished run. Its journal is on disk, so the same command can resume it.
Error stopped(Error error) {
  if (error.code == ErrorCode::Cancelled) error.message += "; the same command goes on from here";
  if (error.code == ErrorCode::Pending) error.message += "; the run is paused, and the same command goes on from here";
  return error;
}

ExitCode exit_code_for_search(const FlowOutcome& outcome) {
  if (outcome.best.empty()) return ExitCode::NotCorrect;
  return outcome.reached ? ExitCode::Success : ExitCode::BelowTarget;
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
  object["floor_ratio"] = or_null(result.headroom ? std::optional(result.headroom->ratio) : std::nullopt);
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
    text += "search ended: " + outcome.reason + '\n';
    if (best.headroom) text += best.headroom->sentence + '\n';
    text +=
        fmt::format("{}/best_code{}\n", directory, file_extension(best.candidate->target, best.candidate->language));
  }
  return text + fmt::format("{}: prompts, replies, kernels, records\n", directory);
}

/// Starts a thread that updates the times in the status.
std::jthread keep_fresh(RunDisplay& display, const Terminal& terminal) {
  if (!terminal.interactive) return {};
  return std::jthread([&display](const std::stop_token& stop) {
    while (sleep_for(std::chrono::seconds{1}, stop)) display.refresh();
  });
}

/// Opens the run's journal. An error names the option, unless the run is in use: that says enough.
Result<std::unique_ptr<Journal>> open_journal(const std::filesystem::path& directory) {
  auto journal = open_run_journal(directory, [] { return std::chrono::system_clock::now(); });
  if (!journal && journal.error().code == ErrorCode::Busy) return journal;
  return std::move(journal).context("--results");
}

Result<ExitCode> run(const RunOptions& options, Context& context) {
  KERNELGEN_TRY(const auto request, make_request(options, context));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(
      const auto prompts,
      make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.prompts}).context("--prompts"));
  KERNELGEN_TRY(const auto policy, make_policy(options.search, *prompts, request.target));
  KERNELGEN_TRY(const auto profiler, choose_profiler(options, request, installation, context));
  std::optional<Error> unrecorded;
  KERNELGEN_TRY(auto client, make_client(options, context, unrecorded));
  KERNELGEN_TRY(const auto benchmarker, make_benchmarker(options.evaluation, context));
  const auto detector = make_persistent_detector();
  KERNELGEN_TRY(const auto directory, run_directory(options.results, request.task.name, options.name));
  KERNELGEN_TRY(const auto journal, open_journal(directory));

  RunDisplay display(
      context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); }, request.budget);
  for (const auto& event : journal->events()) display.remember(event);
  auto ticker = keep_fresh(display, context.err_terminal);
  auto outcome = run_flow(
      request, *policy, {*client, *prompts, *benchmarker, *detector, profiler.get()}, *journal,
      [&](const FlowNotice& notice) { display.see(notice); }, context.stop);
  ticker = {};
  display.finish();
  // Reports are written after an error, too.
  auto reported = write_reports(options.results);
  client.reset();
  if (!outcome) return stopped(std::move(outcome).error());
  context.out << (options.json ? to_json(*outcome, directory.string()) : describe(*outcome, directory.string()));
  if (unrecorded) return *unrecorded;
  if (reported) return exit_code_for_search(*outcome);
  if (reported.error().code != ErrorCode::Busy) return std::move(reported).error();
  // Failing to write reports does not fail the run, because they cover all runs of the directory.
  context.err << "kgen: " << reported.error().to_line() << '\n';
  return exit_code_for_search(*outcome);
}

void add_budget(std::vector<Option>& options, RunOptions& run) {
  const auto add = [&](std::string name, std::string value_name, std::string help, Value value) {
    options.push_back({.name = std::move(name),
                       .value_name = std::move(value_name),
                       .help = std::move(help),
                       .value = std::move(value),
                       .group = "Limits",
                       .task_file = TaskFileRule::Spends});
  };
  constexpr Range<std::int64_t> k_count{1, std::numeric_limits<std::int64_t>::max()};
  constexpr Range<double> k_money{0, std::numeric_limits<double>::max()};
  constexpr double k_year_minutes = 525'600;
  add("--max-tokens", "N", "End after so many tokens", values::whole_number(run.max_tokens, k_count));
  add("--max-requests", "N", "End after so many requests", values::whole_number(run.max_requests, k_count));
  add("--max-evaluations", "N", "End after so many evaluations", values::whole_number(run.max_evaluations, k_count));
  add("--max-minutes", "M", "End after so many minutes, of all sessions together",
      values::number(run.max_minutes, {0.01, k_year_minutes}));
  add("--max-cost", "X", "End after so much money, in the currency of the prices",
      values::number(run.max_cost, k_money));
  add("--price-input", "X", "Price of a million input tokens", values::number(run.price_input, k_money));
  add("--price-output", "X", "Price of a million output tokens", values::number(run.price_output, k_money));
  add("--price-cached", "X", "Price of a million cached input tokens; default: --price-input",
      values::number(run.price_cached, k_money));
  add("--max-prompt-tokens", "N", "Leave examples and history out of longer prompts",
      values::whole_number(run.max_prompt_tokens, k_count));
  add("--max-output-tokens", "N", "Limit of one reply", values::whole_number(run.max_output_tokens, k_count));
  add("--request-timeout", "S", "Limit of one request, in seconds", values::seconds(run.request_timeout_seconds, 1));
  add("--parallel", "N", "Requests in flight at once", values::whole_number(run.parallel, {1, 256}));
  add("--parallel-evaluations", "N", "Evaluations at once; default: one for each GPU here",
      values::whole_number(run.parallel_evaluations, {1, 256}));
}

std::vector<Option> describe_options(RunOptions& options, const Environment& environment) {
  std::vector<Option> described{
      {.name = "task",
       .value_name = "TASK",
       .help = "The task: a file, or level3/40 with KERNELBENCH_DIR",
       .value = values::file(options.task),
       .is_required = true},
      {.name = "--target",
       .value_name = "NAME",
       .help = "cpp, cuda, hip, hipkittens, torch or triton",
       .value = target_value(options.target),
       .is_required = true,
       .task_file = TaskFileRule::Allowed},
      llm_option(options.llm),
      {.name = "--record",
       .value_name = "FILE",
       .help = "Append every reply to FILE, for --llm replay:FILE",
       .value = values::file(options.record),
       .task_file = TaskFileRule::WritesFiles},
      {.name = "--results",
       .value_name = "DIR",
       .help = "Results directory",
       .value = values::directory(options.results),
       .task_file = TaskFileRule::WritesFiles},
      {.name = "--name",
       .value_name = "NAME",
       .help = "Name of a further run of the same task",
       .value = values::text(options.name),
       .task_file = TaskFileRule::WritesFiles},
      gpu_option(options.gpu, "The GPU behind --launch-prefix or --spool, for the prompts"),
      prompts_option(options.prompts),
      {.name = "--no-sanitize",
       .help = "Do not watch the winner for races and wrong accesses at the end",
       .value = values::flag(options.no_sanitize),
       .task_file = TaskFileRule::WeakensVerdict},
      {.name = "--json",
       .help = "Print the outcome as JSON, and nothing else, to standard output",
       .value = values::flag(options.json)},
      no_wait_option(options.evaluation,
                     "Exit with 75 instead of waiting for a mailbox or a spool; the same command goes on")};
  described[2].is_required = true;
  add_search_options(described, options.search);
  add_budget(described, options);
  add_evaluation_options(described, options.evaluation, environment);
  return described;
}

}  // namespace

Command make_run_command(Context& context) {
  const auto options = std::make_shared<RunOptions>();
  return {.name = "run",
          .summary = "Search for a fast kernel: seeds, repairs, analysis, stages",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return run(*options, context); },
          .task_option = "task"};
}

}  // namespace kernelgen::cli
