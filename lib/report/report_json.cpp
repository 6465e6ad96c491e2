#include "report/report_json.hpp"

#include <utility>

namespace kernelgen {
inline namespace v0 {

namespace json = boost::json;

std::string last_failure_class(const RunReport& run) {
  if (run.status == RunStatus::Damaged) return std::string(to_string(run.status));
  for (auto attempt = run.attempts.rbegin(); attempt != run.attempts.rend(); ++attempt)
    if (attempt->failed()) return attempt->result_class;
  return std::string(k_no_failure);
}

json::object counts_to_json(const std::map<std::string, int>& counts) {
  json::object object;
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}

json::object to_json_object(const TimeFigures& time) {
  return {{"model_s", time.model},
          {"compiling_s", time.evaluations.compiling},
          {"waiting_s", time.evaluations.waiting},
          {"starting_s", time.evaluations.starting},
          {"judging_s", time.evaluations.judging},
          {"evaluation_median_s", or_null(time.median)},
          {"evaluation_upper_decile_s", or_null(time.upper_decile)}};
}

json::object to_json_object(const UsageReport& usage) {
  return {{"requests", usage.requests},
          {"answered", usage.answered},
          {"failed", usage.failed},
          {"deferred", usage.deferred},
          {"unknown", usage.unknown},
          {"input_tokens", or_null(usage.tokens.input_tokens)},
          {"output_tokens", or_null(usage.tokens.output_tokens)},
          {"total_tokens", or_null(usage.total_tokens())},
          {"cached_tokens", or_null(usage.tokens.cached_tokens)},
          {"reasoning_tokens", or_null(usage.tokens.reasoning_tokens)},
          {"latency_s", usage.latency_seconds},
          {"cost", or_null(usage.cost)}};
}

namespace {

/// nullptr without a best kernel, or without its score.
const Ratio* score_of_run(const RunReport& run) { return run.best && run.best->score ? &*run.best->score : nullptr; }

json::value part(const Ratio* score, double Ratio::*member) { return score ? json::value(score->*member) : nullptr; }

}  // namespace

json::object run_to_json(const RunReport& run) {
  json::object object;
  object["task"] = run.task;
  object["run"] = run.name;
  object["status"] = to_string(run.status);
  object["target"] = run.target;
  object["policy"] = run.policy;
  object["model"] = run.model;
  const auto* score = score_of_run(run);
  object["best"] = run.best ? json::value(run.best->id) : json::value(nullptr);
  object["score"] = part(score, &Ratio::value);
  object["score_low"] = part(score, &Ratio::low);
  object["score_high"] = part(score, &Ratio::high);
  object["reference_ms"] = run.best ? or_null(run.best->reference_ms) : json::value(nullptr);
  object["kernel_ms"] = run.best ? or_null(run.best->kernel_ms) : json::value(nullptr);
  object["attempts"] = run.attempts.size();
  object["evaluations"] = run.evaluations;
  object["requests"] = run.requests.size();
  object["tokens"] = or_null(usage_of(run.requests).total_tokens());
  object["minutes"] = run.minutes;
  object["reason"] = run.reason;
  return object;
}

json::object statistics_to_json(const Totals& totals) {
  json::object object;
  object["runs"] = totals.runs;
  for (const auto status :
       {RunStatus::Success, RunStatus::Partial, RunStatus::Failed, RunStatus::Unfinished, RunStatus::Damaged}) {
    const auto found = totals.by_status.find(status);
    object[to_string(status)] = found == totals.by_status.end() ? 0 : found->second;
  }
  object["success_percent"] = totals.success_percent;
  object["correct_percent"] = totals.correct_percent;
  object["mean"] = totals.mean;
  object["mean_scored"] = or_null(totals.mean_scored);
  object["geometric_mean"] = or_null(totals.geometric_mean);
  object["lower_quartile"] = or_null(totals.lower_quartile);
  object["median"] = or_null(totals.median);
  object["upper_quartile"] = or_null(totals.upper_quartile);
  object["fast_1"] = totals.fast_1;
  return object;
}

}  // namespace v0
}  // namespace kernelgen
