#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <kernelgen/bench/benchmarker.hpp>

#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

constexpr MeasureOptions k_quick{
    .max_relative_interval = 0.05, .full_comparisons = 8, .max_samples = 20, .deadline = 3s};
/// The longest allowed limit. Sums of longer ones with the clock's time could overflow.
constexpr std::chrono::milliseconds k_longest_limit = std::chrono::hours(24 * 7);
constexpr int k_most_threads = 4096;
constexpr int k_most_architectures = 16;
constexpr int k_most_samples = 1'000'000;

Error refused(std::string_view name, const std::string& value, std::string_view expected) {
  return {ErrorCode::InvalidArgument, fmt::format("option {} is {}; it must be {}", name, value, expected)};
}

Result<void> check_limit(std::string_view name, std::chrono::milliseconds value) {
  if (value > 0ms && value <= k_longest_limit) return {};
  return refused(name, fmt::format("{} ms", value.count()), "above 0 and at most a week");
}

Result<void> check_count(std::string_view name, int value, int least, int most) {
  if (value >= least && value <= most) return {};
  return refused(name, std::to_string(value), fmt::format("between {} and {}", least, most));
}

Result<void> check_tolerance(std::string_view name, const std::optional<double>& value) {
  if (!value || (std::isfinite(*value) && *value >= 0)) return {};
  return refused(name, fmt::format("{}", *value), "a number that is not negative");
}

}  // namespace

MeasureOptions measure_options_of(const EvaluationOptions& options) {
  auto measure = options.measure;
  if (options.mode != EvaluationMode::Quick) return measure;
  measure.max_relative_interval = std::max(measure.max_relative_interval, k_quick.max_relative_interval);
  measure.full_comparisons = std::min(measure.full_comparisons, k_quick.full_comparisons);
  measure.max_samples = std::min(measure.max_samples, k_quick.max_samples);
  measure.deadline = std::min(measure.deadline, k_quick.deadline);
  return measure;
}

Result<void> check_options(const EvaluationOptions& options) {
  const auto& measure = options.measure;
  KERNELGEN_CHECK(check_limit("call_timeout", options.call_timeout));
  KERNELGEN_CHECK(check_limit("build_timeout", options.build_timeout));
  KERNELGEN_CHECK(check_limit("task_timeout", options.task_timeout));
  KERNELGEN_CHECK(check_limit("measure.deadline", measure.deadline));
  KERNELGEN_CHECK(check_limit("baselines.timeout", options.baselines.timeout));
  KERNELGEN_CHECK(check_limit("sanitizers.timeout", options.sanitizers.timeout));
  KERNELGEN_CHECK(check_count("threads", options.threads, 0, k_most_threads));
  KERNELGEN_CHECK(check_count("measure.max_samples", measure.max_samples, 1, k_most_samples));
  KERNELGEN_CHECK(check_count("measure.full_comparisons", measure.full_comparisons, 0, k_most_samples));
  KERNELGEN_CHECK(check_count("measure.warmup_calls", measure.warmup_calls, 0, k_most_samples));
  KERNELGEN_CHECK(check_tolerance("rtol", options.rtol));
  KERNELGEN_CHECK(check_tolerance("atol", options.atol));
  KERNELGEN_CHECK(check_tolerance("measure.max_relative_interval", measure.max_relative_interval));
  const int lanes = options.hip_cpu.wave_size;
  if (lanes != 32 && lanes != 64) return refused("hip_cpu.wave_size", std::to_string(lanes), "32 or 64");
  KERNELGEN_CHECK(check_count("compile_for.architectures", static_cast<int>(options.compile_for.architectures.size()),
                              0, k_most_architectures));
  if (options.memory_limit == 0) return refused("memory_limit", "0 bytes", "above 0");
  return {};
}

}  // namespace v0
}  // namespace kernelgen
