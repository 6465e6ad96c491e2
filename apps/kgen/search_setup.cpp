#include "search_setup.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/bench/compiling_profiler.hpp>
#include <kernelgen/bench/remote_profiler.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/prompt/prompt_set.hpp>

#include "local_device.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {

std::chrono::seconds seconds_of(double number) {
  return std::chrono::seconds(std::max<std::int64_t>(std::llround(number), 1));
}

std::optional<std::chrono::seconds> time_limit_of(const std::optional<double>& minutes) {
  constexpr double k_per_minute = 60;
  return minutes ? std::optional(seconds_of(*minutes * k_per_minute)) : std::nullopt;
}

Budget budget_of(const BudgetFlags& flags) {
  return {.tokens = flags.tokens,
          .requests = flags.requests,
          .evaluations = flags.evaluations,
          .cost = flags.cost,
          .time = time_limit_of(flags.minutes)};
}

void WorkerNotes::show_with(Show show) {
  const std::scoped_lock lock(mutex_);
  show_ = std::move(show);
}

void WorkerNotes::tell(const std::string& line) {
  const std::scoped_lock lock(mutex_);
  if (show_) show_(line);
}

void WorkerNotes::fail(const Error& error) {
  {
    const std::scoped_lock lock(mutex_);
    failure_ = error;
  }
  failed_.request_stop();
}

std::optional<Error> WorkerNotes::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

namespace {

/// Whether the device is one of this machine for all that kgen knows.
bool is_judged_here(const EvaluationFlags& evaluation) {
  return evaluation.launch_prefix.empty() && evaluation.spool.empty() && evaluation.workers.empty();
}

}  // namespace

int launched_worker_count(const SearchFlags& flags) {
  int count = 0;
  for (const auto& launch : flags.evaluation.workers) count += launch.count;
  return count;
}

Result<std::unique_ptr<Benchmarker>> make_search_benchmarker(const SearchFlags& flags, Context& context,
                                                             WorkerNotes& notes) {
  const auto& evaluation = flags.evaluation;
  if (evaluation.workers.empty()) return make_benchmarker(evaluation, context);
  LaunchedWorkersOptions options;
  KERNELGEN_TRY(options.installation, context.find_installation());
  KERNELGEN_TRY(options.cache_dir, choose_cache_dir(evaluation.cache_dir, context.environment));
  options.launches = evaluation.workers;
  options.directory = evaluation.spool.empty() ? flags.results + "/.spool" : evaluation.spool;
  options.python = evaluation.python;
  options.on_note = [&notes](const std::string& line) { notes.tell(line); };
  options.on_failure = [&notes](const Error& error) { notes.fail(error); };
  return make_launched_workers(std::move(options)).context("--worker");
}

Result<PromptDevice> choose_search_device(const SearchFlags& flags, Target target, Context& context) {
  const auto& evaluation = flags.evaluation;
  return find_prompt_device({.target = target,
                             .gpu = flags.gpu,
                             .device = evaluation.options.device,
                             .cache_dir = evaluation.cache_dir,
                             .is_judged_here = is_judged_here(evaluation)},
                            context);
}

Result<std::unique_ptr<Profiler>> choose_profiler(const SearchFlags& flags, const std::optional<GpuFacts>& gpu,
                                                  const Installation& installation, Benchmarker& benchmarker,
                                                  Context& context) {
  const auto& evaluation = flags.evaluation;
  if (flags.search.profile == "none") return std::unique_ptr<Profiler>();
  if (!is_judged_here(evaluation)) {
    KERNELGEN_TRY(auto options, evaluation_options(evaluation));
    return make_remote_profiler(benchmarker, std::move(options));
  }
  if (flags.search.profile == "sandboxed") return make_sandboxed_profiler(evaluation, gpu, installation, context);
  if (!gpu || platform_of(gpu->vendor).counters == CounterProgram::None)
    return Error{ErrorCode::InvalidArgument,
                 "--profile needs a target that runs on an NVIDIA or AMD GPU of this machine"};
  KERNELGEN_TRY(auto profiler, make_profiler(evaluation.python, std::nullopt, installation, context));
  KERNELGEN_TRY(auto compiler, make_local_compiler(gpu, evaluation.cache_dir, installation, context));
  return make_compiling_profiler(std::move(profiler), std::move(compiler));
}

