#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <ostream>
#include <thread>
#include <utility>

#include <kernelgen/flow/campaign.hpp>
#include <kernelgen/flow/campaign_estimate.hpp>
#include <kernelgen/report/report.hpp>
#include <kernelgen/store/results_directory.hpp>
#include <kernelgen/task/task_selection.hpp>

#include "batch_log.hpp"
#include "batch_options.hpp"
#include "campaign_display.hpp"
#include "commands.hpp"
#include "event_program.hpp"
#include "option_hints.hpp"
#include "search_setup.hpp"
#include "support/command_text.hpp"
#include "support/files.hpp"
#include "support/sha256.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// What the searches for one target have in common.
struct TargetSetup {
  Target target = Target::Cpp;
  PromptDevice device;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Profiler> profiler;
};

struct ModelSetup {
  std::string spec;
  std::unique_ptr<LLMClient> client;
  std::optional<Prices> prices;
  /// Its part of a run's name.
  std::string name;
  std::optional<Error> unrecorded;
};

/// Everything that the runs borrow.
struct BatchSetup {
  std::unique_ptr<PromptBuilder> prompts;
  std::unique_ptr<PersistentDetector> detector;
  WorkerNotes notes;
  std::unique_ptr<Benchmarker> benchmarker;
  std::vector<TargetSetup> targets;
  /// Pointers, because recording clients keep a reference to `unrecorded`.
  std::vector<std::unique_ptr<ModelSetup>> models;
  CampaignRequest request;
  /// Tasks that cannot be read, by name.
  std::vector<std::pair<std::string, Error>> unreadable;
};

Error invalid_batch(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

/// The price of the model with this index.
Result<std::optional<double>> price_of(const std::string& option, const std::vector<double>& prices, std::size_t model,
                                       std::size_t models) {
  if (prices.empty()) return std::optional<double>();
  if (prices.size() == 1) return std::optional(prices.front());
  if (prices.size() != models)
    return invalid_batch(fmt::format("{}: {} prices for {} model{}; give one for all, or one for each --llm", option,
                                     prices.size(), models, models == 1 ? "" : "s"));
  return std::optional(prices[model]);
}

Result<std::optional<Prices>> prices_of(const BatchOptions& options, std::size_t model) {
  const auto& flags = options.prices;
  const auto models = std::max<std::size_t>(options.models.size(), 1);
  KERNELGEN_TRY(const auto input, price_of("--price-input", flags.input, model, models));
  KERNELGEN_TRY(const auto output, price_of("--price-output", flags.output, model, models));
  KERNELGEN_TRY(const auto cached, price_of("--price-cached", flags.cached, model, models));
  if (!input && !output && cached) return invalid_batch("--price-cached needs --price-input and --price-output");
  if (!input && !output) return std::optional<Prices>();
  return std::optional(Prices{
      .per_million_input = input.value_or(0), .per_million_output = output.value_or(0), .per_million_cached = cached});
}

/// Digits that tell models of one name apart.
constexpr std::size_t k_digits_of_spec = 6;

Result<void> add_models(const BatchOptions& options, Context& context, BatchSetup& setup) {
  auto flags = options.search;
  if (options.dry_run) flags.record.clear();
  if (options.models.size() > 1 && !flags.record.empty())
    return invalid_batch("--record needs a single --llm, because a recording does not tell models apart");
  const auto specs = options.models.empty() ? std::vector<std::string>{k_default_model} : options.models;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    auto model = std::make_unique<ModelSetup>();
    model->spec = specs[i];
    KERNELGEN_TRY(model->prices, prices_of(options, i));
    KERNELGEN_TRY(model->client, make_search_client(model->spec, flags, context, model->unrecorded));
    model->name = run_name_of_model(model->client->identity());
    const auto is_like = [&](const auto& other) { return other->name == model->name; };
    // Two scripts of one interpreter; arguments are never part of a name, because they may hold keys.
    if (const auto other = std::find_if(setup.models.begin(), setup.models.end(), is_like);
        other != setup.models.end() && (*other)->spec != model->spec)
      model->name += '-' + sha256_hex(model->spec).substr(0, k_digits_of_spec);
    for (const auto& other : setup.models)
      if (other->name == model->name)
        return invalid_batch(
            fmt::format("--llm: {} and {} would have the same results, those of {}; give one of them "
                        "a campaign of its own, with --name",
                        other->spec, model->spec, model->name));
    setup.models.push_back(std::move(model));
  }
  return {};
}

