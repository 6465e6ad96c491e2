#pragma once

#include <stop_token>

#include <kernelgen/core/result.hpp>

#include "bench/evaluator.hpp"

namespace kernelgen {
inline namespace v0 {

/// Serves one client over two descriptors until it sends shutdown, its stream ends or is lost, or the token is
/// triggered. Every request has its own thread; the queue of the device decides which one is next. The caller keeps the
/// descriptors.
[[nodiscard]] Result<void> serve_client(LocalBenchmarker& benchmarker, int input_fd, int output_fd,
                                        const std::stop_token& stop);

}  // namespace v0
}  // namespace kernelgen
