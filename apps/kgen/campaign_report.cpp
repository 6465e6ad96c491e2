#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <map>

#include "campaign_display.hpp"
#include "layout.hpp"
#include "run_status.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_reason = 300;

/// A row of the table. The name takes what the other columns leave.
std::string table_row(const std::string& name, std::size_t name_width, const std::string& status,
                      const std::string& score, const std::string& steps, const std::string& requests,
                      const std::string& tokens, const std::string& time) {
  return fmt::format("{:<{}} {:<16} {:>8} {:>7} {:>8} {:>8} {:>8}\n", cut_to_width(name, name_width), name_width,
                     status, score, steps, requests, tokens, time);
}

std::size_t width_of_names(const CampaignOutcome& outcome, std::size_t width) {
  constexpr std::size_t k_other_columns = 62, k_least = 8;
  std::size_t longest = k_least;
  for (const auto& run : outcome.runs) longest = std::max(longest, count_characters(run.name));
  if (width == 0) return longest;
  return std::min(longest, std::max(k_least, width > k_other_columns ? width - k_other_columns : 0));
}

/// Why runs are not over, each reason once with the number of runs or the name of the only one.
std::string explain_unfinished(const CampaignOutcome& outcome) {
  std::map<std::string, std::vector<std::string>> names;
  std::vector<std::string> order;
  for (const auto& run : outcome.runs) {
    // A busy run is left out here: the last line says how many another kgen has, and names one of them.
    if (is_over(run.status) || run.status == CampaignRunStatus::Busy || run.reason.empty()) continue;
    auto& list = names[run.reason];
    if (list.empty()) order.push_back(run.reason);
    list.push_back(run.name);
  }
  std::string text;
  for (const auto& reason : order) {
    const auto& list = names[reason];
    text += (list.size() == 1 ? list.front() : fmt::format("{} runs", list.size())) + ": " +
            sanitize_line(reason, k_max_reason) + '\n';
  }
  return text;
}

std::string describe_sums(const CampaignOutcome& outcome) {
  std::vector<std::string> counts;
  for (const auto& [status, count] : outcome.counts()) counts.push_back(fmt::format("{} {}", count, to_string(status)));
  const auto& spent = outcome.spent;
  auto text = fmt::format("{} run{}: {}\n{} request{}, {} tokens, {} evaluation{}, ", outcome.runs.size(),
                          outcome.runs.size() == 1 ? "" : "s", join(counts, ", "), spent.requests,
                          spent.requests == 1 ? "" : "s", format_count(spent.tokens), spent.evaluations,
                          spent.evaluations == 1 ? "" : "s");
  if (spent.cost > 0) text += fmt::format("cost {:.2f}, ", spent.cost);
  return text + format_duration(spent.time) + '\n';
}

template <class T>
boost::json::value value_or_null(const std::optional<T>& value) {
  return value ? boost::json::value(*value) : boost::json::value(nullptr);
}

double seconds_in(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

boost::json::object usage_object(const ResourceUsage& usage) {
  return {{"requests", usage.requests},
          {"tokens", usage.tokens},
          {"evaluations", usage.evaluations},
          {"cost", usage.cost},
          {"seconds", seconds_in(usage.time)}};
}

boost::json::object run_object(const CampaignRunSummary& run) {
  boost::json::object object;
  object["run"] = run.name;
  object["directory"] = run.directory.string();
  object["status"] = to_string(run.status);
  object["target"] = to_string(run.target);
  object["model"] = run.model;
  object["best"] = value_or_null(run.best.empty() ? std::nullopt : std::optional(run.best));
  object["score"] = value_or_null(run.best_score);
  object["steps"] = run.finished_actions;
  object["spent"] = usage_object(run.spent);
  object["reason"] = run.reason;
  object["error"] = value_or_null(run.error ? std::optional(to_string(run.error->code)) : std::nullopt);
  return object;
}

std::string whole(const std::optional<double>& number) {
  return number ? fmt::format("{:.0f}", *number) : std::string("-");
}
std::string money(const std::optional<double>& number) {
  return number ? fmt::format("{:.2f}", *number) : std::string("-");
}
std::string time_text(const std::optional<double>& seconds) {
  constexpr double k_milliseconds = 1000;
  return seconds ? format_duration(std::chrono::milliseconds(static_cast<std::int64_t>(*seconds * k_milliseconds)))
                 : std::string("-");
}

std::string estimate_row(const char* name, const std::string& expected, const std::string& most,
                         const std::string& limit) {
  return fmt::format("{:<16} {:>16} {:>16} {:>16}\n", name, expected, most, limit);
}

/// From what the numbers follow.
std::string explain_estimate(const CampaignEstimate& estimate) {
  auto text = estimate.known_runs > 0
                  ? fmt::format("expected: from {} run{} that {} over\n", estimate.known_runs,
                                estimate.known_runs == 1 ? "" : "s", estimate.known_runs == 1 ? "is" : "are")
                  : std::string("expected: unknown until a run is over\n");
  if (estimate.selected == 0) return text;
  std::vector<std::string> bounds;
  bounds.push_back(estimate.max_actions ? fmt::format("{} request{} for a run", *estimate.max_actions,
                                                      *estimate.max_actions == 1 ? "" : "s")
                                        : "a policy without a bound");
  if (estimate.prompt_tokens)
    bounds.push_back(fmt::format("prompts like the first, of {} tokens", *estimate.prompt_tokens));
  bounds.push_back(estimate.reply_tokens ? fmt::format("replies of {} tokens", *estimate.reply_tokens)
                                         : "replies without a limit (--max-output-tokens)");
  return text + "at most: " + join(bounds, ", ") + '\n';
}

/// An amount of requests or tokens, as whole numbers.
boost::json::object count_object(const ExpectedAmount& amount) {
  const auto whole_number = [](const std::optional<double>& number) -> boost::json::value {
    return number ? boost::json::value(std::llround(*number)) : boost::json::value(nullptr);
  };
  return {{"expected", whole_number(amount.expected)}, {"most", whole_number(amount.most)}};
}

boost::json::object amount_object(const ExpectedAmount& amount) {
  return {{"expected", value_or_null(amount.expected)}, {"most", value_or_null(amount.most)}};
}

}  // namespace

