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
#include "campaign_display.hpp"
#include "commands.hpp"
#include "event_program.hpp"
#include "option_hints.hpp"
#include "search_setup.hpp"
#include "support/command_text.hpp"
#include "support/files.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

/// One number for all models, or one for each in their order.
struct PriceFlags {
  std::vector<double> input;
  std::vector<double> output;
  std::vector<double> cached;
};

struct BatchOptions {
  TaskSelection tasks;
  std::optional<int> sample;
  std::optional<std::int64_t> seed;
  std::vector<std::string> targets;
  std::vector<std::string> models;
  SearchFlags search;
  BudgetFlags task_budget;
  std::optional<std::int64_t> max_requests;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> max_cost;
  std::optional<double> max_minutes;
  PriceFlags prices;
  int parallel_tasks = 4;
  std::string retry = "unfinished";
  std::string order = "given";
  std::string on_event;
  bool dry_run = false;
  bool json = false;
};

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
  std::unique_ptr<Benchmarker> benchmarker;
  std::vector<TargetSetup> targets;
  /// Pointers, because recording clients keep a reference to `unrecorded`.
  std::vector<std::unique_ptr<ModelSetup>> models;
  CampaignRequest request;
  /// Tasks that cannot be read, by name.
  std::vector<std::pair<std::string, Error>> unreadable;
};

/// START and END of the HIP framework's form `batch START END`; nothing for other arguments.
std::optional<std::pair<int, int>> range_in(const std::vector<std::string>& arguments) {
  constexpr Range<std::int64_t> k_numbers{0, 1'000'000};
  if (arguments.size() != 2) return std::nullopt;
  const auto start = parse_whole_number(arguments[0], k_numbers);
  const auto end = parse_whole_number(arguments[1], k_numbers);
  if (!start || !end) return std::nullopt;
  return std::pair(static_cast<int>(*start), static_cast<int>(*end));
}

