#include <fmt/format.h>

#include <kernelgen/report/report.hpp>

#include "report/csv.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Empty for an unknown number, which is not zero.
std::string to_cell(const std::optional<std::int64_t>& number) { return number ? std::to_string(*number) : ""; }
std::string cost_cell(const std::optional<double>& cost) { return cost ? fmt::format("{:.6f}", *cost) : ""; }
std::string seconds_cell(double seconds) { return fmt::format("{:.3f}", seconds); }

std::string header() {
  return csv_row({"timestamp",
                  "round_idx",
                  "call_type",
                  "input_tokens",
                  "output_tokens",
                  "total_tokens",
                  "task",
                  "action",
                  "model",
                  "latency_s",
                  "cost",
                  "cached_tokens",
                  "reasoning_tokens",
                  "finish_reason",
                  "status",
                  "run",
                  "endpoint",
                  "first_output_s",
                  "cache_write_tokens",
                  "request_id",
                  "identity",
                  "left_out"});
}

std::string request_row(const RunReport& run, const RequestReport& request) {
  const auto total = usage_of({request}).total_tokens();
  return csv_row({request.time,
                  std::to_string(request.number),
                  std::string(to_string(request.kind)),
                  to_cell(request.usage.input_tokens),
                  to_cell(request.usage.output_tokens),
                  to_cell(total),
                  run.task,
                  request.action_id,
                  request.model,
                  request.latency_seconds ? seconds_cell(*request.latency_seconds) : "",
                  cost_cell(request.cost),
                  to_cell(request.usage.cached_tokens),
                  to_cell(request.usage.reasoning_tokens),
                  request.finish ? std::string(to_string(*request.finish)) : "",
                  std::string(to_string(request.status)),
                  run.name,
                  request.endpoint,
                  request.first_output_seconds ? seconds_cell(*request.first_output_seconds) : "",
                  to_cell(request.usage.cache_write_tokens),
                  request.request_id,
                  request.identity,
                  request.left_out});
}

}  // namespace

std::string usage_csv(const std::vector<RunReport>& runs) {
  std::string text = header();
  for (const auto& run : runs)
    for (const auto& request : run.requests) text += request_row(run, request);
  return text;
}

}  // namespace v0
}  // namespace kernelgen
