#include <fmt/format.h>

#include <utility>

#include <kernelgen/report/report.hpp>

#include "report/csv.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Nothing where nobody said a number: an unknown is no zero.
std::string to_cell(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : ""; }
std::string cost_cell(const std::optional<double>& cost) { return cost ? fmt::format("{:.6f}", *cost) : ""; }
std::string seconds_cell(double seconds) { return fmt::format("{:.3f}", seconds); }

std::string header() {
  return csv_row({"timestamp", "round_idx", "call_type", "input_tokens", "output_tokens", "total_tokens", "task",
                  "action", "model", "latency_s", "cost", "cached_tokens", "reasoning_tokens", "finish_reason",
                  "status", "run"});
}

std::string request_row(const RunReport& run, const RequestReport& request) {
  const auto total = usage_of({request}).total_tokens();
  return csv_row({request.time, std::to_string(request.number), std::string(to_string(request.kind)),
                  to_cell(request.usage.input_tokens), to_cell(request.usage.output_tokens), to_cell(total), run.task,
                  request.action_id, request.model,
                  request.latency_seconds ? seconds_cell(*request.latency_seconds) : "", cost_cell(request.cost),
                  to_cell(request.usage.cached_tokens), to_cell(request.usage.reasoning_tokens),
                  request.finish ? std::string(to_string(*request.finish)) : "", std::string(to_string(request.status)),
                  run.name});
}

std::string sum_row(const std::string& label, const std::string& task, const std::vector<RequestReport>& requests) {
  const auto usage = usage_of(requests);
  const std::string latency = usage.answered == 0 ? "" : seconds_cell(usage.latency_seconds);
  return csv_row({label, "", "", to_cell(usage.tokens.input_tokens), to_cell(usage.tokens.output_tokens),
                  to_cell(usage.total_tokens()), task, "", "", latency, cost_cell(usage.cost),
                  to_cell(usage.tokens.cached_tokens), to_cell(usage.tokens.reasoning_tokens), "", "", ""});
}

}  // namespace

std::string usage_csv(const std::vector<RunReport>& runs) {
  std::string text = header();
  std::vector<RequestReport> all;
  // The runs of a task stand together.
  std::vector<std::pair<std::string, std::vector<RequestReport>>> tasks;
  for (const auto& run : runs) {
    for (const auto& request : run.requests) text += request_row(run, request);
    if (tasks.empty() || tasks.back().first != run.task) tasks.emplace_back(run.task, std::vector<RequestReport>{});
    auto& of_task = tasks.back().second;
    of_task.insert(of_task.end(), run.requests.begin(), run.requests.end());
    all.insert(all.end(), run.requests.begin(), run.requests.end());
  }
  for (const auto& [task, requests] : tasks) text += sum_row("sum", task, requests);
  return text + sum_row("total", "", all);
}

}  // namespace v0
}  // namespace kernelgen
