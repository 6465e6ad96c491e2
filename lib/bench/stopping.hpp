#pragma once

/// \file
/// The decision when to stop sampling, as a pure function of the samples.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/record.hpp>

namespace kernelgen {
inline namespace v0 {

/// Decides after each pair of samples whether there are enough. One per measurement; one thread at a time.
class StoppingCriterion {
 public:
  virtual ~StoppingCriterion() = default;
  /// `calls` is the number of calls of which both times are the means.
  virtual void add_pair(std::int64_t reference_ns, std::int64_t candidate_ns, std::int64_t calls = 1) = 0;
  /// The reason to stop, or nothing. `elapsed` is the wall-clock time since the first pair was asked for.
  [[nodiscard]] virtual std::optional<StopReason> is_finished(std::chrono::nanoseconds elapsed) const = 0;
};

/// A criterion that stops, in this order: with enough samples and a narrow enough interval of the ratio; with too many
/// samples; at the deadline.
[[nodiscard]] std::unique_ptr<StoppingCriterion> make_ratio_criterion(const MeasureOptions& options);

}  // namespace v0
}  // namespace kernelgen