Result<void> add_targets(const BatchOptions& options, const Installation& installation, Context& context,
                         BatchSetup& setup) {
  for (const auto& name : options.targets) {
    TargetSetup target{.target = *parse_target(name)};
    const auto same = [&](const auto& other) { return other.target == target.target; };
    if (std::any_of(setup.targets.begin(), setup.targets.end(), same)) continue;
    KERNELGEN_TRY(target.device, choose_search_device(options.search, target.target, context));
    KERNELGEN_TRY(target.policy, make_policy(options.search.search, *setup.prompts, target.target));
    KERNELGEN_TRY(target.profiler,
                  choose_profiler(options.search, target.device.gpu, installation, *setup.benchmarker, context));
    setup.targets.push_back(std::move(target));
  }
  return {};
}

/// The name of a run of a task: what was given, and what distinguishes it in the matrix of targets and models.
std::string run_name(const BatchOptions& options, const BatchSetup& setup, const TargetSetup& target,
                     const ModelSetup& model) {
  std::vector<std::string> parts;
  if (!options.search.name.empty()) parts.push_back(options.search.name);
  if (setup.targets.size() > 1) parts.emplace_back(to_string(target.target));
  if (setup.models.size() > 1) parts.push_back(model.name);
  return join(parts, "-");
}

Result<void> add_run(const BatchOptions& options, const TaskSource& task, const TargetSetup& target,
                     const ModelSetup& model, BatchSetup& setup) {
  const auto name = run_name(options, setup, target, model);
  KERNELGEN_TRY(auto directory, run_directory(options.search.results, task.name, name));
  KERNELGEN_TRY(auto request, make_flow_request(options.search, task, name, target.target, target.device));
  request.budget = budget_of(options.task_budget);
  const bool limits_cost = options.max_cost || options.task_budget.cost;
  add_terms(request, *model.client, model.prices, limits_cost || options.max_tokens);
  if (limits_cost) KERNELGEN_CHECK(check_prices(request, *model.client, "--max-cost and --task-max-cost need"));
  if ((options.max_tokens || options.max_cost) && !request.max_output_tokens)
    return invalid_batch(
        "--max-tokens and --max-cost need --max-output-tokens: without it a request may cost any amount");
  request.continues = options.continues;
  setup.request.runs.push_back(
      {.name = name.empty() ? task.name : task.name + '/' + name,
       .directory = std::move(directory),
       .request = std::move(request),
       .policy = *target.policy,
       .backends = {*model.client, *setup.prompts, *setup.benchmarker, *setup.detector, target.profiler.get()}});
  return {};
}

Result<void> check_readable(const std::string& list, std::size_t max_bytes) {
  KERNELGEN_TRY(const auto text, read_file(list, max_bytes).context("--list"));
  static_cast<void>(text);
  return {};
}

Result<std::vector<SelectedTask>> choose_tasks(const BatchOptions& options, const Context& context) {
  constexpr std::size_t k_max_list_bytes = 16u << 20;
  auto selection = options.tasks;
  const TaskLocator locator{.kernelbench_dir = context.environment.kernelbench_dir};
  if (const auto range = range_in(selection.sources)) {
    KERNELGEN_TRY(auto source, level_range(range->first, range->second, locator));
    selection.sources = {std::move(source)};
  }
  // An error of a file that cannot be read names its option.
  for (const auto& list : selection.list_files) KERNELGEN_CHECK(check_readable(list, k_max_list_bytes));
  if (options.seed && !options.sample) return invalid_batch("--seed needs --sample");
  if (options.sample) selection.sample = TaskSample{.count = *options.sample, .seed = options.seed.value_or(0)};
  return select_tasks(selection, locator);
}

/// Adds the runs: every task with every target and model. A task that cannot be read does not end the campaign.
Result<void> add_runs(const BatchOptions& options, const Context& context, BatchSetup& setup) {
  KERNELGEN_TRY(const auto tasks, choose_tasks(options, context));
  for (const auto& selected : tasks) {
    auto task = load_task_source(selected.path.string());
    if (!task) {
      setup.unreadable.emplace_back(selected.name, std::move(task).error());
      continue;
    }
    task->name = selected.name;
    for (const auto& target : setup.targets)
      for (const auto& model : setup.models) KERNELGEN_CHECK(add_run(options, *task, target, *model, setup));
  }
  return {};
}

CampaignLimits limits_of(const BatchOptions& options) {
  return {.requests = options.max_requests,
          .tokens = options.max_tokens,
          .cost = options.max_cost,
          .time = time_limit_of(options.max_minutes)};
}

RunSelection selection_of(const std::string& retry) {
  if (retry == "paused") return RunSelection::Paused;
  if (retry == "failed") return RunSelection::Failed;
  return retry == "all" ? RunSelection::All : RunSelection::Unfinished;
}

/// A worker prepares one evaluation while it measures another one, so two tasks keep it busy.
int parallel_tasks_of(const BatchOptions& options) {
  constexpr int k_without_workers = 4;
  constexpr int k_most = 256;
  const int for_workers = 2 * launched_worker_count(options.search);
  return options.parallel_tasks.value_or(std::clamp(for_workers, k_without_workers, k_most));
}

