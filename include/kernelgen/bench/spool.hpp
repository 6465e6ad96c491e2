#pragma once

/// \file
/// Evaluations on another machine through a shared directory.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/waiting.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Options of a client of `kgen worker --spool`.
struct SpoolBenchmarkerOptions {
  /// The spool directory; created if it does not exist. Results by every process that may write there are trusted.
  std::filesystem::path directory;
  Waiting waiting = Waiting::Wait;
  /// The longest interval at which it looks for the result. At first, it looks more often.
  std::chrono::milliseconds poll{200};
  /// Time limit for one evaluation, including time in the queue; unset: none.
  std::optional<std::chrono::milliseconds> timeout;
};

/// Makes a benchmarker that writes requests to a directory and waits for results (docs/protocol.md, spool directories).
/// A request is named by its content: the same request, from a resumed run too, finds the existing result and is never
/// judged twice. An error that a worker answered, and a verdict for which the machine was too busy or that is suspect,
/// is returned once; asking again is another attempt.
///
/// Errors besides the worker's: Pending (Waiting::Return) and Timeout leave the request there for a later call;
/// Cancelled withdraws it; NotFound when the directory is gone; Protocol for a result that is none (set aside).
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_spool_benchmarker(SpoolBenchmarkerOptions options);

/// A worker that serves a spool directory, as its heartbeat file describes it.
struct SpoolWorkerStatus {
  std::string host;
  int pid = 0;
  std::string kernelgen_version;
  /// Requests that it takes at a time.
  int jobs = 0;
  /// Time since it began to serve the directory.
  std::chrono::milliseconds serving{0};
  /// Time since its last heartbeat.
  std::chrono::milliseconds silent{0};
};

/// A request of a spool directory without a result.
struct SpoolRequestStatus {
  std::string id;
  /// The name of the claim, which begins with the worker's host and process; empty: the request waits.
  std::string holder;
  /// Time since the request was asked, since its worker began with it, or since an abandoned one was last worked on.
  std::chrono::milliseconds age{0};
};

/// The status of a spool directory.
struct SpoolStatus {
  std::vector<SpoolWorkerStatus> workers{};
  /// Workers that ended without removing their heartbeat file.
  std::vector<SpoolWorkerStatus> dead_workers{};
  /// Requests without a worker, oldest first.
  std::vector<SpoolRequestStatus> waiting{};
  std::vector<SpoolRequestStatus> judged{};
  /// Requests of dead workers. The next worker that looks for requests takes them over.
  std::vector<SpoolRequestStatus> abandoned{};
  std::size_t answered = 0;
  /// Names of files that nothing reads any more. A worker removes them when it starts, and every hour.
  std::vector<std::string> leftovers{};
};

/// Looks at a spool directory without changing it. NotFound or InvalidArgument for what is no directory. `lease` is
/// that of the workers.
[[nodiscard]] Result<SpoolStatus> inspect_spool(const std::filesystem::path& directory,
                                                std::chrono::milliseconds lease = std::chrono::seconds{60});

}  // namespace v0
}  // namespace kernelgen
