#pragma once

/// \file
/// The worker: one per host, judges what clients ask for. `kgen worker` is a call of run_worker.

#include <map>
#include <stop_token>
#include <string>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Where the worker finds what it needs.
struct WorkerOptions {
  Installation installation;
  /// The Python with torch, as a path or a name on the PATH of `environment`.
  std::string python = "python3";
  /// The C++ compiler for `cpp` candidates, likewise.
  std::string compiler = "c++";
  /// Compiled candidates and admitted tasks; made when missing.
  std::string cache_dir;
  /// What compilers, judges and runners see; see clean_environment().
  std::map<std::string, std::string> environment;
  /// Measurements of all workers on this host exclude each other through a lock on this file.
  std::string device_lock = "/tmp/kernelgen.cpu0.lock";
};

/// Serves one client over two descriptors (docs/protocol.md) until it shuts down, closes its end, or `stop` is
/// triggered. Makes the calling process a child subreaper; prints nothing.
[[nodiscard]] Result<void> run_worker(const WorkerOptions& options, int input_fd, int output_fd, std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
