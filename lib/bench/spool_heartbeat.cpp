#include "bench/spool_heartbeat.hpp"

#include <unistd.h>

#include <array>
#include <utility>

#include <kernelgen/core/version.hpp>

#include "exec/process_identity.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/shared_directory.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view k_suffix = ".worker.json";
constexpr std::string_view k_client_suffix = ".client.json";
constexpr std::size_t k_max_bytes = 1u << 20;
constexpr std::size_t k_max_text = 200;

std::int64_t milliseconds_since(steady_clock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - then).count();
}

std::string host_name() {
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

std::string text_of(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? sanitize_line(std::string_view(value->get_string()), k_max_text) : "";
}

std::int64_t number_of(const boost::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

/// Reads a heartbeat file. The time since it was written is added to its durations.
std::optional<SpoolHeartbeatReport> parse(std::string_view text, milliseconds since_written) {
  const auto json = parse_json(text);
  if (!json || !json->is_object()) return std::nullopt;
  const auto& object = json->get_object();
  SpoolHeartbeatReport report;
  report.process = text_of(object, "process");
  report.worker = {.host = text_of(object, "host"),
                   .pid = static_cast<int>(number_of(object, "pid")),
                   .kernelgen_version = text_of(object, "kernelgen_version"),
                   .jobs = static_cast<int>(number_of(object, "jobs")),
                   .serving = milliseconds(number_of(object, "serving_ms")) + since_written,
                   .silent = since_written};
  if (const auto* list = object.if_contains("holders"); list != nullptr && list->is_array())
    for (const auto& holder : list->get_array())
      if (holder.is_string()) report.holders.emplace(holder.get_string());
  if (const auto* list = object.if_contains("judging"); list != nullptr && list->is_array())
    for (const auto& entry : list->get_array())
      if (entry.is_object())
        report.judged[text_of(entry.get_object(), "holder")] =
            milliseconds(number_of(entry.get_object(), "judging_ms")) + since_written;
  return report;
}

/// The heartbeat files, and the time since each was written.
Result<std::vector<std::pair<std::string, milliseconds>>> list_files(const SharedDirectory& directory,
                                                                     std::string_view suffix = k_suffix) {
  KERNELGEN_TRY(const auto names, directory.names());
  KERNELGEN_TRY(const auto now, directory.now());
  std::vector<std::pair<std::string, milliseconds>> files;
  for (const auto& name : names) {
    if (name.starts_with('.') || !name.ends_with(suffix)) continue;
    KERNELGEN_TRY(const auto file, directory.status(name));
    if (file) files.emplace_back(name, std::chrono::duration_cast<milliseconds>(now - file->modified));
  }
  return files;
}

}  // namespace

SpoolHeartbeat::SpoolHeartbeat(const std::filesystem::path& directory, int jobs)
    : path_(directory / (make_holder_name() + std::string(k_suffix))), jobs_(jobs), process_(process_identity()) {
  renew();
}

SpoolHeartbeat::~SpoolHeartbeat() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void SpoolHeartbeat::add_holder(const std::string& holder) {
  const std::scoped_lock lock(mutex_);
  holders_.insert(holder);
  write();
}

void SpoolHeartbeat::begin(const std::string& id, const std::string& holder) {
  const std::scoped_lock lock(mutex_);
  judged_[id] = {holder, steady_clock::now()};
  write();
}

void SpoolHeartbeat::end(const std::string& id) {
  const std::scoped_lock lock(mutex_);
  judged_.erase(id);
  write();
}

void SpoolHeartbeat::renew() {
  const std::scoped_lock lock(mutex_);
  write();
}

void SpoolHeartbeat::write() {
  boost::json::array judging, holders;
  for (const auto& holder : holders_) holders.emplace_back(holder);
  for (const auto& [id, judged] : judged_)
    judging.push_back({{"id", id}, {"holder", judged.holder}, {"judging_ms", milliseconds_since(judged.began)}});
  const auto text = to_pretty_json(boost::json::object{{"schema", 1},
                                                       {"host", host_name()},
                                                       {"pid", ::getpid()},
                                                       {"process", process_},
                                                       {"kernelgen_version", version()},
                                                       {"jobs", jobs_},
                                                       {"serving_ms", milliseconds_since(began_)},
                                                       {"holders", std::move(holders)},
                                                       {"judging", std::move(judging)}});
  // The file need not survive a power failure, because the process does not either.
  [[maybe_unused]] const auto written = write_file_atomic(path_, text, {.durability = Durability::Rename});
}

std::string client_heartbeat_name(const std::string& client) { return client + std::string(k_client_suffix); }

Result<std::unique_ptr<ClientHeartbeat>> ClientHeartbeat::begin(const std::filesystem::path& directory,
                                                                milliseconds lease) {
  std::unique_ptr<ClientHeartbeat> heartbeat(new ClientHeartbeat(directory, make_holder_name()));
  KERNELGEN_CHECK(heartbeat->write());
  heartbeat->thread_ = std::jthread([lease, self = heartbeat.get()](const std::stop_token& done) {
    while (sleep_for(lease / 4, done)) {
      const auto shared = SharedDirectory::open(self->path_.parent_path());
      if (!shared) continue;
      const auto touched = shared->touch(self->path_.filename().string());
      // The file may have been tidied away.
      if (touched && !*touched) [[maybe_unused]]
        const auto written = self->write();
    }
  });
  return heartbeat;
}

ClientHeartbeat::ClientHeartbeat(const std::filesystem::path& directory, std::string name)
    : name_(std::move(name)), path_(directory / client_heartbeat_name(name_)) {}

ClientHeartbeat::~ClientHeartbeat() {
  thread_ = {};
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

Result<void> ClientHeartbeat::write() const {
  const auto text = to_pretty_json(
      boost::json::object{{"schema", 1}, {"host", host_name()}, {"pid", ::getpid()}, {"kernelgen_version", version()}});
  return write_file_atomic(path_, text, {.durability = Durability::Rename});
}

Result<std::vector<SpoolHeartbeatReport>> read_heartbeats(const std::filesystem::path& path) {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(path));
  KERNELGEN_TRY(const auto files, list_files(directory));
  std::vector<SpoolHeartbeatReport> reports;
  for (const auto& [name, since_written] : files) {
    const auto text = directory.read(name, k_max_bytes);
    // The file is gone if its worker has just ended.
    if (!text || !*text) continue;
    auto report = parse(**text, since_written);
    if (!report) continue;
    report->name = name;
    reports.push_back(*std::move(report));
  }
  return reports;
}

Result<void> release_ended_workers(const FileExchange& exchange) {
  KERNELGEN_TRY(const auto reports, read_heartbeats(exchange.options().directory));
  for (const auto& report : reports) {
    if (!has_certainly_ended(report.process)) continue;
    for (const auto& holder : report.holders) KERNELGEN_CHECK(exchange.give_back_of(holder));
    KERNELGEN_TRY(const auto directory, SharedDirectory::open(exchange.options().directory));
    KERNELGEN_CHECK(directory.remove(report.name));
  }
  return {};
}

Result<void> remove_dead_heartbeats(const std::filesystem::path& path, milliseconds lease) {
  KERNELGEN_TRY(const auto directory, SharedDirectory::open(path));
  KERNELGEN_TRY(const auto files, list_files(directory));
  for (const auto& [name, since_written] : files)
    if (since_written > lease) KERNELGEN_CHECK(directory.remove(name));
  // A client's file is renewed by touching it alone. Removed too early, it would end workers.
  constexpr int k_client_leases = 10;
  KERNELGEN_TRY(const auto clients, list_files(directory, k_client_suffix));
  for (const auto& [name, since_written] : clients)
    if (since_written > k_client_leases * lease) KERNELGEN_CHECK(directory.remove(name));
  return {};
}

}  // namespace v0
}  // namespace kernelgen
