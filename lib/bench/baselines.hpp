#pragma once

/// \file
/// What a correct candidate is compared with besides the eager reference: times of references that torch.compile built,
/// remembered by everything that can change them.

#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/core/record.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/judge/judge.hpp>

#include "bench/evaluation.hpp"

namespace kernelgen {
inline namespace v0 {

/// The comparison with one baseline, measured unless `session` remembers it. Requires: no runner is alive, and the
/// caller has the device alone. Whatever goes wrong is the reason in the report; the only Error is Cancelled.
[[nodiscard]] Result<BaselineReport> compare_with_baseline(JudgeSession& session,
                                                           const CompiledBaselineRequest& request,
                                                           double candidate_median_ns, std::stop_token stop);

/// Has `judge` compile its reference and time it: a few times, if other work disturbs that, then Busy.
/// Requires: nobody asks that judge for anything else.
[[nodiscard]] Result<Baseline> time_compiled_reference(Judge& judge, const CompileReferenceRequest& request,
                                                       const BaselineSampling& sampling, std::stop_token stop);

/// Times on disk, each in a file that can be read. Several processes may use a directory.
class BaselineStore {
 public:
  /// Empty: nothing is kept.
  explicit BaselineStore(std::string directory) : directory_(std::move(directory)) {}

  /// What was kept under this very text; nothing for a file that is not what keep() writes.
  [[nodiscard]] std::optional<Baseline> find(const std::string& key_text) const;
  /// Only times: what failed may work later. A store that cannot be written costs time, not correctness.
  void keep(const std::string& key_text, const Baseline& baseline) const;

 private:
  [[nodiscard]] std::string file_of(const std::string& key_text) const;
  std::string directory_;
};

}  // namespace v0
}  // namespace kernelgen
