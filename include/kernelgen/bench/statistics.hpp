#pragma once

/// \file
/// Statistics of paired timings. Pure functions over plain numbers; they know nothing of devices.

#include <cstdint>
#include <span>
#include <string>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The middle value; the mean of the two middle ones for an even count. 0 for no samples.
[[nodiscard]] double median(std::span<const std::int64_t> samples);

/// The value below which `fraction` of the samples lie (nearest rank). 0 for no samples.
[[nodiscard]] double quantile(std::span<const std::int64_t> samples, double fraction);

/// An interval that holds the median of the distribution with 95 % confidence, from order statistics
/// (binomial, normal approximation above 40 samples). Makes no assumption about the distribution.
struct Interval {
  double low = 0;
  double high = 0;
};
[[nodiscard]] Interval median_interval(std::span<const std::int64_t> samples);

/// reference / candidate from samples taken in pairs: the median of the pairwise ratios and its 95 % interval.
/// Pairing cancels drift of the machine that both calls of a pair share.
/// Requires: both spans have the same length; all samples are positive.
[[nodiscard]] Ratio paired_ratio(std::span<const std::int64_t> reference_ns,
                                 std::span<const std::int64_t> candidate_ns);

}  // namespace v0
}  // namespace kernelgen
