#pragma once

/// \file
/// Heartbeat files of a spool directory: NAME.worker.json of workers, NAME.client.json of clients with workers of their
/// own (docs/protocol.md, spool directories).

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/bench/spool.hpp>

#include "support/file_exchange.hpp"

namespace kernelgen {
inline namespace v0 {

/// Writes the heartbeat file of one worker; the destructor removes it. Thread-safe. Errors of writing are ignored: the
/// worker can judge without the file, and reports a broken directory when it uses it.
class SpoolHeartbeat {
 public:
  SpoolHeartbeat(const std::filesystem::path& directory, int jobs);
  ~SpoolHeartbeat();
  SpoolHeartbeat(const SpoolHeartbeat&) = delete;
  SpoolHeartbeat& operator=(const SpoolHeartbeat&) = delete;

  /// Adds a name under which the worker will claim requests; before the first claim, so that others can give it back.
  void add_holder(const std::string& holder);
  /// Adds a request that is judged from now on, and the name of its claim.
  void begin(const std::string& id, const std::string& holder);
  void end(const std::string& id);
  /// Writes the file again, which is the heartbeat.
  void renew();

 private:
  struct Judged {
    std::string holder;
    std::chrono::steady_clock::time_point began;
  };

  void write();

  const std::filesystem::path path_;
  const int jobs_;
  const std::string process_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::set<std::string> holders_;
  std::map<std::string, Judged> judged_;
};

/// The name of the heartbeat file of a client.
[[nodiscard]] std::string client_heartbeat_name(const std::string& client);

/// Keeps the heartbeat file of a client fresh; the destructor removes it. Workers of this client end without it.
class ClientHeartbeat {
 public:
  /// Errors of writing the file.
  [[nodiscard]] static Result<std::unique_ptr<ClientHeartbeat>> begin(const std::filesystem::path& directory,
                                                                      std::chrono::milliseconds lease);
  ~ClientHeartbeat();
  ClientHeartbeat(const ClientHeartbeat&) = delete;
  ClientHeartbeat& operator=(const ClientHeartbeat&) = delete;

  /// SpoolWorkerOptions::client of its workers.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  ClientHeartbeat(const std::filesystem::path& directory, std::string name);
  [[nodiscard]] Result<void> write() const;

  const std::string name_;
  const std::filesystem::path path_;
  std::jthread thread_;
};

/// The content of a heartbeat file.
struct SpoolHeartbeatReport {
  /// Name of the file.
  std::string name;
  SpoolWorkerStatus worker;
  /// Time for which each of its requests has been judged, by the name of the claim.
  std::map<std::string, std::chrono::milliseconds> judged;
  /// The worker's process_identity(). Empty if it does not tell.
  std::string process;
  /// All names under which it claims requests.
  std::set<std::string> holders;
};

/// Reads the heartbeat files of a directory, including those of dead workers. Files with another content are skipped.
[[nodiscard]] Result<std::vector<SpoolHeartbeatReport>> read_heartbeats(const std::filesystem::path& path);

/// Gives back the requests of workers that have certainly ended, and removes their heartbeat files: their
/// leases need not be waited for.
[[nodiscard]] Result<void> release_ended_workers(const FileExchange& exchange);

/// Removes heartbeat files of workers that are older than `lease`, and those of clients that are older than ten.
[[nodiscard]] Result<void> remove_dead_heartbeats(const std::filesystem::path& path, std::chrono::milliseconds lease);

}  // namespace v0
}  // namespace kernelgen
