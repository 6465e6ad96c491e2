#include "report/cached_run_report.hpp"

#include <boost/json.hpp>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/core/version.hpp>
#include <kernelgen/store/journal.hpp>

#include "core/json_codec.hpp"
#include "report/report_names.hpp"
#include "report/run_details.hpp"
#include "support/base64.hpp"
#include "support/deflate.hpp"
#include "support/files.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(RequestReport, (),
                      (time, number, action_id, kind, status, model, endpoint, usage, latency_seconds, finish, cost,
                       first_output_seconds, request_id, identity, left_out))
BOOST_DESCRIBE_STRUCT(EvaluationTime, (), (compiling, waiting, starting, judging))
BOOST_DESCRIBE_STRUCT(AttemptReport, (),
                      (number, id, kind, status, result_class, error_class, score, message, recurrence, code_file,
                       time))
BOOST_DESCRIBE_STRUCT(BestReport, (), (id, score, reference_ms, kernel_ms, recurrence, labels, headroom, code_file))
BOOST_DESCRIBE_STRUCT(RunReport, (),
                      (task, name, status, target, policy, model, content_id, device, precision, level, families, best,
                       attempts, requests, evaluations, minutes, reason))

namespace {

namespace fs = std::filesystem;

/// Raised when the computation of a report or of its details changes.
constexpr int k_cache_schema = 6;

fs::path cache_file(const fs::path& directory) { return directory / ".report.json"; }
/// The state of the journal on the first line, the details on the second.
fs::path details_file(const fs::path& directory) { return directory / ".details"; }

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

bool is_base64(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") == text.npos;
}

/// The details in the text of their file; nothing when the file belongs to another state of the journal.
std::optional<std::string> parse_details(std::string_view text, const std::string& state) {
  if (state.empty() || !text.starts_with(state + '\n') || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(state.size() + 1);
  if (text.empty()) return std::nullopt;
  text.remove_suffix(1);
  // It goes into a page as it is, and may come from another machine.
  return is_base64(text) ? std::optional<std::string>(text) : std::nullopt;
}

void build_details(const std::vector<Event>& events, const std::string& state, CachedRunReport& report) {
  const auto compressed = deflate_bytes(run_details(report.run, events));
  if (!compressed) return;
  report.details = to_base64(*compressed);
  report.details_to_store = state + '\n' + report.details + '\n';
}

/// Takes what was kept of the report, as far as it is up to date; true if that is all that is wanted.
bool load_kept(const std::string& state, Details details, CachedRunReport& report) {
  const auto& directory = report.location.directory;
  const auto text = read_file(cache_file(directory));
  auto kept = text ? parse_cached_report(*text, state) : std::nullopt;
  if (!kept) return false;
  report.run = *std::move(kept);
  report.run.task = report.location.task;
  report.run.name = report.location.name;
  if (details == Details::Left) return true;
  const auto details_text = read_file(details_file(directory));
  auto kept_details = details_text ? parse_details(*details_text, state) : std::nullopt;
  if (!kept_details) return false;
  report.details = *std::move(kept_details);
  return true;
}

}  // namespace

CachedRunReport load_or_build_report(const RunLocation& location, Details details) {
  // The state is read first: an event that is appended meanwhile makes the file out of date, not wrong.
  const auto state = state_of(location.directory).value_or("");
  CachedRunReport report{.location = location};
  if (load_kept(state, details, report)) return report;
  const auto events = read_run_events(location.directory);
  if (!events) return {.location = location, .run = damaged(location, events.error())};
  report.run = report_run(location.task, location.name, *events);
  report.text_to_store =
      boost::json::serialize(boost::json::object{{"journal", state}, {"report", to_value(report.run)}});
  // Numbers change in their last digit when they are written and read. The report must not depend on whether it
  // was stored, so it is read back here, too.
  if (auto read_back = parse_cached_report(report.text_to_store, state)) report.run = *std::move(read_back);
  if (details == Details::Shown) build_details(*events, state, report);
  return report;
}

void store_report(const CachedRunReport& report) {
  const auto store = [](const fs::path& file, const std::string& text) {
    if (!text.empty()) static_cast<void>(write_file_atomic(file, text, {.durability = Durability::Rename}));
  };
  store(details_file(report.location.directory), report.details_to_store);
  store(cache_file(report.location.directory), report.text_to_store);
}

}  // namespace v0
}  // namespace kernelgen
