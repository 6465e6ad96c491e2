#include <fmt/format.h>

#include <boost/json.hpp>
#include <ostream>
#include <thread>
#include <utility>

#include <kernelgen/flow/engine.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/results_directory.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "run_display.hpp"
#include "search_setup.hpp"
#include "support/json_text.hpp"
#include "support/sleep.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct RunOptions {
  std::string task;
  std::optional<Target> target;
  std::string llm;
  SearchFlags search;
  BudgetFlags budget;
  std::optional<double> price_input;
  std::optional<double> price_output;
  std::optional<double> price_cached;
  bool continues = false;
  bool json = false;
};

/// The prices of the options; nothing when no price was given.
Result<std::optional<Prices>> choose_prices(const RunOptions& options) {
  const bool priced = options.price_input || options.price_output;
  if (!priced && options.price_cached)
    return Error{ErrorCode::InvalidArgument, "--price-cached needs --price-input and --price-output"};
  if (!priced) return std::optional<Prices>();
  return std::optional(Prices{.per_million_input = options.price_input.value_or(0),
                              .per_million_output = options.price_output.value_or(0),
                              .per_million_cached = options.price_cached});
}

/// The kernel in a file; nothing without a file.
Result<std::optional<Candidate>> read_start(const std::string& file, Target target) {
  if (file.empty()) return std::optional<Candidate>();
  KERNELGEN_TRY(auto source, read_code("--start-from", file));
  return std::optional(make_candidate(target, guess_language(file, target), std::move(source)));
}

Result<FlowRequest> make_request(const RunOptions& options, Context& context) {
  KERNELGEN_TRY(auto task, load_task_source(options.task, {.kernelbench_dir = context.environment.kernelbench_dir}));
  KERNELGEN_TRY(const auto device, choose_search_device(options.search, *options.target, context));
  KERNELGEN_TRY(auto request,
                make_flow_request(options.search, std::move(task), options.search.name, *options.target, device));
  request.budget = budget_of(options.budget);
  request.continues = options.continues;
  KERNELGEN_TRY(request.start, read_start(options.search.search.start_from, *options.target));
  return request;
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
  KERNELGEN_TRY(auto request, make_request(options, context));
  KERNELGEN_TRY(const auto prices, choose_prices(options));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto prompts,
                make_prompt_builder({.directory = installation.prompts_dir, .overrides = options.search.prompts})
                    .context("--prompts"));
  KERNELGEN_TRY(const auto policy, make_policy(options.search.search, *prompts, request.target));
  std::optional<Error> unrecorded;
  KERNELGEN_TRY(auto client, make_search_client(options.llm, options.search, context, unrecorded));
  add_terms(request, *client, prices, options.budget.cost || options.budget.tokens);
  if (options.budget.cost) KERNELGEN_CHECK(check_prices(request, *client, "--max-cost needs"));
  WorkerNotes notes;
  KERNELGEN_TRY(const auto benchmarker, make_search_benchmarker(options.search, context, notes));
  KERNELGEN_TRY(const auto profiler, choose_profiler(options.search, request.gpu, installation, *benchmarker, context));
  const auto detector = make_persistent_detector();
  KERNELGEN_TRY(const auto directory, run_directory(options.search.results, request.task.name, options.search.name));
  KERNELGEN_TRY(const auto journal, open_journal(directory));

  RunDisplay display(
      context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); }, request.budget);
  for (const auto& event : journal->events()) display.remember(event);
  notes.show_with([&display](const std::string& line) { display.tell(line); });
  auto ticker = keep_fresh(display, context.err_terminal);
  auto outcome = run_flow(
      request, *policy, {*client, *prompts, *benchmarker, *detector, profiler.get()}, *journal,
      [&](const FlowNotice& notice) { display.see(notice); }, context.stop);
  ticker = {};
  notes.show_with({});
  display.finish();
  // Reports are written after an error, too.
  auto reported = write_reports(options.search.results, installation.report_dir);
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
      llm_for_option(options.search),
      llm_fallback_option(options.search),
      record_option(options.search),
      results_option(options.search),
      {.name = "--name",
       .value_name = "NAME",
       .help = "Name of a further run of the same task",
       .value = values::text(options.search.name),
       .task_file = TaskFileRule::WritesFiles},
      gpu_option(options.search.gpu, "The GPU behind --launch-prefix or --spool, for the prompts"),
      prompts_option(options.search.prompts),
      {.name = "--start-from",
       .value_name = "FILE",
       .help = "hybrid, evolve: search on from this kernel, as from a seed; hybrid with --seeds 0: from nothing else",
       .value = values::file(options.search.search.start_from)},
      {.name = "--continue",
       .help = "Go on with a run that is over, or with other options than it had; what it found stays",
       .value = values::flag(options.continues)},
      no_sanitize_option(options.search),
      {.name = "--json",
       .help = "Print the outcome as JSON, and nothing else, to standard output",
       .value = values::flag(options.json)},
      no_wait_option(options.search.evaluation,
                     "Exit with 75 instead of waiting for a mailbox or a spool; the same command goes on")};
  described[2].is_required = true;
  add_search_options(described, options.search.search);
  add_budget_options(described, options.budget, "--max-", "Limits", "");
  const auto add_price = [&](std::string name, std::string help, std::optional<double>& place) {
    described.push_back(limit_option(std::move(name), "X", std::move(help), values::number(place, k_money_range)));
  };
  add_price("--price-input", "Price of a million input tokens", options.price_input);
  add_price("--price-output", "Price of a million output tokens", options.price_output);
  add_price("--price-cached", "Price of a million cached input tokens; default: --price-input", options.price_cached);
  add_request_options(described, options.search);
  described.push_back(worker_option(options.search));
  add_evaluation_options(described, options.search.evaluation, environment);
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
