#pragma once

/// \file
/// The plan of a campaign, beside its runs: what journals cannot tell, because a run without a journal has not begun.
/// run_campaign() writes it for the monitor; nothing is resumed from it.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// A run that a campaign consists of.
struct PlannedRun {
  /// Name for people: "relu", "relu/triton".
  std::string name;
  /// Directory of its journal, relative to the results directory where it lies below that.
  std::string directory;
  std::string target;
  /// LLMClient::identity().
  std::string model;
  /// Upper bound on the actions; unset: unknown.
  std::optional<int> max_actions{};
};

/// The limits of a campaign. Unset: no limit.
struct PlannedLimits {
  std::optional<std::int64_t> requests{};
  std::optional<std::int64_t> tokens{};
  std::optional<double> cost{};
  std::optional<std::int64_t> seconds{};
};

/// The latest session of a campaign.
struct CampaignPlan {
  /// UTC, ISO 8601.
  std::string started;
  /// Empty: the session goes on, or was killed.
  std::string ended;
  PlannedLimits limits;
  int parallel_runs = 1;
  /// In the order in which they were given.
  std::vector<PlannedRun> runs;
};

/// Writes `results_directory`/campaign.json by rename. Errors: those of writing.
[[nodiscard]] Result<void> write_campaign_plan(const std::filesystem::path& results_directory,
                                               const CampaignPlan& plan);

/// Reads it. NotFound when there is none; InvalidArgument for a file that is none, Unsupported for that of a newer
/// version.
[[nodiscard]] Result<CampaignPlan> read_campaign_plan(const std::filesystem::path& results_directory);

}  // namespace v0
}  // namespace kernelgen
