#include "bench/measurement.hpp"

#include <algorithm>

#include "bench/statistics.hpp"
#include "bench/stopping.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// One column of the samples.
template <class Member>
auto column(const PairSamples& samples, Member member) {
  std::vector<std::int64_t> values;
  values.reserve(samples.pairs.size());
  for (const auto& pair : samples.pairs) values.push_back(static_cast<std::int64_t>(pair.*member));
  return values;
}

/// The clocks before each pair; empty where none is known.
std::vector<std::int64_t> known_clocks(const PairSamples& samples) {
  auto clocks = column(samples, &TimedPair::clock_mhz);
  if (std::all_of(clocks.begin(), clocks.end(), [](std::int64_t clock) { return clock == 0; })) clocks.clear();
  return clocks;
}

void count_comparisons(TimingReport& timing, const PairSamples& samples) {
  for (const auto& pair : samples.pairs)
    (pair.full ? timing.full_comparisons : timing.sampled_comparisons) += pair.calls;
  timing.discarded += samples.discarded;
}

void report_speedup_of_calls(TimingReport& timing, const PairedEstimate& estimate) {
  timing.reference_median_ns = estimate.reference_ns;
  timing.candidate_median_ns = estimate.candidate_ns;
  timing.speedup_call = estimate.ratio;
}

/// Fewer probes than this say nothing about the device.
constexpr std::int64_t k_fewest_probes = 10;
/// Fewer delayed probes than this may come from a desktop that draws its screen.
constexpr std::int64_t k_fewest_delayed = 4;

}  // namespace

std::optional<double> contention(const DeviceUse& before, const DeviceUse& after) {
  const auto probes = after.probes - before.probes;
  if (probes < k_fewest_probes) return std::nullopt;
  const auto delayed = after.delayed_probes - before.delayed_probes;
  return delayed < k_fewest_delayed ? 0 : static_cast<double>(delayed) / static_cast<double>(probes);
}

std::optional<double> contention(const ProcessorTime& before, const ProcessorTime& after) {
  const auto waited = std::max(after.waiting - before.waiting, std::chrono::nanoseconds::zero());
  const auto wanted = waited + (after.running - before.running);
  if (wanted <= waited) return std::nullopt;
  return std::chrono::duration<double>(waited) / std::chrono::duration<double>(wanted);
}

namespace {

/// Makes the warm-up calls. They are checked like all others; their times are discarded.
Result<void> warm_up(const MeasureOptions& options, const NextPair& next, const MeasurementClock& clock,
                     const std::stop_token& stop, PairSamples& samples) {
  const auto start = clock.now();
  for (int i = 0; i < options.warmup_calls && clock.now() - start < options.deadline; ++i) {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
    KERNELGEN_TRY(auto answer, next());
    if (auto* outcome = std::get_if<Outcome>(&answer)) {
      samples.ended = std::move(*outcome);
      samples.stop_reason = StopReason::Failed;
      return {};
    }
  }
  return {};
}

}  // namespace

Result<PairSamples> sample_pairs(const MeasureOptions& options, const NextPair& next, const MeasurementClock& clock,
                                 const std::stop_token& stop) {
  PairSamples samples;
  const auto criterion = make_ratio_criterion(options);
  const auto start = clock.now();
  KERNELGEN_CHECK(warm_up(options, next, clock, stop, samples));
  if (samples.ended) return samples;
  const auto before = clock.reference_time();
  std::int64_t full = 0;
  std::optional<StopReason> finished;
  while (!(finished = criterion->is_finished(clock.now() - start)) ||
         (finished == StopReason::Criterion && full < options.full_comparisons)) {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
    KERNELGEN_TRY(auto answer, next());
    if (auto* outcome = std::get_if<Outcome>(&answer)) {
      samples.ended = std::move(*outcome);
      samples.stop_reason = StopReason::Failed;
      return samples;
    }
    const auto& pair = std::get<TimedPair>(answer);
    if (pair.throttled) {
      ++samples.discarded;
      continue;
    }
    full += pair.full ? pair.calls : 0;
    criterion->add_pair(pair.reference_ns, pair.candidate_ns, pair.calls);
    samples.pairs.push_back(pair);
  }
  samples.stop_reason = *finished;
  if (const auto after = clock.reference_time(); before && after) samples.contention = contention(*before, *after);
  return samples;
}

void report_calls(TimingReport& timing, const PairSamples& samples) {
  timing.reference_ns = column(samples, &TimedPair::reference_ns);
  timing.candidate_ns = column(samples, &TimedPair::candidate_ns);
  timing.host_ns = column(samples, &TimedPair::host_ns);
  timing.calls = column(samples, &TimedPair::calls);
  timing.off_stream_ns = column(samples, &TimedPair::off_stream_ns);
  timing.fresh = column(samples, &TimedPair::fresh);
  timing.clock_mhz = known_clocks(samples);
  timing.stop_reason = samples.stop_reason;
  timing.contention = samples.contention;
  timing.device_contention = samples.device_contention;
  count_comparisons(timing, samples);
  // A wrong candidate has no speedup.
  if (!samples.ended) report_speedup_of_calls(timing, paired_estimate(timing.reference_ns, timing.candidate_ns));
}

void bound_calls(TimingReport& timing, const std::function<std::int64_t(std::int64_t)>& least_ns) {
  for (std::size_t i = 0; i < timing.candidate_ns.size(); ++i)
    timing.candidate_ns[i] = std::max(timing.candidate_ns[i], least_ns(timing.host_ns[i]));
  if (!timing.candidate_ns.empty())
    report_speedup_of_calls(timing, paired_estimate(timing.reference_ns, timing.candidate_ns));
}

void discount_reference(TimingReport& timing, double slowdown) {
  timing.reference_median_ns /= slowdown;
  for (double* ratio : {&timing.speedup_call.value, &timing.speedup_call.low, &timing.speedup_call.high})
    *ratio /= slowdown;
}

bool report_separate_calls(TimingReport& timing, const PairSamples& samples, std::int64_t least_ns) {
  auto& separate = timing.separate_calls.emplace();
  separate.reference_ns = column(samples, &TimedPair::reference_ns);
  separate.candidate_ns = column(samples, &TimedPair::candidate_ns);
  for (auto& candidate_ns : separate.candidate_ns) candidate_ns = std::max(candidate_ns, least_ns);
  separate.host_ns = column(samples, &TimedPair::host_ns);
  count_comparisons(timing, samples);
  const auto estimate = paired_estimate(separate.reference_ns, separate.candidate_ns);
  separate.speedup = estimate.ratio;
  // Not the low end of its interval: series that became longer may be a mixture, with some that could not be computed
  // together.
  if (k_less_fast_alone * estimate.ratio.high >= timing.speedup_call.value) return false;
  report_speedup_of_calls(timing, estimate);
  return true;
}

void report_replays(TimingReport& timing, const PairSamples& samples) {
  timing.reference_graph_ns = column(samples, &TimedPair::reference_ns);
  timing.candidate_graph_ns = column(samples, &TimedPair::candidate_ns);
  timing.graph_host_ns = column(samples, &TimedPair::host_ns);
  if (samples.device_contention)
    timing.device_contention = std::max(timing.device_contention.value_or(0), *samples.device_contention);
  count_comparisons(timing, samples);
  if (!samples.ended && !samples.pairs.empty())
    timing.speedup_device = paired_estimate(timing.reference_graph_ns, timing.candidate_graph_ns).ratio;
}

}  // namespace v0
}  // namespace kernelgen