Result<std::unique_ptr<Profiler>> make_sandboxed_profiler(const EvaluationFlags& evaluation,
                                                          const std::optional<GpuFacts>& gpu,
                                                          const Installation& installation, Context& context) {
  KERNELGEN_TRY(auto profiler,
                make_profiler(evaluation.python, std::nullopt, installation, context, ProfilerSandbox::Required));
  KERNELGEN_TRY(auto compiler, make_local_compiler(gpu, evaluation.cache_dir, installation, context));
  return make_compiling_profiler(std::move(profiler), std::move(compiler));
}

std::filesystem::path framework_prompts(Target target, const Installation& installation) {
  if (target != Target::Torch && target != Target::Hip && target != Target::Hipkittens) return {};
  const std::filesystem::path own = "prompts";
  return is_prompt_set(own) ? own : installation.prompts_dir / "hip_framework";
}

Result<FlowRequest> make_flow_request(const SearchFlags& flags, TaskSource task, const std::string& name, Target target,
                                      const PromptDevice& device) {
  FlowRequest request;
  request.task = std::move(task);
  request.target = target;
  KERNELGEN_TRY(request.evaluation, evaluation_options(flags.evaluation));
  request.device = device.facts;
  request.gpu = device.gpu;
  request.parallel_evaluations =
      flags.parallel_evaluations.value_or(std::max(device.gpu_count, launched_worker_count(flags)));
  if (flags.search.profile == "timeline") request.counters = Counters::None;
  request.name = name.empty() ? request.task.name : request.task.name + '.' + name;
  request.goal = flags.search.goal;
  request.max_prompt_tokens = flags.max_prompt_tokens;
  request.max_output_tokens = flags.max_output_tokens;
  request.effort = flags.effort;
  request.request_timeout = seconds_of(flags.request_timeout_seconds);
  request.parallel_requests = flags.parallel;
  request.sanitize_winner = !flags.no_sanitize;
  request.without = left_out_parts(flags.search);
  request.detect_persistence = !flags.search.no_detector;
  return request;
}

void add_terms(FlowRequest& request, const LLMClient& client, const std::optional<Prices>& given, bool needs_limit) {
  request.prices = given;
  add_prices(request, client);
  const auto terms = client.terms(PromptKind::Seed);
  if (needs_limit && !request.max_output_tokens && terms.max_output_tokens)
    request.max_output_tokens = std::min(k_default_output_tokens, *terms.max_output_tokens);
}

Result<void> check_prices(const FlowRequest& request, const LLMClient& client, std::string_view what_needs) {
  const auto kind = kind_without_prices(request);
  if (!kind) return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{} --price-input and --price-output: no prices are known for prompts of the kind {} of {}",
                           what_needs, to_string(*kind), client.identity())};
}

Result<std::unique_ptr<LLMClient>> make_search_client(const std::string& spec, const SearchFlags& flags,
                                                      Context& context, std::optional<Error>& unrecorded) {
  const auto make = [&](const std::string& text, const std::string& option) {
    return context.make_llm(text, waiting_of(flags.evaluation), ReplayMode::Strict).context(option);
  };
  KERNELGEN_TRY(auto client, make(spec, "--llm"));
  if (!flags.fallback.empty()) {
    KERNELGEN_TRY(auto second, make(flags.fallback, "--llm-fallback"));
    client = make_fallback_client(std::move(client), std::move(second));
  }
  ModelsByKind by_kind;
  for (const auto& [kind, specs] : flags.models_by_kind)
    for (const auto& own : specs) {
      KERNELGEN_TRY(auto one, make(own, fmt::format("--llm-for {}", to_string(kind))));
      by_kind[kind].push_back(std::move(one));
    }
  if (!by_kind.empty()) client = make_role_client(std::move(client), std::move(by_kind));
  if (flags.record.empty()) return client;
  return make_recording_client(std::move(client), flags.record,
                               [&unrecorded](const Error& error) { unrecorded = error; })
      .context("--record");
}

Option llm_for_option(SearchFlags& flags) {
  Value value{.store = [&flags](const std::string& text) -> Result<void> {
    const auto equals = text.find('=');
    if (equals == text.npos || equals + 1 == text.size())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("expected KIND=SPEC, such as repair=openai:gpt-5, not \"{}\"", text)};
    const auto name = text.substr(0, equals);
    const auto kind = parse_prompt_kind(name);
    if (!kind) return unknown_name(name, prompt_kind_names());
    flags.models_by_kind[*kind].push_back(text.substr(equals + 1));
    return {};
  }};
  for (const auto& kind : prompt_kind_names()) value.completions.push_back(kind + '=');
  return {.name = "--llm-for",
          .value_name = "KIND=SPEC",
          .help = "Another model for prompts of a kind; several for one kind take turns by seed",
          .value = std::move(value),
          .is_repeatable = true,
          .task_file = TaskFileRule::StartsProgram};
}

