#include "report/cached_run_report.hpp"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/core/version.hpp>
#include <kernelgen/store/journal.hpp>

#include "core/json_codec.hpp"
#include "report/report_names.hpp"
#include "support/files.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(RequestReport, (),
                      (time, number, action_id, kind, status, model, endpoint, usage, latency_seconds, finish, cost))
BOOST_DESCRIBE_STRUCT(AttemptReport, (),
                      (number, id, kind, status, result_class, error_class, score, message, recurrence, code_file))
BOOST_DESCRIBE_STRUCT(BestReport, (), (id, score, reference_ms, kernel_ms, recurrence, labels, headroom, code_file))
BOOST_DESCRIBE_STRUCT(RunReport, (),
                      (task, name, status, target, policy, model, content_id, device, precision, best, attempts,
                       requests, evaluations, minutes, reason))

namespace {

namespace fs = std::filesystem;

/// Raised when the computation of a report changes.
constexpr int k_cache_schema = 2;

fs::path cache_file(const fs::path& directory) { return directory / ".report.json"; }

/// Identifies the content of the journal and the version that reads it. Nothing for a missing journal.
std::optional<std::string> state_of(const fs::path& directory) {
  std::error_code error;
  const auto journal = directory / "events.jsonl";
  const auto bytes = fs::file_size(journal, error);
  if (error) return std::nullopt;
  const auto time = fs::last_write_time(journal, error);
  if (error) return std::nullopt;
  return fmt::format("row {}, kernelgen {}, {} bytes, written {}", k_cache_schema, version(), bytes,
                     time.time_since_epoch().count());
}

/// The report in the text of a cache file; nothing when the file belongs to another state of the journal.
std::optional<RunReport> parse_cached_report(std::string_view text, const std::string& state) {
  const auto json = parse_json(text);
  const auto* object = json ? json->if_object() : nullptr;
  const auto* kept_state = object == nullptr ? nullptr : object->if_contains("journal");
  const auto* kept = object == nullptr ? nullptr : object->if_contains("report");
  if (kept_state == nullptr || kept == nullptr || *kept_state != boost::json::string(state)) return std::nullopt;
  auto report = from_value<RunReport>(*kept);
  return report ? std::optional(*std::move(report)) : std::nullopt;
}

RunReport damaged(const RunLocation& location, const Error& error) {
  RunReport run;
  run.task = location.task;
  run.name = location.name;
  run.status = RunStatus::Damaged;
  run.reason = error.to_line();
  return run;
}

}  // namespace

CachedRunReport load_or_build_report(const RunLocation& location) {
  // The state is read first: an event that is appended meanwhile makes the file out of date, not wrong.
  const auto state = state_of(location.directory).value_or("");
  const auto text = read_file(cache_file(location.directory));
  auto kept = text ? parse_cached_report(*text, state) : std::nullopt;
  if (kept) {
    kept->task = location.task;
    kept->name = location.name;
    return {location, *std::move(kept), ""};
  }
  const auto events = read_run_events(location.directory);
  if (!events) return {location, damaged(location, events.error()), ""};
  auto run = report_run(location.task, location.name, *events);
  auto text_to_store = boost::json::serialize(boost::json::object{{"journal", state}, {"report", to_value(run)}});
  // Numbers change in their last digit when they are written and read. The report must not depend on whether it
  // was stored, so it is read back here, too.
  if (auto read_back = parse_cached_report(text_to_store, state)) run = *std::move(read_back);
  return {location, std::move(run), std::move(text_to_store)};
}

void store_report(const CachedRunReport& report) {
  if (report.text_to_store.empty()) return;
  static_cast<void>(write_file_atomic(cache_file(report.location.directory), report.text_to_store,
                                      {.durability = Durability::Rename}));
}

}  // namespace v0
}  // namespace kernelgen
