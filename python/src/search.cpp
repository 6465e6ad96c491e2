#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <kernelgen/exec/process.hpp>
#include <kernelgen/llm/clients.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "convert.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

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

std::unique_ptr<Policy> make_policy(const std::string& name, const nb::dict& from,
                                    const std::vector<std::string>& strategies) {
  if (name == "hybrid") {
    HybridOptions options;
    assign_strategies(from, strategies, options);
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
    assign_strategies(from, strategies, options);
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
    assign(from, "attempts", options.attempts);
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    assign(from, "stop_score", options.stop_score);
    return make_reflect_policy(options);
  }
  if (name == "rounds") {
    RoundsOptions options;
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
    OneShotOptions options;
    assign(from, "samples", options.samples);
    assign(from, "temperature", options.temperature);
    return make_one_shot_policy(options);
  }
  raise({ErrorCode::InvalidArgument,
         "option policy is \"" + name + "\"; it must be hybrid, evolve, reflect, rounds or one-shot"});
}

std::shared_ptr<const Policy> policy_of_search(CallState& state, const nb::object& policy, const PromptBuilder& prompts,
                                               Target target) {
  if (!nb::isinstance<nb::tuple>(policy)) return policy_of_call(state, policy);
  const auto parts = nb::cast<std::pair<nb::str, nb::dict>>(policy);
  return make_policy(text_of(parts.first), parts.second, prompts.variants(PromptKind::Seed, target));
}

FlowRequest flow_request_of(const nb::dict& from) {
  FlowRequest request;
  request.evaluation = options_of(require<nb::dict>(from, "options"));
  assign(from, "continues", request.continues);
  request.budget = budget_of(find<nb::dict>(from, "budget").value_or(nb::dict{}));
  if (const auto prices = find<nb::dict>(from, "prices")) request.prices = prices_of(*prices);
  assign(from, "goal", request.goal);
  request.max_prompt_tokens = find<std::int64_t>(from, "max_prompt_tokens");
  request.max_output_tokens = find<std::int64_t>(from, "max_output_tokens");
  assign(from, "effort", request.effort);
  assign_limit(from, "request_timeout", request.request_timeout);
  assign(from, "parallel_requests", request.parallel_requests);
  assign(from, "parallel_evaluations", request.parallel_evaluations);
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

Result<void> find_device(FlowRequest& request, const Installation& installation, const std::stop_token& stop) {
  const auto runner = make_process_runner();
  auto device = find_prompt_device({.installation = installation,
                                    .target = request.target,
                                    .device = request.evaluation.device,
                                    .environment = clean_environment(current_environment())},
                                   *runner, stop);
  if (!device) return std::move(device).context("looking for the device").error();
  request.device = std::move(device->facts);
  request.gpu = std::move(device->gpu);
  return {};
}

}  // namespace kernelgen_python
