#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/flow/campaign.hpp>
#include <kernelgen/flow/campaign_estimate.hpp>

#include "console.hpp"

namespace kernelgen::cli {

/// Shows a campaign: a line for each event. On a terminal the status is below them and updated in place; elsewhere each
/// line begins with the time and the number of runs that are over. Thread-safe.
class CampaignDisplay {
 public:
  using Sink = std::function<void(std::string_view)>;
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  /// The used share of `limits` is shown. The clock is for tests.
  CampaignDisplay(Terminal terminal, Sink sink, CampaignLimits limits = {},
                  Clock clock = std::chrono::steady_clock::now);
  ~CampaignDisplay();
  CampaignDisplay(const CampaignDisplay&) = delete;
  CampaignDisplay& operator=(const CampaignDisplay&) = delete;

  void see(const CampaignNotice& notice, const CampaignProgress& progress);
  /// Shows a line about something beside the runs.
  void tell(const std::string& line);
  /// Updates the status, because time has passed.
  void refresh();
  /// Erases the status, so that other output can be written.
  void finish();

 private:
  void note(const CampaignRunStarted& started);
  void note(const CampaignAttempt& attempt);
  void note(const CampaignBetterKernel& better);
  void note(const CampaignWait& wait);
  void note(const CampaignRunEnded& ended);
  void note(const CampaignBudgetWarning& warning);

  /// Writes "run  what", colored, and the message after or below it.
  void write_event(std::size_t run, const std::string& what, std::string_view color, const std::string& message = "");
  void show_status();
  [[nodiscard]] std::chrono::milliseconds elapsed() const;

  const Terminal terminal_;
  const Sink sink_;
  const CampaignLimits limits_;
  const Clock clock_;
  std::mutex mutex_;
  StatusLines status_lines_;
  /// Copies of the last progress, because the status is updated between notices.
  std::vector<CampaignRunSummary> runs_;
  ResourceUsage spent_;
  double used_fraction_ = 0;
  /// Time of the last notice; unset: there was none yet.
  std::optional<std::chrono::steady_clock::time_point> noticed_;
};

/// The status in lines of at most `width` characters: the campaign first, then the runs in progress. Pure.
[[nodiscard]] std::vector<std::string> render_campaign_status(const std::vector<CampaignRunSummary>& runs,
                                                              const ResourceUsage& spent, const CampaignLimits& limits,
                                                              std::size_t width);

/// A table of the runs, why some are not over, and the sums. `width` 0: nothing is cut. Pure. Ends with a line end.
[[nodiscard]] std::string render_campaign(const CampaignOutcome& outcome, const Terminal& terminal);
/// The outcome as JSON.
[[nodiscard]] std::string campaign_to_json(const CampaignOutcome& outcome);

/// What the campaign will take, and from what that follows. Pure. Ends with a line end.
[[nodiscard]] std::string render_estimate(const CampaignEstimate& estimate, const CampaignLimits& limits);
/// The estimate as JSON.
[[nodiscard]] std::string estimate_to_json(const CampaignEstimate& estimate);

}  // namespace kernelgen::cli
