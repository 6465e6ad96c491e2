#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <kernelgen/exec/process.hpp>
#include <kernelgen/flow/campaign.hpp>

namespace kernelgen::cli {

/// The event as one line of JSON without its end; nothing for a notice that no program is told about. Pure.
[[nodiscard]] std::optional<std::string> event_line(const CampaignNotice& notice, const CampaignProgress& progress);
/// The line for the end of a campaign.
[[nodiscard]] std::string end_line(const CampaignOutcome& outcome);

/// Tells a program about events of a campaign: it is started for each of them, one after the other, and reads the line
/// from standard input. Its failure is noted and changes nothing. Thread-safe.
class EventProgram {
 public:
  /// `runner` is borrowed and outlives this object.
  EventProgram(std::vector<std::string> command, std::map<std::string, std::string> environment, ProcessRunner& runner);
  /// Waits as finish() does.
  ~EventProgram();
  EventProgram(const EventProgram&) = delete;
  EventProgram& operator=(const EventProgram&) = delete;

  void tell(std::string line);
  /// Waits for all that was told, and returns the first failure.
  [[nodiscard]] std::optional<Error> finish();

 private:
  void work();
  void run_program(const std::string& line);

  const std::vector<std::string> command_;
  const std::map<std::string, std::string> environment_;
  ProcessRunner& runner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool closing_ = false;
  std::optional<Error> failure_;
  /// Whether the last start hung or could not be made, as the next one will. Of the thread alone.
  bool gives_up_ = false;
  std::thread thread_;
};

}  // namespace kernelgen::cli
