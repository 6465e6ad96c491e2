#include "batch_options.hpp"

#include <limits>
#include <memory>

#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

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
          llm_for_option(options.search),
          llm_fallback_option(options.search),
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
           .help = "Tasks in progress at once; default: 4, or two for each --worker",
           .value = values::whole_number(options.parallel_tasks, {1, 256})},
          {.name = "--order",
           .value_name = "NAME",
           .help = "given, or value: what is promising and cheap first",
           .value = values::choice(options.order, {"given", "value"})},
          {.name = "--retry",
           .value_name = "KIND",
           .help = "Runs to take up: unfinished, paused (begun and not over), failed (anew), all (unfinished, failed)",
           .value = values::choice(options.retry, {"unfinished", "paused", "failed", "all"})},
          {.name = "--continue",
           .help = "Go on with runs that had other options, over or not; what they found stays",
           .value = values::flag(options.continues),
           .excludes = {"--retry"}},
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

}  // namespace

std::optional<std::pair<int, int>> range_in(const std::vector<std::string>& arguments) {
  constexpr Range<std::int64_t> k_numbers{0, 1'000'000};
  if (arguments.size() != 2) return std::nullopt;
  const auto start = parse_whole_number(arguments[0], k_numbers);
  const auto end = parse_whole_number(arguments[1], k_numbers);
  if (!start || !end) return std::nullopt;
  return std::pair(static_cast<int>(*start), static_cast<int>(*end));
}

std::vector<Option> describe_batch_options(BatchOptions& options, const Environment& environment) {
  std::vector<Option> described{task_argument(options)};
  for (auto& option : main_options(options)) described.push_back(std::move(option));
  for (auto& option : task_options(options)) described.push_back(std::move(option));
  add_search_options(described, options.search.search);
  add_campaign_limits(described, options);
  add_request_options(described, options.search);
  add_budget_options(described, options.task_budget, "--task-max-", "Limits of a task", "a task ");
  described.push_back(worker_option(options.search));
  add_evaluation_options(described, options.search.evaluation, environment);
  for (auto& option : described) {
    if (option.name == "--samples") stand_in(option, "NUM_SAMPLES", environment.num_samples);
    if (option.name == "--attempts") stand_in(option, "MAX_ATTEMPTS", environment.max_attempts);
    if (option.name == "--parallel") option.help = "Requests of one task in flight at once";
    if (option.name == "--parallel-evaluations")
      option.help = "Evaluations of one task at once; default: one for each GPU here or --worker";
    // A batch reads no kgen.toml. What one may say to other commands is told by their options (check_task_file()).
    option.task_file = TaskFileRule::NotAboutTask;
  }
  return described;
}

}  // namespace kernelgen::cli