Result<std::unique_ptr<PromptBuilder>> make_prompts(const BatchOptions& options, const Installation& installation) {
  PromptBuilderOptions prompts{.directory = installation.prompts_dir, .overrides = options.search.prompts};
  if (range_in(options.tasks.sources) && options.search.prompts.empty())
    prompts.prompt_set = framework_prompts(*parse_target(options.targets.front()), installation);
  return make_prompt_builder(prompts).context(options.search.prompts.empty() ? "prompts" : "--prompts");
}

Result<std::unique_ptr<BatchSetup>> set_up(const BatchOptions& options, Context& context) {
  auto setup = std::make_unique<BatchSetup>();
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(setup->prompts, make_prompts(options, installation));
  setup->detector = make_persistent_detector();
  KERNELGEN_TRY(setup->benchmarker, make_search_benchmarker(options.search, context, setup->notes));
  KERNELGEN_CHECK(add_targets(options, installation, context, *setup));
  KERNELGEN_CHECK(add_models(options, context, *setup));
  KERNELGEN_CHECK(add_runs(options, context, *setup));
  auto& request = setup->request;
  request.limits = limits_of(options);
  request.parallel_runs = parallel_tasks_of(options);
  request.selection = selection_of(options.retry);
  request.order = options.order == "value" ? RunOrder::ByValue : RunOrder::Given;
  request.results_directory = options.search.results;
  return setup;
}

/// Keeps the status on the terminal fresh, and rewrites the reports after runs have ended.
class Upkeep {
 public:
  Upkeep(CampaignDisplay& display, std::string results)
      : display_(display), results_(std::move(results)), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  void note_end() { ended_ = true; }

 private:
  void work(const std::stop_token& stop) {
    constexpr int k_seconds_between_reports = 10;
    int seconds = 0;
    while (sleep_for(std::chrono::seconds{1}, stop)) {
      display_.refresh();
      if (++seconds % k_seconds_between_reports != 0 || !ended_.exchange(false)) continue;
      // They are written at the end, too, where a failure is reported; the page only there, because its details cost
      // more than all else.
      static_cast<void>(write_reports(results_));
    }
  }

  CampaignDisplay& display_;
  const std::string results_;
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

Result<std::unique_ptr<EventProgram>> make_event_program(const BatchOptions& options, Context& context) {
  if (options.on_event.empty()) return std::unique_ptr<EventProgram>();
  KERNELGEN_TRY(auto command, split_command(options.on_event).context("--on-event"));
  if (command.empty()) return invalid_batch("--on-event: expected a program, not blanks alone");
  return std::make_unique<EventProgram>(std::move(command), context.environment.clean, context.processes);
}

void write_error(const Error& error, Context& context) {
  context.err << "kgen: " << add_option_hints(error.to_line()) << '\n';
}

/// Tells that runs are over which had other options, and what to do, in one line.
void write_differences(const CampaignOutcome& outcome, Context& context) {
  const auto& runs = outcome.runs;
  const auto differs = [](const auto& run) { return is_over(run.status) && !run.difference.empty(); };
  const auto first = std::find_if(runs.begin(), runs.end(), differs);
  if (first == runs.end()) return;
  const auto count = std::count_if(runs.begin(), runs.end(), differs);
  constexpr std::size_t k_max_example = 300;
  context.err << "kgen: "
              << add_option_hints(fmt::format("{} of {} runs {} over, with other options: {}: {}", count, runs.size(),
                                              count == 1 ? "is" : "are", sanitize_line(first->name, k_max_example),
                                              sanitize_line(first->difference, k_max_example)))
              << '\n';
}

/// Tells why a campaign did not come to an end, and what to do, in one line.
void write_conclusion(const CampaignOutcome& outcome, Context& context) {
  if (outcome.cancelled)
    return write_error({ErrorCode::Cancelled, "interrupted; the same command goes on from here"}, context);
  struct Kind {
    CampaignRunStatus status;
    const char* text;
    const char* advice;
  };
  constexpr Kind k_kinds[] = {
      {CampaignRunStatus::Paused, "paused", "; the same command goes on from here"},
      {CampaignRunStatus::Busy, "left to another kgen", "; the one that ends last reports all of them"},
      {CampaignRunStatus::Error, "stopped by an error", ""}};
  constexpr std::size_t k_max_example = 300;
  for (const auto& [status, text, advice] : k_kinds) {
    const auto has_status = [wanted = status](const auto& run) { return run.status == wanted; };
    const auto& runs = outcome.runs;
    const auto first = std::find_if(runs.begin(), runs.end(), has_status);
    if (first == runs.end()) continue;
    const auto count = std::count_if(runs.begin(), runs.end(), has_status);
    const auto example = sanitize_line(first->name, k_max_example) + ": " + sanitize_line(first->reason, k_max_example);
    return write_error({ErrorCode::Pending, fmt::format("{} of {} runs {} {}: {}{}", count, runs.size(),
                                                        count == 1 ? "is" : "are", text, example, advice)},
                       context);
  }
}

/// Runs the campaign and shows it.
Result<CampaignOutcome> run_shown(const BatchOptions& options, BatchSetup& setup, Context& context) {
  const auto& request = setup.request;
  KERNELGEN_TRY(const auto program, make_event_program(options, context));
  BatchLog log(options.search.results);
  CampaignDisplay display(
      context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); }, request.limits);
  Result<CampaignOutcome> outcome = CampaignOutcome{};
  // Without workers, runs would only pay for replies that are never evaluated.
  std::stop_source stop;
  const auto end = [&stop] { stop.request_stop(); };
  const std::stop_callback interrupted(context.stop, end);
  const std::stop_callback failed(setup.notes.failed(), end);
  setup.notes.show_with([&display](const std::string& line) { display.tell(line); });
  {
    Upkeep upkeep(display, options.search.results);
    outcome = run_campaign(
        request,
        [&](const CampaignNotice& notice, const CampaignProgress& progress) {
          display.see(notice, progress);
          log.see(notice, progress);
          if (std::holds_alternative<CampaignRunEnded>(notice)) upkeep.note_end();
          if (program == nullptr) return;
          if (auto line = event_line(notice, progress)) program->tell(*std::move(line));
        },
        stop.get_token());
  }
  setup.notes.show_with({});
  display.finish();
  if (const auto logged = log.finish(); !logged) write_error(logged.error(), context);
  if (program == nullptr) return outcome;
  if (outcome) program->tell(end_line(*outcome));
  if (const auto failure = program->finish()) write_error(Error(*failure), context);
  return outcome;
}

