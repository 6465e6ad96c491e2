#pragma once

/// \file
/// The parts that both ends of a spool directory share, and its server without the evaluator.

#include <functional>
#include <stop_token>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/bench/worker.hpp>

#include "support/file_exchange.hpp"
#include "support/frames.hpp"

namespace kernelgen {
inline namespace v0 {

/// The exchange in which requests and results are files.
[[nodiscard]] inline FileExchangeOptions spool_exchange(std::filesystem::path directory) {
  return {.directory = std::move(directory),
          .request_suffix = ".request.json",
          .reply_suffix = ".result.json",
          .max_bytes = k_max_frame_body_bytes};
}

/// Checks whether this machine can judge. A worker that cannot must not answer all requests with its error.
using ReadinessCheck = std::function<Result<void>(const std::stop_token&)>;

/// The default number of requests at a time for each device.
inline constexpr int k_jobs_per_device = 2;

/// run_spool_worker with any benchmarker, on one device. `check` is called before the first request is judged. If it
/// fails, the request is released and the error ends the worker.
[[nodiscard]] Result<void> serve_spool(Benchmarker& benchmarker, const SpoolWorkerOptions& options,
                                       const std::stop_token& stop, const ReadinessCheck& check = {});

}  // namespace v0
}  // namespace kernelgen
