#pragma once

/// \file
/// What a campaign will take: expected values from its journals, and upper bounds from its policies.

#include <cstdint>
#include <map>
#include <optional>

#include <kernelgen/core/api.hpp>
#include <kernelgen/flow/campaign.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// An expected value and an upper bound; unset: unknown.
struct ExpectedAmount {
  std::optional<double> expected{};
  std::optional<double> most{};
};

/// What the rest of a campaign will take, beside what its journals say it has taken. Limits of the campaign and of its
/// runs lower both numbers.
struct CampaignEstimate {
  /// Number of runs with each status, selected or not.
  std::map<CampaignRunStatus, int> counts;
  /// Number of runs that a session would take up.
  int selected = 0;
  ExpectedAmount requests;
  ExpectedAmount tokens;
  /// Unset without prices.
  ExpectedAmount cost;
  /// Seconds in which a device is occupied by evaluations.
  ExpectedAmount device_seconds;
  /// Seconds from start to end with CampaignRequest::parallel_runs runs at once, and as many devices as
  /// FlowRequest::parallel_evaluations.
  ExpectedAmount seconds;
  /// Number of runs that are over, from which the expected values follow. 0: there are none.
  int known_runs = 0;
  /// The policy's bound on the steps of a run, the largest of all runs; unset: unknown.
  std::optional<int> max_actions;
  /// The length of a first prompt in tokens, the largest of all runs, and the limit of a reply; unset: unknown.
  std::optional<std::int64_t> prompt_tokens;
  std::optional<std::int64_t> reply_tokens;
};

/// Estimates what run_campaign() will take for the same request. Reads the journals, and sends and judges nothing. A
/// run is expected to take what the runs with the same target and model took that are over, else what all of them took.
/// At most it takes the bound of its policy, with prompts that are as long as the first one (or as
/// FlowRequest::max_prompt_tokens allows) and replies of FlowRequest::max_output_tokens.
[[nodiscard]] CampaignEstimate estimate_campaign(const CampaignRequest& request);

}  // namespace v0
}  // namespace kernelgen