std::string render_campaign(const CampaignOutcome& outcome, const Terminal& terminal) {
  const auto width = width_of_names(outcome, terminal.interactive ? terminal.width : 0);
  auto text = table_row("run", width, "status", "score", "steps", "requests", "tokens", "time");
  for (const auto& run : outcome.runs)
    text += table_row(run.name, width, std::string(to_string(run.status)), format_score(run.best_score),
                      std::to_string(run.finished_actions), std::to_string(run.spent.requests),
                      format_count(run.spent.tokens), format_clock(run.spent.time));
  return text + explain_unfinished(outcome) + describe_sums(outcome);
}

std::string campaign_to_json(const CampaignOutcome& outcome) {
  boost::json::array runs;
  for (const auto& run : outcome.runs) runs.push_back(run_object(run));
  boost::json::object counts;
  for (const auto& [status, count] : outcome.counts()) counts[to_string(status)] = count;
  return to_pretty_json(boost::json::object{{"runs", std::move(runs)},
                                            {"counts", std::move(counts)},
                                            {"spent", usage_object(outcome.spent)},
                                            {"interrupted", outcome.cancelled}});
}

std::string render_estimate(const CampaignEstimate& estimate, const CampaignLimits& limits) {
  std::vector<std::string> counts;
  int runs = 0;
  for (const auto& [status, count] : estimate.counts) {
    counts.push_back(fmt::format("{} {}", count, to_string(status)));
    runs += count;
  }
  auto text = fmt::format("{} run{}: {}; {} would be taken up\n\n", runs, runs == 1 ? "" : "s", join(counts, ", "),
                          estimate.selected);
  const auto number = [](const auto& limit) {
    return whole(limit ? std::optional(static_cast<double>(*limit)) : std::nullopt);
  };
  text += estimate_row("", "expected", "at most", "limit");
  text += estimate_row("requests", whole(estimate.requests.expected), whole(estimate.requests.most),
                       number(limits.requests));
  text += estimate_row("tokens", whole(estimate.tokens.expected), whole(estimate.tokens.most), number(limits.tokens));
  text += estimate_row("cost", money(estimate.cost.expected), money(estimate.cost.most), money(limits.cost));
  text += estimate_row("device time", time_text(estimate.device_seconds.expected),
                       time_text(estimate.device_seconds.most), "-");
  text += estimate_row("duration", time_text(estimate.seconds.expected), time_text(estimate.seconds.most),
                       limits.time ? format_duration(*limits.time) : "-");
  return text + '\n' + explain_estimate(estimate) + "nothing was sent, and nothing was judged\n";
}

std::string estimate_to_json(const CampaignEstimate& estimate) {
  boost::json::object counts;
  for (const auto& [status, count] : estimate.counts) counts[to_string(status)] = count;
  return to_pretty_json(boost::json::object{{"counts", std::move(counts)},
                                            {"selected", estimate.selected},
                                            {"requests", count_object(estimate.requests)},
                                            {"tokens", count_object(estimate.tokens)},
                                            {"cost", amount_object(estimate.cost)},
                                            {"device_seconds", amount_object(estimate.device_seconds)},
                                            {"seconds", amount_object(estimate.seconds)},
                                            {"known_runs", estimate.known_runs},
                                            {"max_actions", value_or_null(estimate.max_actions)},
                                            {"prompt_tokens", value_or_null(estimate.prompt_tokens)},
                                            {"reply_tokens", value_or_null(estimate.reply_tokens)}});
}

}  // namespace kernelgen::cli
