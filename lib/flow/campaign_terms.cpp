#include <algorithm>
#include <map>
#include <set>

#include <kernelgen/core/version.hpp>

#include "flow/campaign_state.hpp"
#include "flow/option_text.hpp"
#include "flow/steps.hpp"
#include "support/sha256.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

template <class T>
std::string limit_text(const std::optional<T>& limit) {
  return limit ? to_text(static_cast<double>(*limit)) : std::string("none");
}

std::string price_text(const std::optional<Prices>& prices) {
  if (!prices) return "none";
  return to_text(prices->per_million_input) + '/' + to_text(prices->per_million_output) + '/' +
         to_text(prices->per_million_cached.value_or(prices->per_million_input)) +
         (prices->per_million_cache_write ? '/' + to_text(*prices->per_million_cache_write) : "");
}

/// Number of the runs, and an id of their names and the texts of their tasks.
std::string runs_text(const std::vector<CampaignRun>& runs) {
  std::set<std::string> lines;
  for (const auto& run : runs) lines.insert(run.name + ' ' + run.request.task.content_id + '\n');
  Sha256 hash;
  for (const auto& line : lines) hash.update(line);
  constexpr std::size_t k_shown_digits = 8;
  return std::to_string(runs.size()) + " with the id " + hash.finish_hex().substr(0, k_shown_digits);
}

/// The different values of each option of the runs. All runs share few policies and models.
std::map<std::string, std::set<std::string>> options_of_runs(const std::vector<CampaignRun>& runs) {
  std::map<std::string, std::set<std::string>> options;
  for (const auto& run : runs) {
    options["target"].emplace(to_string(run.request.target));
    options["model"].insert(run.backends.llm.identity());
    options["policy"].insert(run.policy.name());
    for (const auto kind : k_prompt_kinds) options["prices"].insert(price_text(highest_prices_of(run.request, kind)));
    for (const auto& [name, value] : options_of(run.request, run.policy)) options["option " + name].insert(value);
  }
  return options;
}

}  // namespace

CampaignTerms terms_of(const CampaignRequest& request) {
  const auto& limits = request.limits;
  const auto limit = [](const char* what) { return std::string("limit of ") + what; };
  const auto seconds = limits.time ? std::optional(limits.time->count()) : std::nullopt;
  CampaignTerms terms{{limit("requests"), limit_text(limits.requests)},
                      {limit("tokens"), limit_text(limits.tokens)},
                      {limit("cost"), limit_text(limits.cost)},
                      {limit("seconds"), limit_text(seconds)},
                      {"kernelgen", std::string(version())}};
  // Only a budget is one of certain runs.
  if (!limits.empty()) terms.emplace_back("runs", runs_text(request.runs));
  for (const auto& [name, values] : options_of_runs(request.runs))
    terms.emplace_back(name, to_text(std::vector<std::string>(values.begin(), values.end())));
  return terms;
}

}  // namespace v0
}  // namespace kernelgen
