#include "bench/stopping.hpp"

#include <algorithm>

#include "bench/statistics.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// An interval of fewer pairs says little, however many calls they are the means of.
constexpr int k_fewest_pairs = 12;

class RatioCriterion final : public StoppingCriterion {
 public:
  explicit RatioCriterion(const MeasureOptions& options) : options_(options) {}

  void add_pair(std::int64_t reference_ns, std::int64_t candidate_ns, std::int64_t calls) override {
    reference_.push_back(reference_ns);
    candidate_.push_back(candidate_ns);
    calls_ += calls;
  }

  std::optional<StopReason> is_finished(std::chrono::nanoseconds elapsed) const override {
    const auto count = static_cast<int>(candidate_.size());
    const bool is_many = count >= std::min(options_.full_comparisons, k_fewest_pairs) && count > 0;
    if (is_many && calls_ >= options_.full_comparisons) {
      const auto ratio = paired_estimate(reference_, candidate_).ratio;
      if (ratio.high - ratio.low <= options_.max_relative_interval * ratio.value) return StopReason::Criterion;
    }
    if (count >= options_.max_samples) return StopReason::MaxSamples;
    if (elapsed >= options_.deadline) return StopReason::Deadline;
    return std::nullopt;
  }

 private:
  MeasureOptions options_;
  std::vector<std::int64_t> reference_;
  std::vector<std::int64_t> candidate_;
  std::int64_t calls_ = 0;
};

}  // namespace

std::unique_ptr<StoppingCriterion> make_ratio_criterion(const MeasureOptions& options) {
  return std::make_unique<RatioCriterion>(options);
}

}  // namespace v0
}  // namespace kernelgen
