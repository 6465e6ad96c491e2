#include "bench/stopping.hpp"

#include "bench/statistics.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class RatioCriterion final : public StoppingCriterion {
 public:
  explicit RatioCriterion(const MeasureOptions& options) : options_(options) {}

  void add_pair(std::int64_t reference_ns, std::int64_t candidate_ns) override {
    reference_.push_back(reference_ns);
    candidate_.push_back(candidate_ns);
  }

  std::optional<StopReason> is_finished(std::chrono::nanoseconds elapsed) const override {
    const auto count = static_cast<int>(candidate_.size());
    if (count >= options_.full_comparisons && count > 0) {
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
};

}  // namespace

std::unique_ptr<StoppingCriterion> make_ratio_criterion(const MeasureOptions& options) {
  return std::make_unique<RatioCriterion>(options);
}

}  // namespace v0
}  // namespace kernelgen
