#include <boost/json.hpp>

#include <kernelgen/report/monitor.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace json = boost::json;

constexpr int k_monitor_schema = 1;

double seconds_of(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

template <class T>
json::value known_or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}
json::value known_or_null(const std::optional<std::chrono::milliseconds>& time) {
  return time ? json::value(seconds_of(*time)) : json::value(nullptr);
}

template <class Key>
json::object counts_json(const std::map<Key, int>& counts) {
  json::object object;
  for (const auto& [key, count] : counts) {
    if constexpr (std::is_enum_v<Key>)
      object[to_string(key)] = count;
    else
      object[to_utf8(key)] = count;
  }
  return object;
}

json::object spent_json(const ResourceUsage& spent) {
  return {{"requests", spent.requests},
          {"tokens", spent.tokens},
          {"evaluations", spent.evaluations},
          {"cost", spent.cost},
          {"seconds", seconds_of(spent.time)}};
}

json::object run_json(const MonitoredRun& run) {
  return {{"name", to_utf8(run.name)},
          {"status", to_string(run.status)},
          {"target", to_utf8(run.target)},
          {"policy", to_utf8(run.policy)},
          {"model", to_utf8(run.model)},
          {"phases", counts_json(run.phases)},
          {"best", to_utf8(run.best)},
          {"score", known_or_null(run.best_score)},
          {"finished_attempts", run.finished_attempts},
          {"failed_attempts", run.failed_attempts},
          {"max_attempts", known_or_null(run.max_attempts)},
          {"spent", spent_json(run.spent)},
          {"unanswered", run.unanswered},
          {"silent_seconds", known_or_null(run.silent)},
          {"reason", to_utf8(run.reason)}};
}

json::object watched_attempt_json(const MonitoredAttempt& attempt) {
  return {{"number", attempt.number},
          {"id", to_utf8(attempt.id)},
          {"phase", attempt.phase ? json::value(to_string(*attempt.phase)) : json::value(nullptr)},
          {"class", to_utf8(attempt.result_class)},
          {"failed", attempt.failed},
          {"score", known_or_null(attempt.score)},
          {"message", to_utf8(attempt.message)},
          {"age_seconds", seconds_of(attempt.age)}};
}

json::value remaining_json(const std::optional<RemainingTime>& remaining) {
  if (!remaining) return nullptr;
  return json::object{{"expected_seconds", seconds_of(remaining->expected)},
                      {"low_seconds", seconds_of(remaining->low)},
                      {"high_seconds", seconds_of(remaining->high)},
                      {"known_runs", remaining->known_runs}};
}

json::value spool_json(const std::optional<SpoolStatus>& spool) {
  if (!spool) return nullptr;
  json::array workers;
  for (const auto& worker : spool->workers)
    workers.push_back(json::object{{"host", to_utf8(worker.host)},
                                   {"pid", worker.pid},
                                   {"jobs", worker.jobs},
                                   {"silent_seconds", seconds_of(worker.silent)}});
  return json::object{{"workers", std::move(workers)},        {"dead_workers", spool->dead_workers.size()},
                      {"waiting", spool->waiting.size()},     {"judged", spool->judged.size()},
                      {"abandoned", spool->abandoned.size()}, {"answered", spool->answered}};
}

json::array devices_json(const std::vector<MonitoredDevice>& devices) {
  json::array array;
  for (const auto& device : devices)
    array.push_back(json::object{{"name", to_utf8(device.name)},
                                 {"evaluations", device.evaluations},
                                 {"busy_seconds", seconds_of(device.busy)},
                                 {"recent_use", device.recent_use}});
  return array;
}

json::array errors_json(const std::vector<MonitoredError>& errors) {
  json::array array;
  for (const auto& error : errors)
    array.push_back(json::object{{"kind", to_string(error.kind)},
                                 {"run", to_utf8(error.run)},
                                 {"action", to_utf8(error.action)},
                                 {"message", to_utf8(error.message)},
                                 {"age_seconds", seconds_of(error.age)}});
  return array;
}

}  // namespace

std::string monitor_json(const CampaignSnapshot& snapshot) {
  json::array runs;
  runs.reserve(snapshot.runs.size());
  for (const auto& run : snapshot.runs) runs.push_back(run_json(run));
  const auto& limits = snapshot.limits;
  return json::serialize(json::object{{"schema", k_monitor_schema},
                                      {"directory", to_utf8(snapshot.directory)},
                                      {"problem", to_utf8(snapshot.problem)},
                                      {"unread_bytes", snapshot.unread_bytes},
                                      {"counts", counts_json(snapshot.counts)},
                                      {"phases", counts_json(snapshot.phases)},
                                      {"spent", spent_json(snapshot.spent)},
                                      {"unanswered", snapshot.unanswered},
                                      {"limits", json::object{{"requests", known_or_null(limits.requests)},
                                                              {"tokens", known_or_null(limits.tokens)},
                                                              {"cost", known_or_null(limits.cost)},
                                                              {"seconds", known_or_null(limits.seconds)}}},
                                      {"requests_per_minute", snapshot.requests_per_minute},
                                      {"mean_score", known_or_null(snapshot.mean_score)},
                                      {"scored_runs", snapshot.scored_runs},
                                      {"remaining", remaining_json(snapshot.remaining)},
                                      {"devices", devices_json(snapshot.devices)},
                                      {"errors", errors_json(snapshot.errors)},
                                      {"failures", counts_json(snapshot.failures)},
                                      {"spool", spool_json(snapshot.spool)},
                                      {"spool_problem", to_utf8(snapshot.spool_problem)},
                                      {"runs", std::move(runs)}});
}

std::string monitor_run_json(const MonitoredRun& run) {
  auto object = run_json(run);
  json::array attempts;
  attempts.reserve(run.attempts.size());
  for (const auto& attempt : run.attempts) attempts.push_back(watched_attempt_json(attempt));
  object["schema"] = k_monitor_schema;
  object["omitted_attempts"] = run.omitted_attempts;
  object["attempts"] = std::move(attempts);
  return json::serialize(object);
}

}  // namespace v0
}  // namespace kernelgen
