#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <kernelgen/exec/process.hpp>
#include <kernelgen/llm/clients.hpp>

#include "convert.hpp"
#include "judge.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

/// The largest values that `kgen run` takes.
constexpr int k_most_parallel = 256;
constexpr double k_most_goal = 1e6;
/// Samples of the one-shot policy, as `kgen run` takes them.
constexpr int k_samples = 3;

/// Seeds are told apart by the strategies of the templates, as `kgen run` does it, unless the caller named others.
template <class Options>
void assign_strategies(const nb::dict& from, const std::vector<std::string>& usual, Options& options) {
  options.strategies = usual;
  assign(from, "strategies", options.strategies);
}

Budget budget_of(const nb::dict& from) {
  Budget budget;
  budget.tokens = find<std::int64_t>(from, "tokens");
  budget.requests = find<std::int64_t>(from, "requests");
  budget.evaluations = find<std::int64_t>(from, "evaluations");
  budget.cost = find<double>(from, "cost");
  budget.time = time_limit_of(from, "time", "budget.time");
  check_limit("budget", budget.tokens);
  check_limit("budget", budget.requests);
  check_limit("budget", budget.evaluations);
  check_limit("budget", budget.cost);
  return budget;
}

/// Raises InvalidArgument for a value beyond the range that `kgen run` has for the option.
template <class Number>
void check_range(const char* option, const Number& value, Number least, Number most) {
  if (value >= least && value <= most) return;
  const bool has_most = most < std::numeric_limits<Number>::max();
  const auto text = [](Number number) { return std::string(nb::str(nb::cast(number)).c_str()); };
  raise({ErrorCode::InvalidArgument, "option " + std::string(option) + " is " + text(value) + "; it must be " +
                                         text(least) + (has_most ? " to " + text(most) : " or more")});
}

std::optional<std::int64_t> token_limit_of(const nb::dict& from, const char* name) {
  const auto limit = find<std::int64_t>(from, name);
  if (limit) check_range<std::int64_t>(name, *limit, 1, std::numeric_limits<std::int64_t>::max());
  return limit;
}

double price_of(const nb::dict& from, const char* name) {
  const double price = require<double>(from, name);
  if (price >= 0 && std::isfinite(price)) return price;
  raise({ErrorCode::InvalidArgument, "option " + std::string(name) + " is no price; it must be 0 or more"});
}

}  // namespace

std::optional<std::chrono::seconds> time_limit_of(const nb::dict& from, const char* name, const char* option) {
  const auto seconds = find<double>(from, name);
  if (!seconds) return {};
  check_limit(option, seconds);
  return std::chrono::ceil<std::chrono::seconds>(milliseconds_of(option, *seconds));
}

Prices prices_of(const nb::dict& from) {
  Prices prices{price_of(from, "per_million_input"), price_of(from, "per_million_output")};
  if (find<double>(from, "per_million_cached")) prices.per_million_cached = price_of(from, "per_million_cached");
  if (find<double>(from, "per_million_cache_write"))
    prices.per_million_cache_write = price_of(from, "per_million_cache_write");
  return prices;
}

nb::object dict_of(const std::optional<Prices>& prices) {
  if (!prices) return nb::none();
  nb::dict to;
  to["per_million_input"] = prices->per_million_input;
  to["per_million_output"] = prices->per_million_output;
  to["per_million_cached"] = nb::cast(prices->per_million_cached);
  to["per_million_cache_write"] = nb::cast(prices->per_million_cache_write);
  return to;
}

nb::dict dict_of(const ResourceUsage& spent) {
  nb::dict to;
  to["tokens"] = spent.tokens;
  to["requests"] = spent.requests;
  to["evaluations"] = spent.evaluations;
  to["cost"] = spent.cost;
  to["time"] = std::chrono::duration<double>(spent.time).count();
  return to;
}

PolicyDefaults policy_defaults_of(const FlowRequest& request, const PromptBuilder& prompts, bool takes_profiles) {
  return {prompts.variants(PromptKind::Seed, request.target),
          takes_profiles ? ProfileUse::BeforeNextPrompt : ProfileUse::Never, request.goal};
}

