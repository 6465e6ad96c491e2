#pragma once

/// \file
/// What a run does right now, from its events. Needs a bounded amount of memory, however many there are.

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <kernelgen/report/monitor.hpp>
#include <kernelgen/store/event.hpp>

#include "flow/campaign_state.hpp"
#include "flow/run_state.hpp"
#include "report/journal_clock.hpp"

namespace kernelgen {
inline namespace v0 {

/// The time over which rates and loads are averaged.
inline constexpr std::chrono::minutes k_monitor_window{10};

/// Evaluations on a device, and the time in which they held it.
struct EvaluatedDevice {
  std::int64_t evaluations = 0;
  std::chrono::duration<double, std::milli> busy{0};
  /// The last ones: when each ended, and how long it took.
  std::deque<std::pair<JournalClock::Time, std::chrono::duration<double, std::milli>>> recent{};
};

/// Folds the events of one run. Pure.
class RunFollower {
 public:
  using Time = JournalClock::Time;

  /// Takes the next event. `appeared` is the time by our clock, if it has just been written.
  void see(Event event, std::optional<Time> appeared);

  /// The run at this time of our clock. `paused_by`: a session that ended then, by the journal's clock, had the run.
  [[nodiscard]] MonitoredRun view(Time ours, const std::optional<Time>& paused_by) const;

  [[nodiscard]] CampaignRunStatus status(const std::optional<Time>& paused_by) const;

  /// The present by the journal's clock; nothing before the first event.
  [[nodiscard]] std::optional<Time> now(Time ours) const { return clock_.now(ours); }
  /// The time of each session; that of a run in progress lasts up to now.
  [[nodiscard]] std::vector<SessionTime> sessions(Time ours, bool in_progress) const;
  /// Requests that were sent within the window that ends now.
  [[nodiscard]] int recent_requests(Time ours) const;
  [[nodiscard]] const std::map<std::string, EvaluatedDevice>& devices() const { return devices_; }
  [[nodiscard]] const std::map<std::string, int>& failures() const { return failures_; }

  /// An error with its time by the journal's clock.
  struct DatedError {
    Time time;
    MonitoredError error;
  };
  /// The last ones of each kind.
  [[nodiscard]] const std::map<MonitorErrorKind, std::deque<DatedError>>& errors() const { return errors_; }

 private:
  void note_session(const Event& event, Time time);
  void note_attempt(const Event& event, Time time);
  void note_finished(const ActionResult& result, Time time);
  void note_device(const EvaluationRecord& record, Time time);
  void note_error(MonitorErrorKind kind, const std::string& action, const std::string& message, Time time);
  void forget_old_attempts();
  [[nodiscard]] std::string action_id(int number) const;
  [[nodiscard]] MonitorPhase phase_of(int number, const OpenAction& action) const;
  void add_attempts(MonitoredRun& run, Time now) const;

  RunState state_;
  JournalClock clock_;
  /// The finished attempts that are shown, by number, each with the time at which it finished.
  std::map<int, std::pair<MonitoredAttempt, Time>> attempts_;
  /// Time of the last event of each open action.
  std::map<int, Time> open_times_;
  /// Numbers of the actions that wait, as their last event says.
  std::set<int> waiting_;
  std::string outage_;
  std::optional<double> best_score_;
  int finished_ = 0;
  int failed_ = 0;
  int forgotten_ = 0;
  int unanswered_ = 0;
  std::vector<SessionTime> sessions_;
  std::deque<Time> requests_;
  std::map<std::string, EvaluatedDevice> devices_;
  std::map<std::string, int> failures_;
  std::map<MonitorErrorKind, std::deque<DatedError>> errors_;
};

}  // namespace v0
}  // namespace kernelgen
