#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include <kernelgen/flow/audit.hpp>

#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_reason = 400;

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(), [&](auto part) { return text.starts_with(part); });
}

/// Something else executed the kernel than what it is written for, so that a failure may not be its own.
bool was_stand_in(const EvaluationRecord& record) {
  return record.environment.stand_in || std::any_of(record.labels.begin(), record.labels.end(), [](const auto& label) {
           return starts_with_any(label, {"interpreter", "stand-in", "executed on "});
         });
}

/// Whether a Python source uses a GPU: it holds kernels for one, or puts tensors there.
bool uses_gpu(std::string_view source) {
  for (const char* mark : {"__global__", "cuda_sources", ".cuda(", "'cuda'", "\"cuda\"", "torch.cuda.", "'cuda:",
                           "\"cuda:", "import triton", "from triton", "import cupy", "import tilelang", "cutlass"})
    if (contains(source, mark)) return true;
  return false;
}

/// Failures that a machine without the needed device causes. Wrong numbers are not among them.
bool may_lack_device(OutcomeKind kind) {
  return kind == OutcomeKind::Import || kind == OutcomeKind::Launch || kind == OutcomeKind::Compile ||
         kind == OutcomeKind::Interface || kind == OutcomeKind::Crash || kind == OutcomeKind::Resource ||
         kind == OutcomeKind::Timeout;
}

/// Why a record says nothing about its kernel; empty when it does.
std::string obstacle_of(const EvaluationRecord& record, std::string_view source) {
  const auto& outcome = record.outcome;
  if (outcome.could_not_be_measured()) return outcome.to_class() + ": " + outcome.message;
  if (outcome.kind == OutcomeKind::NotScored) return "the task cannot tell right from wrong (" + outcome.detail + ")";
  if (outcome.kind == OutcomeKind::Suspect) return outcome.to_class() + ": " + outcome.message;
  if (outcome.correct()) return "";
  if (was_stand_in(record)) return "not correct where its device is imitated (" + outcome.to_class() + ")";
  if (record.environment.device.starts_with("cpu") && may_lack_device(outcome.kind) && uses_gpu(source))
    return "it needs a GPU, and was judged on a processor (" + outcome.to_class() + ")";
  return "";
}

/// Adds the ratios of several evaluations up.
class RatioSum {
 public:
  void add(const Ratio& ratio) {
    logs_ += std::log(ratio.value);
    low_ = count_ == 0 ? ratio.low : std::min(low_, ratio.low);
    high_ = count_ == 0 ? ratio.high : std::max(high_, ratio.high);
    ++count_;
  }
  /// Nothing unless there were `wanted` ratios.
  [[nodiscard]] std::optional<Ratio> result(int wanted) const {
    if (count_ == 0 || count_ != wanted) return std::nullopt;
    return Ratio{std::exp(logs_ / count_), low_, high_};
  }

 private:
  double logs_ = 0, low_ = 0, high_ = 0;
  int count_ = 0;
};

void add_labels(const EvaluationRecord& record, std::vector<std::string>& labels) {
  for (const auto& label : record.labels)
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
}

std::string times_text(const AuditMeasurement& measurement) {
  const int wrong = measurement.times - measurement.correct;
  if (wrong == measurement.times) return "";
  return fmt::format(" in {} of {} evaluations", wrong, measurement.times);
}

std::string failure_text(const AuditMeasurement& measurement) {
  auto text = measurement.failure_class + times_text(measurement);
  if (!measurement.failure_message.empty()) text += ": " + measurement.failure_message;
  return sanitize_line(text, k_max_reason);
}

/// Whether a claim's device is the measured one. Their names have different forms: "NVIDIA H200" is in "gpu 0: NVIDIA
/// H200, ...".
bool is_same_device(const std::string& claimed, const std::string& measured) {
  return claimed.empty() || measured.empty() || contains(measured, claimed) || contains(claimed, measured);
}

ClaimDecision compare_speedup(const Claim& claim, const Ratio& measured, const ClaimRules& rules) {
  const double claimed = *claim.speedup;
  const double low = claim.interval ? claim.interval->low : claimed * (1 - rules.margin);
  const double high = claim.interval ? claim.interval->high : claimed * (1 + rules.margin);
  if (measured.high < low)
    return {AuditVerdict::Overstated, fmt::format("claimed {:.2f}x, measured at most {:.2f}x", claimed, measured.high)};
  if (measured.low > high)
    return {AuditVerdict::Understated,
            fmt::format("claimed {:.2f}x, measured at least {:.2f}x", claimed, measured.low)};
  return {AuditVerdict::Stands, ""};
}