std::unique_ptr<Policy> make_policy(const std::string& name, const nb::dict& from, const PolicyDefaults& defaults) {
  if (name == "hybrid") {
    HybridOptions options;
    assign_strategies(from, defaults.strategies, options);
    options.profiles = defaults.profiles;
    if (find<bool>(from, "early_exit").value_or(false)) options.early_exit = EarlyExit::Yes;
    assign(from, "seeds", options.seeds);
    assign(from, "has_start", options.has_start);
    assign(from, "temperature", options.temperature);
    assign(from, "seed_repairs", options.seed_repairs);
    assign(from, "optimize_repairs", options.optimize_repairs);
    assign(from, "stage_repairs", options.stage_repairs);
    assign(from, "analyze", options.analyze);
    assign(from, "stages", options.stages);
    assign(from, "stage_tries", options.stage_tries);
    assign(from, "skip_stages_score", options.skip_stages_score);
    assign(from, "min_stage_gain", options.min_stage_gain);
    assign(from, "stop_score", options.stop_score);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_hybrid_policy(std::move(options));
  }
  if (name == "evolve") {
    EvolveOptions options;
    assign_strategies(from, defaults.strategies, options);
    options.profiles = defaults.profiles;
    assign(from, "islands", options.islands);
    assign(from, "has_start", options.has_start);
    assign(from, "archive", options.archive);
    assign(from, "generations", options.generations);
    assign(from, "temperature", options.temperature);
    assign(from, "seed_repairs", options.seed_repairs);
    assign(from, "child_repairs", options.child_repairs);
    assign(from, "stop_score", options.stop_score);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_evolve_policy(std::move(options));
  }
  if (name == "reflect") {
    ReflectOptions options;
    options.profiles = defaults.profiles;
    options.stop_score = defaults.goal.value_or(options.stop_score);
    assign(from, "attempts", options.attempts);
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    assign(from, "stop_score", options.stop_score);
    return make_reflect_policy(options);
  }
  if (name == "rounds") {
    RoundsOptions options;
    options.profiles = defaults.profiles;
    if (!defaults.strategies.empty()) options.strategy = defaults.strategies.front();
    assign(from, "rounds", options.rounds);
    assign(from, "temperature", options.temperature);
    assign(from, "patience", options.patience);
    assign(from, "stop_score", options.stop_score);
    assign(from, "strategy", options.strategy);
    assign(from, "escalations", options.escalations);
    assign(from, "floor_ratio", options.floor_ratio);
    return make_rounds_policy(std::move(options));
  }
  if (name == "one-shot") {
    OneShotOptions options{.samples = k_samples};
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    return make_one_shot_policy(options);
  }
  raise({ErrorCode::InvalidArgument,
         "option policy is \"" + name + "\"; it must be hybrid, evolve, reflect, rounds or one-shot"});
}

std::shared_ptr<const Policy> policy_of_search(CallState& state, const nb::object& policy,
                                               const PolicyDefaults& defaults) {
  if (!nb::isinstance<nb::tuple>(policy)) return policy_of_call(state, policy);
  const auto parts = nb::cast<std::pair<nb::str, nb::dict>>(policy);
  return make_policy(text_of(parts.first), parts.second, defaults);
}

std::optional<int> parallel_evaluations_of(const nb::dict& from) {
  const auto count = find<int>(from, "parallel_evaluations");
  if (count) check_range("parallel_evaluations", *count, 1, k_most_parallel);
  return count;
}

FlowRequest flow_request_of(const nb::dict& from) {
  FlowRequest request;
  request.evaluation = options_of(require<nb::dict>(from, "options"));
  assign(from, "continues", request.continues);
  request.budget = budget_of(find<nb::dict>(from, "budget").value_or(nb::dict{}));
  if (const auto prices = find<nb::dict>(from, "prices")) request.prices = prices_of(*prices);
  assign(from, "goal", request.goal);
  check_range("goal", request.goal, 0.0, k_most_goal);
  request.max_prompt_tokens = token_limit_of(from, "max_prompt_tokens");
  request.max_output_tokens = token_limit_of(from, "max_output_tokens");
  assign(from, "effort", request.effort);
  assign_limit(from, "request_timeout", request.request_timeout);
  assign(from, "parallel_requests", request.parallel_requests);
  check_range("parallel_requests", request.parallel_requests, 1, k_most_parallel);
  assign(from, "sanitize_winner", request.sanitize_winner);
  return request;
}

Result<void> add_terms(FlowRequest& request, const LLMClient& model, bool limits_cost, bool limits_tokens) {
  add_prices(request, model);
  const auto terms = model.terms(PromptKind::Seed);
  if ((limits_cost || limits_tokens) && !request.max_output_tokens && terms.max_output_tokens)
    request.max_output_tokens = std::min(k_default_output_tokens, *terms.max_output_tokens);
  const auto kind = limits_cost ? kind_without_prices(request) : std::nullopt;
  if (!kind) return {};
  return Error{ErrorCode::InvalidArgument,
               "a limit of cost needs option prices: no prices are known for prompts of the kind " +
                   std::string(to_string(*kind)) + " of " + model.identity()};
}

JudgePlace place_of(const nb::object& judge) {
  if (!nb::isinstance<NativeJudge>(judge)) return {};
  const auto* local = nb::cast<const NativeJudge&>(judge).opener().target<LocalJudgeOpener>();
  return local == nullptr ? JudgePlace{} : JudgePlace{true, local->options.cache_dir};
}

Result<PromptDevice> find_device(const FlowRequest& request, const JudgePlace& judge, const Installation& installation,
                                 const std::stop_token& stop) {
  const auto environment = current_environment();
  PromptDeviceOptions options{.installation = installation,
                              .target = request.target,
                              .device = request.evaluation.device,
                              .cache_dir = judge.cache_dir,
                              .environment = clean_environment(environment),
                              .is_judged_here = judge.is_here};
  // Without a cache directory, bandwidths that were measured before are not known.
  if (options.cache_dir.empty())
    if (auto directory = default_cache_dir(environment)) options.cache_dir = *std::move(directory);
  const auto runner = make_process_runner();
  return find_prompt_device(options, *runner, stop).context("looking for the device");
}

void set_device(FlowRequest& request, const PromptDevice& device, const std::optional<int>& parallel_evaluations) {
  request.device = device.facts;
  request.gpu = device.gpu;
  request.parallel_evaluations = parallel_evaluations.value_or(device.gpu_count);
}

}  // namespace kernelgen_python
