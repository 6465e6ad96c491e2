#include "device/gpu_program.hpp"

#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

Result<ProcessOutcome> run_gpu_probe(const GpuProbeOptions& options, std::vector<std::string> arguments,
                                     std::chrono::seconds timeout, ProcessRunner& runner, std::stop_token stop) {
  std::vector<std::string> command{options.program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  KERNELGEN_TRY(auto outcome, runner.run({.command = std::move(command),
                                          .environment = options.environment,
                                          .timeout = timeout,
                                          .max_output_bytes = 1u << 20},
                                         std::move(stop)));
  if (outcome.timed_out)
    return Error{ErrorCode::Timeout, "the GPU driver does not answer: kgen-gpu " + outcome.to_line(), {}};
  return outcome;
}

std::string probe_error_line(const ProcessOutcome& outcome) {
  constexpr std::string_view k_prefix = "kgen-gpu: ";
  auto said = trim(outcome.standard_error);
  if (said.substr(0, k_prefix.size()) == k_prefix) said.remove_prefix(k_prefix.size());
  return said.empty() ? "kgen-gpu ended with " + outcome.to_line() : sanitize_line(said, 400);
}

Error unreadable_probe(const std::string& why) {
  return {ErrorCode::Protocol, "kgen-gpu said what it should not: " + why, {}};
}

}  // namespace v0
}  // namespace kernelgen
