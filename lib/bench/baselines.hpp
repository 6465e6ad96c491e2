#pragma once

/// \file
/// Baselines besides the eager reference: times of references that torch.compile built, cached under a key of
/// everything that can change them.

#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>

#include "bench/evaluation.hpp"
#include "judge/judge.hpp"

namespace kernelgen {
inline namespace v0 {

/// Compares the candidate with one baseline, which is measured unless `session` has its time. A failure is the reason
/// in the report; the only Error is Cancelled. Requires: no runner is alive, and the caller holds the device
/// exclusively.
[[nodiscard]] Result<BaselineReport> compare_with_baseline(JudgeSession& session,
                                                           const CompiledBaselineRequest& request,
                                                           double candidate_median_ns, std::stop_token stop);

/// Makes `judge` compile its reference and time it, with several attempts if other work disturbs the timing; then Busy.
/// Requires: the judge is used for nothing else.
[[nodiscard]] Result<ReferenceSamples> time_compiled_reference(Judge& judge, const CompileReferenceRequest& request,
                                                               const SamplingLimits& sampling, std::stop_token stop);

/// Stores times on disk, each in a readable file. Several processes may use a directory.
class BaselineStore {
 public:
  /// `directory` is where times are stored; if it is empty, none are.
  explicit BaselineStore(std::string directory) : directory_(std::move(directory)) {}

  /// The time stored under exactly this text; nothing for a file that keep() did not write.
  [[nodiscard]] std::optional<ReferenceSamples> find(const std::string& key_text) const;
  /// Stores a time. Failures are not stored, because the next attempt may work. Errors of writing are ignored, because
  /// they only cost time.
  void keep(const std::string& key_text, const ReferenceSamples& baseline) const;

 private:
  [[nodiscard]] std::string file_of(const std::string& key_text) const;
  std::string directory_;
};

}  // namespace v0
}  // namespace kernelgen