Error invalid_batch(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

/// The price of the model with this index.
Result<std::optional<double>> price_of(const std::string& option, const std::vector<double>& prices, std::size_t model,
                                       std::size_t models) {
  if (prices.empty()) return std::optional<double>();
  if (prices.size() == 1) return std::optional(prices.front());
  if (prices.size() != models)
    return invalid_batch(fmt::format("{}: {} prices for {} models; give one for all, or one for each --llm", option,
                                     prices.size(), models));
  return std::optional(prices[model]);
}

Result<std::optional<Prices>> prices_of(const BatchOptions& options, std::size_t model) {
  const auto& flags = options.prices;
  const auto models = std::max<std::size_t>(options.models.size(), 1);
  KERNELGEN_TRY(const auto input, price_of("--price-input", flags.input, model, models));
  KERNELGEN_TRY(const auto output, price_of("--price-output", flags.output, model, models));
  KERNELGEN_TRY(const auto cached, price_of("--price-cached", flags.cached, model, models));
  const bool needed = options.max_cost || options.task_budget.cost || cached;
  if (!input && !output && needed)
    return invalid_batch("--max-cost, --task-max-cost and --price-cached need --price-input and --price-output");
  if (!input && !output) return std::optional<Prices>();
  return std::optional(Prices{
      .per_million_input = input.value_or(0), .per_million_output = output.value_or(0), .per_million_cached = cached});
}

/// The model's part of a directory's name: "gpt-5" for "openai gpt-5".
std::string directory_name_of(const std::string& identity) {
  const auto blank = identity.find(' ');
  auto name = blank == identity.npos ? identity : identity.substr(blank + 1);
  std::replace_if(
      name.begin(), name.end(),
      [](unsigned char byte) { return std::isalnum(byte) == 0 && byte != '.' && byte != '_' && byte != '-'; }, '-');
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

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
    model->name = directory_name_of(model->client->identity());
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
    KERNELGEN_TRY(target.profiler, choose_profiler(options.search, target.device.gpu, installation, context));
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
  request.prices = model.prices;
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

Result<std::unique_ptr<PromptBuilder>> make_prompts(const BatchOptions& options, const Installation& installation) {
  PromptBuilderOptions prompts{.directory = installation.prompts_dir, .overrides = options.search.prompts};
  if (range_in(options.tasks.sources) && options.search.prompts.empty())
    prompts.prompt_set = framework_prompts(*parse_target(options.targets.front()), installation);
  return make_prompt_builder(prompts).context(options.search.prompts.empty() ? "prompts" : "--prompts");
}

Result<std::unique_ptr<BatchSetup>> set_up(const BatchOptions& options, Context& context) {
  if ((options.max_tokens || options.max_cost) && !options.search.max_output_tokens)
    return invalid_batch(
        "--max-tokens and --max-cost need --max-output-tokens: without it a request may cost any amount");
  auto setup = std::make_unique<BatchSetup>();
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(setup->prompts, make_prompts(options, installation));
  setup->detector = make_persistent_detector();
  KERNELGEN_CHECK(add_targets(options, installation, context, *setup));
  KERNELGEN_CHECK(add_models(options, context, *setup));
  KERNELGEN_TRY(setup->benchmarker, make_benchmarker(options.search.evaluation, context));
  KERNELGEN_CHECK(add_runs(options, context, *setup));
  auto& request = setup->request;
  request.limits = limits_of(options);
  request.parallel_runs = options.parallel_tasks;
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
      // They are written at the end, too, where a failure is reported.
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

/// Tells why a campaign did not come to an end, and what to do, in one line.
void write_conclusion(const CampaignOutcome& outcome, Context& context) {
  if (outcome.cancelled)
    return write_error({ErrorCode::Cancelled, "interrupted; the same command goes on from here"}, context);
  struct Kind {
    CampaignRunStatus status;
    const char* text;
    const char* advice;
  };
  constexpr Kind k_kinds[] = {{CampaignRunStatus::Paused, "paused", "; the same command goes on from here"},
                              {CampaignRunStatus::Busy, "in use by another kgen", ""},
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
Result<CampaignOutcome> run_shown(const BatchOptions& options, const CampaignRequest& request, Context& context) {
  KERNELGEN_TRY(const auto program, make_event_program(options, context));
  BatchLog log(options.search.results);
  CampaignDisplay display(
      context.err_terminal, [&](std::string_view text) { (context.err << text).flush(); }, request.limits);
  Result<CampaignOutcome> outcome = CampaignOutcome{};
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
        context.stop);
  }
  display.finish();
  if (const auto logged = log.finish(); !logged) write_error(logged.error(), context);
  if (program == nullptr) return outcome;
  if (outcome) program->tell(end_line(*outcome));
  if (const auto failure = program->finish()) write_error(Error(*failure), context);
  return outcome;
}

/// Writes the reports; a failure does not change what the campaign came to.
void write_final_reports(const std::string& results, Context& context) {
  const auto reported = write_reports(results);
  // Without any journal there is nothing to report.
  if (!reported && reported.error().code != ErrorCode::InvalidArgument) write_error(reported.error(), context);
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
  KERNELGEN_TRY(const auto outcome, run_shown(options, setup->request, context));
  write_final_reports(options.search.results, context);
  context.out << (options.json ? campaign_to_json(outcome) : render_campaign(outcome, context.out_terminal));
  write_conclusion(outcome, context);
  // Recordings end with their clients.
  for (auto& model : setup->models) {
    model->client.reset();
    if (model->unrecorded) return *model->unrecorded;
  }
  return code_with_unreadable(exit_code_for(outcome));
}

/// Numbers of an option that may be repeated.
Value repeated_numbers(std::vector<double>& place, Range<double> range) {
  return {.store = [&place, range](const std::string& text) -> Result<void> {
            KERNELGEN_TRY(const auto number, parse_number(text, range));
            place.push_back(number);
            return {};
          },
          .notation = Notation::Number};
}

/// Names of targets, each checked.
Value repeated_targets(std::vector<std::string>& place) {
  auto checked = std::make_shared<std::optional<Target>>();
  auto value = target_value(*checked);
  value.store = [&place, checked, check = value.store](const std::string& text) -> Result<void> {
    KERNELGEN_CHECK(check(text));
    place.push_back(text);
    return {};
  };
  return value;
}

Option task_argument(BatchOptions& options) {
  return {.name = "tasks",
          .value_name = "TASK",
          .help =
              "Files, folders, level1, level3/33-42 with KERNELBENCH_DIR; or START END: a level's tasks by number, "
              "with --policy reflect, --target torch and --profile sandboxed unless given",
          .value = values::files(options.tasks.sources),
          .is_repeatable = true};
}

std::vector<Option> task_options(BatchOptions& options) {
  constexpr Range<std::int64_t> k_task_count{1, 1'000'000};
  constexpr Range<std::int64_t> k_task_number{0, 1'000'000};
  std::vector<Option> described{
      {.name = "--list",
       .value_name = "FILE",
       .help = "A file with such a name on each line; may be repeated",
       .value = values::files(options.tasks.list_files),
       .is_repeatable = true},
      {.name = "--first",
       .aliases = {"--first-n"},
       .value_name = "N",
       .help = "The first N of them",
       .value = values::whole_number(options.tasks.first, k_task_count),
       .excludes = {"--sample"}},
      {.name = "--sample",
       .value_name = "N",
       .help = "N of them, drawn by --seed",
       .value = values::whole_number(options.sample, k_task_count)},
      {.name = "--seed",
       .value_name = "S",
       .help = "The same number draws the same tasks; default: 0",
       .value = values::whole_number(options.seed, {0, std::numeric_limits<std::int64_t>::max()})},
      {.name = "--start",
       .value_name = "N",
       .help = "Tasks with a number of at least N",
       .value = values::whole_number(options.tasks.start, k_task_number)},
      {.name = "--end",
       .value_name = "N",
       .help = "Tasks with a number of at most N",
       .value = values::whole_number(options.tasks.end, k_task_number)}};
  for (auto& option : described) option.group = "Tasks";
  return described;
}

std::vector<Option> main_options(BatchOptions& options) {
  auto llm = repeated_llm_option(options.models);
  llm.value.default_text = k_default_model;
  return {{.name = "--target",
           .value_name = "NAME",
           .help = "cpp, cuda, hip, hipkittens, torch or triton; may be repeated",
           .value = repeated_targets(options.targets),
           .is_required = true,
           .is_repeatable = true},
          std::move(llm),
          record_option(options.search),
          results_option(options.search),
          {.name = "--name",
           .value_name = "NAME",
           .help = "Name of further runs of the same tasks",
           .value = values::text(options.search.name)},
          gpu_option(options.search.gpu, "The GPU behind --launch-prefix or --spool, for the prompts"),
          prompts_option(options.search.prompts),
          no_sanitize_option(options.search),
          {.name = "--parallel-tasks",
           .value_name = "N",
           .help = "Tasks in progress at once; one that waits for its model holds no device",
           .value = values::whole_number(options.parallel_tasks, {1, 256})},
          {.name = "--order",
           .value_name = "NAME",
           .help = "given, or value: what is promising and cheap first",
           .value = values::choice(options.order, {"given", "value"})},
          {.name = "--retry",
           .value_name = "KIND",
           .help = "Runs to take up: unfinished, paused (begun and not over), failed (anew), all (unfinished, failed)",
           .value = values::choice(options.retry, {"unfinished", "paused", "failed", "all"})},
          {.name = "--dry-run", .help = "Print what it would take, and end", .value = values::flag(options.dry_run)},
          {.name = "--on-event",
           .value_name = "PROGRAM",
           .help = "Start this for each event, with a line of JSON on its standard input",
           .value = values::program(options.on_event)},
          {.name = "--json",
           .help = "Print the outcome as JSON, and nothing else, to standard output",
           .value = values::flag(options.json)},
          no_wait_option(options.search.evaluation,
                         "Exit with 75 instead of waiting for a mailbox or a spool; the same command goes on")};
}

void add_campaign_limits(std::vector<Option>& described, BatchOptions& options) {
  const auto add = [&](std::string name, std::string value_name, std::string help, Value value) {
    described.push_back(limit_option(std::move(name), std::move(value_name), std::move(help), std::move(value)));
  };
  add("--max-tokens", "N", "End the campaign before so many tokens are exceeded; needs --max-output-tokens",
      values::whole_number(options.max_tokens, k_count_range));
  add("--max-requests", "N", "End the campaign after so many requests",
      values::whole_number(options.max_requests, k_count_range));
  add("--max-minutes", "M", "End the campaign after so many minutes, of all sessions together",
      values::number(options.max_minutes, {0.01, k_year_minutes}));
  add("--max-cost", "X", "End the campaign before so much money is exceeded; needs --max-output-tokens",
      values::number(options.max_cost, k_money_range));
  const auto add_price = [&](std::string name, std::string help, std::vector<double>& place) {
    add(std::move(name), "X", std::move(help), repeated_numbers(place, k_money_range));
    described.back().is_repeatable = true;
  };
  add_price("--price-input", "Price of a million input tokens; once, or for each --llm", options.prices.input);
  add_price("--price-output", "Price of a million output tokens", options.prices.output);
  add_price("--price-cached", "Price of a million cached input tokens; default: --price-input", options.prices.cached);
}

/// Lets an environment variable stand in for an option.
void stand_in(Option& option, std::string variable, std::string value) {
  option.help += "; default: " + variable;
  option.variable = std::move(variable);
  option.variable_value = std::move(value);
}

std::vector<Option> describe_options(BatchOptions& options, const Environment& environment) {
  std::vector<Option> described{task_argument(options)};
  for (auto& option : main_options(options)) described.push_back(std::move(option));
  for (auto& option : task_options(options)) described.push_back(std::move(option));
  add_search_options(described, options.search.search);
  add_campaign_limits(described, options);
  add_request_options(described, options.search);
  add_budget_options(described, options.task_budget, "--task-max-", "Limits of a task", "a task ");
  add_evaluation_options(described, options.search.evaluation, environment);
  for (auto& option : described) {
    if (option.name == "--samples") stand_in(option, "NUM_SAMPLES", environment.num_samples);
    if (option.name == "--attempts") stand_in(option, "MAX_ATTEMPTS", environment.max_attempts);
    if (option.name == "--parallel") option.help = "Requests of one task in flight at once";
    if (option.name == "--parallel-evaluations")
      option.help = "Evaluations of one task at once; default: one for each GPU here";
    // A batch reads no kgen.toml. What one may say to other commands is told by their options (check_task_file()).
    option.task_file = TaskFileRule::NotAboutTask;
  }
  return described;
}

}  // namespace

Command make_batch_command(Context& context) {
  const auto options = std::make_shared<BatchOptions>();
  return {.name = "batch",
          .summary = "Search for fast kernels of many tasks, under one budget",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return run(*options, context); },
          .implied = [](const std::vector<std::string>& arguments) -> std::map<std::string, std::string> {
            if (!range_in(arguments)) return {};
            return {{"--policy", "reflect"}, {"--target", "torch"}, {"--profile", "sandboxed"}};
          },
          .implied_by = "START END"};
}

}  // namespace kernelgen::cli
