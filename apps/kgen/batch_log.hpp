#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/campaign.hpp>

#include "campaign_display.hpp"

namespace kernelgen::cli {

/// The lines of a campaign, appended to `batch_run.log` in the results directory: one for each event, as they are shown
/// where there is no terminal.
class BatchLog {
 public:
  /// Opens the file. One that cannot be written is told by finish() alone, because it is no reason to lose a campaign.
  explicit BatchLog(const std::filesystem::path& results);

  void see(const CampaignNotice& notice, const CampaignProgress& progress) { lines_.see(notice, progress); }
  /// Io if the file does not have all lines.
  [[nodiscard]] Result<void> finish();

 private:
  std::string name_;
  std::ofstream file_;
  CampaignDisplay lines_;
};

}  // namespace kernelgen::cli
