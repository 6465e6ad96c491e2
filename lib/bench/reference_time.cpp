#include "bench/reference_time.hpp"

#include <chrono>
#include <utility>

#include "bench/measurement.hpp"
#include "bench/statistics.hpp"
#include "bench/verdict.hpp"
#include "judge/judge.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

Result<std::optional<ReferenceTime>> time_reference_alone(JudgeSession& session, DeviceGate& gate, bool on_gpu,
                                                          std::stop_token stop) {
  // Enough for two digits; a verdict takes its own.
  constexpr SamplingLimits k_few{.min_samples = 3, .max_samples = 12, .budget = std::chrono::milliseconds{300}};
  auto& judge = *session.judge;
  KERNELGEN_TRY(const auto held, gate.acquire_exclusive(std::move(stop)));
  KERNELGEN_TRY([[maybe_unused]] const auto weights, judge.use_weights(1));
  const auto before = judge.processor_time();
  KERNELGEN_TRY(const auto calls, judge.time_reference(CallMode::Eager, k_few));
  const auto after = judge.processor_time();
  const bool is_busy = before && after && !busy_message(contention(*before, *after)).empty();
  if (is_busy || calls.samples_ns.empty()) return std::optional<ReferenceTime>();
  ReferenceTime time{.call_ns = median(calls.samples_ns), .on_gpu = on_gpu};
  if (!on_gpu) return std::optional(time);
  KERNELGEN_TRY(const auto replays, judge.time_reference(CallMode::Graph, k_few));
  if (!replays.samples_ns.empty()) time.graph_ns = median(replays.samples_ns);
  return std::optional(time);
}

}  // namespace v0
}  // namespace kernelgen
