#pragma once

/// \file
/// Statistics of paired timings. Pure functions over plain numbers; they know nothing of devices.

#include <cstdint>
#include <span>
#include <string>

#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace v0 {

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

/// By how many standard deviations the samples in `slower` rank above those in `faster` (rank-sum test of Mann and
/// Whitney, normal approximation; equal samples share their rank). Outliers count no more than any other sample. 0
/// without samples.
[[nodiscard]] double rank_sum_deviations(std::span<const std::int64_t> slower, std::span<const std::int64_t> faster);

/// The one estimate from which the speedup, its interval and the displayed times follow, so that they always agree.
struct PairedEstimate {
  /// reference / candidate: the median of the pairwise ratios, with its 95 % interval.
  Ratio ratio;
  /// The times of the median pair: the median over the pairs of sqrt(reference * candidate), divided between the two so
  /// that reference_ns / candidate_ns is exactly ratio.value. The medians of the two columns need not have that ratio:
  /// where calls take one of two times (clock states), either column's median can jump from one to the other.
  double reference_ns = 0;
  double candidate_ns = 0;
};

/// The estimate from samples taken in pairs. Pairing cancels drift of the machine that both calls of a pair share.
/// The interval comes from order statistics; from fewer than six pairs, for which there are none, from Student's t of
/// the logarithms; a single pair has no finite interval.
/// Requires: both spans have the same length; all samples are positive.
[[nodiscard]] PairedEstimate paired_estimate(std::span<const std::int64_t> reference_ns,
                                             std::span<const std::int64_t> candidate_ns);

}  // namespace v0
}  // namespace kernelgen
