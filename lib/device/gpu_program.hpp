#pragma once

/// \file
/// Runs kgen-gpu, the program that loads a GPU's driver.

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen {
inline namespace v0 {

/// Exit codes of kgen-gpu: there is no such device, or it lacks something; it could not be tried.
constexpr int k_probe_lacks_device = 69;
constexpr int k_probe_not_tried = 75;

/// Runs it with these arguments. Timeout where the driver does not answer.
[[nodiscard]] Result<ProcessOutcome> run_gpu_probe(const GpuProbeOptions& options, std::vector<std::string> arguments,
                                                   std::chrono::seconds timeout, ProcessRunner& runner,
                                                   std::stop_token stop);

/// The first line of its error output, without its name.
[[nodiscard]] std::string probe_error_line(const ProcessOutcome& outcome);

/// The error for output that it should not make.
[[nodiscard]] Error unreadable_probe(const std::string& why);

}  // namespace v0
}  // namespace kernelgen