/// Writes the reports; a failure does not change what the campaign came to.
void write_final_reports(const std::string& results, const CampaignOutcome& outcome, Context& context) {
  const auto installation = context.find_installation();
  const auto reported = installation ? write_reports(results, installation->report_dir) : write_reports(results);
  // Without any journal there is nothing to report.
  if (reported || reported.error().code == ErrorCode::InvalidArgument) return;
  // A full disk that has stopped runs is told once.
  const auto has_told = [&](const auto& run) { return run.error && run.error->code == reported.error().code; };
  if (std::none_of(outcome.runs.begin(), outcome.runs.end(), has_told)) write_error(reported.error(), context);
}

Result<ExitCode> run(const BatchOptions& options, Context& context) {
  KERNELGEN_TRY(auto setup, set_up(options, context));
  for (const auto& [name, error] : setup->unreadable)
    write_error({error.code, name + " is left out: " + error.to_line()}, context);
  const auto code_with_unreadable = [&](ExitCode code) {
    const bool is_over = static_cast<int>(code) < static_cast<int>(ExitCode::Usage);
    return is_over && !setup->unreadable.empty() ? exit_code_for(setup->unreadable.front().second) : code;
  };
  if (options.dry_run) {
    const auto estimate = estimate_campaign(setup->request);
    context.out << (options.json ? estimate_to_json(estimate) : render_estimate(estimate, setup->request.limits));
    return code_with_unreadable(ExitCode::Success);
  }
  KERNELGEN_CHECK(make_directories(options.search.results).context("--results"));
  KERNELGEN_TRY(const auto outcome, run_shown(options, *setup, context));
  write_final_reports(options.search.results, outcome, context);
  context.out << (options.json ? campaign_to_json(outcome) : render_campaign(outcome, context.out_terminal));
  const auto failure = setup->notes.failure();
  write_differences(outcome, context);
  if (!failure) write_conclusion(outcome, context);
  // Recordings end with their clients.
  for (auto& model : setup->models) {
    model->client.reset();
    if (model->unrecorded) return *model->unrecorded;
  }
  if (failure) return Error{failure->code, failure->message + "; the same command goes on from here"};
  return code_with_unreadable(exit_code_for(outcome));
}

}  // namespace

Command make_batch_command(Context& context) {
  const auto options = std::make_shared<BatchOptions>();
  return {.name = "batch",
          .summary = "Search for fast kernels of many tasks, under one budget",
          .options = describe_batch_options(*options, context.environment),
          .run = [options, &context] { return run(*options, context); },
          .implied = [](const std::vector<std::string>& arguments) -> std::map<std::string, std::string> {
            if (!range_in(arguments)) return {};
            return {{"--policy", "reflect"}, {"--target", "torch"}, {"--profile", "sandboxed"}};
          },
          .implied_by = "START END"};
}

}  // namespace kernelgen::cli