/// The decision for a kernel that is correct, as claimed.
ClaimDecision judge_correct(const Claim& claim, const AuditMeasurement& measurement, const ClaimRules& rules) {
  const auto unread = claim.problems.empty() ? "" : "the rest of the claim cannot be read: " + claim.problems.front();
  if (!claim.speedup) return {AuditVerdict::Stands, unread};
  const auto& measured = claim.kind == SpeedupKind::Score ? measurement.score : measurement.speedup_per_call;
  if (!measured) return {AuditVerdict::CannotBeJudged, "correct, but without a time that counts"};
  if (!rules.any_device && !is_same_device(claim.device, measurement.device))
    return {AuditVerdict::CannotBeJudged,
            fmt::format("correct, but its speed-up is claimed for {}, and was measured on {}", claim.device,
                        measurement.device)};
  return compare_speedup(claim, *measured, rules);
}

}  // namespace

std::string_view to_string(AuditVerdict verdict) {
  switch (verdict) {
    case AuditVerdict::Stands:
      return "stands";
    case AuditVerdict::Understated:
      return "understated";
    case AuditVerdict::Overstated:
      return "overstated";
    case AuditVerdict::Wrong:
      return "wrong";
    case AuditVerdict::CannotBeJudged:
      return "cannot be judged";
    case AuditVerdict::NoClaim:
      return "no claim";
  }
  return "";
}

AuditMeasurement summarize_records(const std::vector<EvaluationRecord>& records, std::string_view source) {
  AuditMeasurement measurement;
  RatioSum per_call, score;
  std::map<BaselineKind, RatioSum> over;
  for (const auto& record : records) {
    if (measurement.device.empty()) measurement.device = record.environment.device;
    add_labels(record, measurement.labels);
    if (const auto obstacle = obstacle_of(record, source); !obstacle.empty()) {
      if (measurement.obstacle.empty()) measurement.obstacle = sanitize_line(obstacle, k_max_reason);
      measurement.was_disturbed = measurement.was_disturbed || record.outcome.could_not_be_measured();
      continue;
    }
    ++measurement.times;
    if (!record.outcome.correct()) {
      if (!measurement.failure_class.empty()) continue;
      measurement.failure_class = record.outcome.to_class();
      measurement.failure_message = sanitize_line(record.outcome.message, k_max_reason);
      continue;
    }
    ++measurement.correct;
    if (!score_of(record)) continue;
    const auto& timing = *record.timing;
    per_call.add(timing.speedup_call);
    score.add(timing.scored_speedup());
    for (const auto& baseline : timing.baselines)
      if (baseline.speedup) over[baseline.name].add({*baseline.speedup, *baseline.speedup, *baseline.speedup});
  }
  measurement.speedup_per_call = per_call.result(measurement.times);
  measurement.score = score.result(measurement.times);
  for (const auto& [kind, sum] : over)
    if (const auto ratio = sum.result(measurement.times)) measurement.speedup_over[kind] = ratio->value;
  // What one evaluation could say stands, even if another one was disturbed.
  if (measurement.times > 0) {
    measurement.obstacle.clear();
    measurement.was_disturbed = false;
  }
  return measurement;
}

ClaimDecision judge_claim(const Claim& claim, const AuditMeasurement& measurement, const ClaimRules& rules) {
  if (measurement.times == 0) {
    const auto reason = measurement.obstacle.empty() ? "it was not judged" : measurement.obstacle;
    return {AuditVerdict::CannotBeJudged, reason};
  }
  const bool is_correct = measurement.correct == measurement.times;
  if (claim.empty()) {
    if (!is_correct) return {AuditVerdict::NoClaim, failure_text(measurement)};
    return {AuditVerdict::NoClaim, claim.problems.empty() ? "" : "the claim cannot be read: " + claim.problems.front()};
  }
  // A claimed speed-up of a kernel means that it is right.
  const bool claims_correct = claim.correct.value_or(true);
  if (!claims_correct)
    return is_correct ? ClaimDecision{AuditVerdict::Understated, "claimed not to be correct, and it is"}
                      : ClaimDecision{AuditVerdict::Stands, "not correct, as claimed: " + failure_text(measurement)};
  if (!is_correct) return {AuditVerdict::Wrong, failure_text(measurement)};
  return judge_correct(claim, measurement, rules);
}

}  // namespace v0
}  // namespace kernelgen
