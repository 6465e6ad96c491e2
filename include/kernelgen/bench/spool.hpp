#pragma once

/// \file
/// Evaluations on a machine that is joined to this one by files only.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/waiting.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Where `kgen worker --spool` looks for requests.
struct SpoolBenchmarkerOptions {
  /// Made when missing. Whoever may write there is believed like a worker.
  std::filesystem::path directory;
  Waiting waiting = Waiting::Wait;
  std::chrono::milliseconds poll{200};
  /// Limit of one evaluation, time in the queue included; unset: as long as it takes.
  std::optional<std::chrono::milliseconds> timeout;
};

/// Leaves requests in a directory and awaits results (docs/protocol.md, spool directories). A request is named by its
/// content: the same one, from a resumed run too, finds the result that is there and is never judged twice. An error
/// that a worker answered is handed over once; asking again tries again.
///
/// Errors besides the worker's: Pending (Waiting::Return) and Timeout leave the request there for a later call;
/// Cancelled withdraws it; NotFound when the directory is gone; Protocol for a result that is none (set aside).
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_spool_benchmarker(SpoolBenchmarkerOptions options);

}  // namespace v0
}  // namespace kernelgen
