#pragma once

/// \file
/// Workers that a client starts through commands such as `srun` and `ssh`, and that serve its spool directory.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Workers that are started by the same command.
struct WorkerLaunch {
  /// The command, put before the worker's own command line: {"ssh", "node"}. Empty: on this machine.
  /// Behind ssh, that command line is quoted for the shell there.
  std::vector<std::string> prefix;
  int count = 1;
};

/// Reads "ssh node1" or "8 x srun --exclusive -n1 --gres=gpu:1". Words are split as a shell would split them; no shell
/// is involved. InvalidArgument for a text without a command, an open quote, and a count that is not 1 to 1024.
[[nodiscard]] Result<WorkerLaunch> parse_worker_launch(std::string_view text);

/// Options of a benchmarker that starts its workers.
struct LaunchedWorkersOptions {
  Installation installation;
  std::vector<WorkerLaunch> launches;
  /// The spool directory, at the same place for all workers. Other workers may serve it as well.
  std::filesystem::path directory;
  /// The Python with torch, where the workers run; empty: python3 on the path there.
  std::string python{};
  /// Directory that caches compiled candidates and admitted tasks, where the workers run.
  std::string cache_dir{};
  /// Time without a heartbeat of this process after which its workers end, and without one of a worker after which
  /// another one takes over its requests.
  std::chrono::milliseconds lease{60'000};
  /// Time before a worker that ended is started again; twice as long after each further time, up to `longest_pause`,
  /// and the same again after an answer of any worker.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds longest_pause{300'000};
  /// Called with a line for people when a worker ended by itself; by any thread, one call at a time.
  std::function<void(const std::string& line)> on_note{};
  /// Called at most once, by any thread, when the workers are given up.
  std::function<void(const Error& error)> on_failure{};
};

/// Makes a benchmarker that starts workers at its first evaluation and sends all evaluations through the spool
/// directory, so that each goes to the worker that is free first. A worker that ends is started again. They are told to
/// end with the benchmarker, and end by themselves when its process is gone.
///
/// Errors besides those of make_spool_benchmarker(): MissingTool for a command that is not installed; Unavailable when
/// each worker ended three times since the last answer and no other worker serves the directory: then the workers are
/// given up, and every evaluation has this error, which repeats the last line that a worker wrote.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_launched_workers(LaunchedWorkersOptions options);

}  // namespace v0
}  // namespace kernelgen