Option llm_fallback_option(SearchFlags& flags) {
  return {.name = "--llm-fallback",
          .value_name = "SPEC",
          .help = "Ask this model where the one of --llm has an outage",
          .value = values::text(flags.fallback),
          .task_file = TaskFileRule::StartsProgram};
}

Option record_option(SearchFlags& flags) {
  return {.name = "--record",
          .value_name = "FILE",
          .help = "Append every reply to FILE, for --llm replay:FILE",
          .value = values::file(flags.record),
          .task_file = TaskFileRule::WritesFiles};
}

Option results_option(SearchFlags& flags) {
  return {.name = "--results",
          .value_name = "DIR",
          .help = "Results directory",
          .value = values::directory(flags.results),
          .task_file = TaskFileRule::WritesFiles};
}

Option worker_option(SearchFlags& flags) {
  Value value{.store = [&flags](const std::string& text) -> Result<void> {
    KERNELGEN_TRY(auto launch, parse_worker_launch(text));
    flags.evaluation.workers.push_back(std::move(launch));
    return {};
  }};
  return {
      .name = "--worker",
      .value_name = "COMMAND",
      .help = "Start a worker by this command, such as \"ssh node1\" or \"8 x srun -n1 --gres=gpu:1\"; may be repeated",
      .value = std::move(value),
      .is_repeatable = true,
      .group = "Evaluation",
      .excludes = {"--launch-prefix", "--no-wait"},
      .is_shared = true,
      .task_file = TaskFileRule::StartsProgram};
}

Option no_sanitize_option(SearchFlags& flags) {
  return {.name = "--no-sanitize",
          .help = "Do not watch the winner for races and wrong accesses at the end",
          .value = values::flag(flags.no_sanitize),
          .task_file = TaskFileRule::WeakensVerdict};
}

Option limit_option(std::string name, std::string value_name, std::string help, Value value) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .value = std::move(value),
          .group = "Limits",
          .task_file = TaskFileRule::Spends};
}

void add_budget_options(std::vector<Option>& options, BudgetFlags& budget, const std::string& prefix,
                        const std::string& group, const std::string& of_what) {
  const auto add = [&](const char* name, std::string value_name, std::string help, Value value) {
    options.push_back(limit_option(prefix + name, std::move(value_name), std::move(help), std::move(value)));
    options.back().group = group;
  };
  const auto end = "End " + of_what + "after so ";
  add("tokens", "N", end + "many tokens", values::whole_number(budget.tokens, k_count_range));
  add("requests", "N", end + "many requests", values::whole_number(budget.requests, k_count_range));
  add("evaluations", "N", end + "many evaluations", values::whole_number(budget.evaluations, k_count_range));
  add("minutes", "M", end + "many minutes, of all sessions together",
      values::number(budget.minutes, {0.01, k_year_minutes}));
  add("cost", "X", end + "much money, in the currency of the prices", values::number(budget.cost, k_money_range));
}

void add_request_options(std::vector<Option>& options, SearchFlags& flags) {
  const auto add = [&](std::string name, std::string value_name, std::string help, Value value) {
    options.push_back(limit_option(std::move(name), std::move(value_name), std::move(help), std::move(value)));
  };
  add("--max-prompt-tokens", "N", "Leave examples and history out of longer prompts",
      values::whole_number(flags.max_prompt_tokens, k_count_range));
  add("--max-output-tokens", "N", "Limit of one reply", values::whole_number(flags.max_output_tokens, k_count_range));
  add("--effort", "WORD", "How much a reasoning model is to think, in its provider's words: low, high, ...",
      values::text(flags.effort));
  add("--request-timeout", "S", "Limit of one request, in seconds", values::seconds(flags.request_timeout_seconds, 1));
  add("--parallel", "N", "Requests in flight at once", values::whole_number(flags.parallel, {1, 256}));
  add("--parallel-evaluations", "N", "Evaluations at once; default: one for each GPU here or --worker",
      values::whole_number(flags.parallel_evaluations, {1, 256}));
}

}  // namespace kernelgen::cli
