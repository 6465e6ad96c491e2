#pragma once

/// \file
/// What both ends of a spool directory share, and its server apart from what judges.

#include <stop_token>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/worker.hpp>

#include "support/file_exchange.hpp"
#include "support/frames.hpp"

namespace kernelgen {
inline namespace v0 {

/// The exchange in which requests and results are files.
[[nodiscard]] inline FileExchangeOptions spool_exchange(std::filesystem::path directory,
                                                        std::chrono::milliseconds poll) {
  return {.directory = std::move(directory),
          .request_suffix = ".request.json",
          .reply_suffix = ".result.json",
          .max_bytes = k_max_frame_body_bytes,
          .poll = poll};
}

/// run_spool_worker with any benchmarker.
[[nodiscard]] Result<void> serve_spool(Benchmarker& benchmarker, const SpoolWorkerOptions& options,
                                       const std::stop_token& stop);

}  // namespace v0
}  // namespace kernelgen
