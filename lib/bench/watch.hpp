#pragma once

/// \file
/// The step of an evaluation that watches a correct candidate with sanitizers.

#include <functional>
#include <stop_token>
#include <string_view>
#include <vector>

#include <kernelgen/compile/kernel_compiler.hpp>

#include "bench/evaluation.hpp"
#include "profile/sanitizers.hpp"

namespace kernelgen {
inline namespace v0 {

/// The outcome for what tools found: the class of the first finding, its place and message, and the number of the
/// others. Requires: there is one. Pure.
[[nodiscard]] Outcome outcome_of_findings(const std::vector<SanitizerFinding>& findings, std::string_view tool);

/// Checks that every tool for the request's candidate is installed. MissingTool names the first that is not.
[[nodiscard]] Result<void> check_sanitizers(const EvaluationRequest& request, const EvaluationBackends& backends,
                                            std::stop_token stop);

/// Watches the candidate of a correct record with each tool in turn, until one finds something. The record gets their
/// reports and, with a finding, its outcome. `artifact`: the candidate as it was judged.
[[nodiscard]] Result<void> watch_candidate(const EvaluationRequest& request, const Artifact& artifact,
                                           const EvaluationBackends& backends, EvaluationRecord& record,
                                           std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
