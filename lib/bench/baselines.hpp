#pragma once

/// \file
/// Baselines besides the eager reference: times of references that torch.compile built, remembered under everything
/// that can change them.

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

/// Compares with one baseline, which is measured unless `session` remembers it. Failures become the reason in the
/// report; the only Error is Cancelled. Requires: no runner is alive, and the caller holds the device exclusively.
[[nodiscard]] Result<BaselineReport> compare_with_baseline(JudgeSession& session,
                                                           const CompiledBaselineRequest& request,
                                                           double candidate_median_ns, std::stop_token stop);

/// Has `judge` compile its reference and time it, several times if other work disturbs that; then Busy. Requires: the
/// judge is used for nothing else.
[[nodiscard]] Result<Baseline> time_compiled_reference(Judge& judge, const CompileReferenceRequest& request,
                                                       const BaselineSampling& sampling, std::stop_token stop);

/// Times on disk, each in a readable file. Several processes may use a directory.
class BaselineStore {
 public:
  /// An empty directory keeps nothing.
  explicit BaselineStore(std::string directory) : directory_(std::move(directory)) {}

  /// The time kept under exactly this text; nothing for a file that keep() did not write.
  [[nodiscard]] std::optional<Baseline> find(const std::string& key_text) const;
  /// Keeps a time. Failures are not kept, because they may work later. A store that cannot be written costs time only.
  void keep(const std::string& key_text, const Baseline& baseline) const;

 private:
  [[nodiscard]] std::string file_of(const std::string& key_text) const;
  std::string directory_;
};

}  // namespace v0
}  // namespace kernelgen
