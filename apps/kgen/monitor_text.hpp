#pragma once

/// \file
/// The parts of the monitor's text: sums, devices, errors, the columns of runs and attempts. Pure.

#include <cstddef>
#include <string>
#include <vector>

#include <kernelgen/report/monitor.hpp>

namespace kernelgen::cli {

/// The sums of a campaign, in lines of at most `width` characters; one line each when `width` is 0.
[[nodiscard]] std::vector<std::string> describe_campaign(const CampaignSnapshot& snapshot, std::size_t width);
/// A line for each device, and for the spool directory.
[[nodiscard]] std::vector<std::string> describe_devices(const CampaignSnapshot& snapshot, std::size_t width);
/// The last errors, a line each, at most `most`. What is no candidate's fault comes first.
[[nodiscard]] std::vector<std::string> describe_errors(const CampaignSnapshot& snapshot, std::size_t width,
                                                       std::size_t most);
/// The facts about a run, without its attempts.
[[nodiscard]] std::vector<std::string> describe_run(const MonitoredRun& run, std::size_t width);
/// The heading above attempts.
[[nodiscard]] std::string attempt_heading(std::size_t width);
/// An attempt: a line, and below it, indented, its message where that does not fit beside it.
[[nodiscard]] std::vector<std::string> describe_attempt(const MonitoredAttempt& attempt, std::size_t width);

/// The table of runs: which columns fit, and how wide they are.
class RunColumns {
 public:
  RunColumns(const CampaignSnapshot& snapshot, std::size_t width);
  [[nodiscard]] std::string heading() const;
  [[nodiscard]] std::string row(const MonitoredRun& run) const;

 private:
  std::size_t width_;
  std::size_t name_width_ = 0;
  bool has_cost_ = false;
  /// Width of the columns of model and target; 0: they are left out.
  std::size_t model_width_ = 0;
  std::size_t target_width_ = 0;
};

}  // namespace kernelgen::cli
