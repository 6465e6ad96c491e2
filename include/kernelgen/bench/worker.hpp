#pragma once

/// \file
/// The worker: one per host, judges candidates for clients. `kgen worker` is a call of run_worker.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Programs, directories and environment of a worker.
struct WorkerOptions {
  Installation installation;
  /// The Python with torch, as a path or a name on the PATH of `environment`.
  std::string python = "python3";
  /// The compiler for `cpp` candidates, C ones included, as a path or a name on the same PATH.
  std::string compiler = "c++";
  /// Directory that caches compiled candidates and admitted tasks; created if it does not exist.
  std::string cache_dir;
  /// The environment of compilers, judges and runners; see clean_environment().
  std::map<std::string, std::string> environment;
  /// Measurements of all workers on this host exclude each other through a lock on this file.
  std::string device_lock = "/tmp/kernelgen.cpu0.lock";
};

/// Serves one client over two descriptors (docs/protocol.md) until it shuts down, closes its end, or `stop` is
/// triggered. Makes the calling process a child subreaper; prints nothing.
[[nodiscard]] Result<void> run_worker(const WorkerOptions& options, int input_fd, int output_fd, std::stop_token stop);

/// The end of a spool worker's service.
enum class SpoolMode {
  UntilStopped,  ///< waits for requests
  Once,          ///< answers the requests that are there, which may be none
};

/// Options for serving a directory (docs/protocol.md, spool directories).
struct SpoolWorkerOptions {
  /// The spool directory; created if it does not exist.
  std::filesystem::path directory;
  SpoolMode mode = SpoolMode::UntilStopped;
  /// Number of requests at a time. Unset: two for each GPU that is used by requests which name none, else two. Each
  /// device measures one request while others are compiled and prepared. More help where compiling takes longer than a
  /// verdict.
  std::optional<int> jobs;
  /// The longest interval at which it looks for requests. Right after work, it looks more often.
  std::chrono::milliseconds poll{500};
  /// Time without a heartbeat after which another worker may take over a request. All workers of a directory must use
  /// the same value, and it must be longer than the file system may show old times.
  std::chrono::milliseconds lease{60'000};
  /// Time without requests after which it ends; unset: it does not.
  std::optional<std::chrono::milliseconds> idle_limit{};
  /// The client that it works for, by the name of its heartbeat file, NAME.client.json. It gives its requests back and
  /// ends when the file is gone or was not renewed for a lease. Empty: for all clients.
  std::string client{};
  /// Called after each answer, one call at a time, from any thread, with the request's id and its result: "correct",
  /// "accuracy:mismatch", "error: ...", and after which lost workers.
  std::function<void(const std::string& id, const std::string& summary)> on_answer;
};

/// Serves requests that are files, oldest first. A request that cannot be judged gets an error for its answer, and so
/// does one during which three workers were lost. When `stop` is triggered, unfinished requests go back for another
/// worker: Cancelled with SpoolMode::Once, else success. Other errors: this machine cannot judge at all (no torch), or
/// the directory cannot be used any more; unfinished requests go back. Otherwise like run_worker.
[[nodiscard]] Result<void> run_spool_worker(const WorkerOptions& options, const SpoolWorkerOptions& spool,
                                            std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
