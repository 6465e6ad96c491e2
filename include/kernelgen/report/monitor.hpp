#pragma once

/// \file
/// What a campaign does right now, read from the journals of its runs while other processes write them, perhaps on
/// other machines. Takes no lock and writes nothing.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/spool.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/flow/campaign.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/store/campaign_plan.hpp>
#include <kernelgen/store/journal.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The step in which an action, or a run without one, is. Named in JSON.
enum class MonitorPhase {
  Preparing,  ///< the judge looks at the task
  Deciding,   ///< the next actions are chosen, or a correct kernel is profiled
  Asking,     ///< a request is at the model
  Waiting,    ///< the model gave no answer, or a mailbox has the request
  Judging,    ///< a reply is compiled, checked and timed
};
/// The name: "preparing", "judging".
[[nodiscard]] std::string_view to_string(MonitorPhase phase);

/// An action of a run.
struct MonitoredAttempt {
  int number = 0;
  std::string id;
  /// Set while it is not finished.
  std::optional<MonitorPhase> phase{};
  /// Class of the result, as in AttemptReport; empty while it is not finished.
  std::string result_class{};
  /// True if it finished without a correct kernel, and was not an analysis.
  bool failed = false;
  std::optional<double> score{};
  /// One line, without control characters.
  std::string message{};
  /// Time since its last event.
  std::chrono::milliseconds age{0};
};

/// A run of the campaign.
struct MonitoredRun {
  /// "relu", "relu/triton".
  std::string name;
  CampaignRunStatus status = CampaignRunStatus::NotBegun;
  std::string target;
  std::string policy{};
  std::string model;
  /// Number of actions in each phase; a run in progress without an open action is one itself.
  std::map<MonitorPhase, int> phases{};
  /// Action id of the best kernel; empty: none is correct.
  std::string best{};
  std::optional<double> best_score{};
  int finished_attempts = 0;
  int failed_attempts = 0;
  /// Upper bound on the attempts; unset: unknown.
  std::optional<int> max_attempts{};
  /// Resources that it has used, in all sessions; time up to now for a run in progress.
  ResourceUsage spent{};
  /// Requests that ended without an answer and may have been paid for.
  int unanswered = 0;
  /// Time since the last event of its journal; unset before the first one.
  std::optional<std::chrono::milliseconds> silent{};
  /// Why it ended or stopped, in one line.
  std::string reason{};
  /// The latest attempts, in the order of their numbers.
  std::vector<MonitoredAttempt> attempts{};
  /// Number of older attempts that are not among them.
  int omitted_attempts = 0;
};

/// A device on which candidates were judged.
struct MonitoredDevice {
  /// Name in records, with the GPU's identification where there is one.
  std::string name;
  std::int64_t evaluations = 0;
  /// Time in which they held the device.
  std::chrono::milliseconds busy{0};
  /// The part of the last ten minutes in which they held it: 1 where one device was always in use, 2 for two of them.
  double recent_use = 0;
};

/// The part of the machinery that an error came from.
enum class MonitorErrorKind {
  Kernel,     ///< a candidate failed
  Model,      ///< a request got no answer
  Machinery,  ///< something could not be judged, a budget ended, a journal is damaged
};
/// The name: "kernel".
[[nodiscard]] std::string_view to_string(MonitorErrorKind kind);

/// Something that went wrong.
struct MonitoredError {
  MonitorErrorKind kind = MonitorErrorKind::Machinery;
  /// Name of the run, and the action where one is concerned.
  std::string run;
  std::string action{};
  /// One line, without control characters.
  std::string message;
  std::chrono::milliseconds age{0};
};

/// An estimate of the time until no run is left, from the runs that are over.
struct RemainingTime {
  std::chrono::milliseconds expected{0};
  /// An interval that contains it with a probability of 80 %, if the other runs are like those that are over.
  std::chrono::milliseconds low{0};
  std::chrono::milliseconds high{0};
  /// Number of runs that it is estimated from.
  int known_runs = 0;
};

/// The campaign at one moment. Times are by the clocks of the machines that wrote the journals, so
/// none is negative.
struct CampaignSnapshot {
  std::string directory;
  /// Why there is nothing to see yet: the directory does not exist or holds no run. Empty: there is something.
  std::string problem{};
  /// Bytes of journals that are still to be read; the rest of the snapshot is incomplete then.
  std::uint64_t unread_bytes = 0;
  /// In natural order of their names.
  std::vector<MonitoredRun> runs{};
  std::map<CampaignRunStatus, int> counts{};
  std::map<MonitorPhase, int> phases{};
  /// Sums over all runs; `time` is that in which at least one of them was in progress.
  ResourceUsage spent{};
  int unanswered = 0;
  PlannedLimits limits{};
  /// Over the last ten minutes.
  double requests_per_minute = 0;
  /// Geometric mean over the runs with a score.
  std::optional<double> mean_score{};
  int scored_runs = 0;
  /// Unset: too few runs are over, or none is in progress.
  std::optional<RemainingTime> remaining{};
  std::vector<MonitoredDevice> devices{};
  /// The last ones of each kind, the latest first.
  std::vector<MonitoredError> errors{};
  /// Failed attempts by class.
  std::map<std::string, int> failures{};
  /// The spool directory, when one is watched.
  std::optional<SpoolStatus> spool{};
  /// Why the spool directory could not be looked at.
  std::string spool_problem{};
};

/// Directories and limits of a CampaignReader.
struct CampaignReaderOptions {
  /// A results directory, or the directory of a run. It may appear later.
  std::filesystem::path directory;
  /// A spool directory that is shown, too. Empty: none.
  std::filesystem::path spool{};
  /// The time of day. Empty: the system's.
  TimeSource clock{};
  /// Most bytes of journals that one call of poll() reads, so that it returns soon.
  std::uint64_t max_bytes_per_poll = 32u << 20;
  /// Journals of runs that are not in progress, and directories, are looked at in every so-manieth call of poll().
  int idle_polls = 10;
};

/// Follows a campaign. Each call reads what was appended to the journals since the last one. A line without its end, a
/// journal that is replaced or cut, and one that cannot be read are no errors. The memory that it needs is bounded for
/// each run. One thread at a time.
class CampaignReader {
 public:
  virtual ~CampaignReader() = default;
  /// Reads on, and tells what is known now.
  [[nodiscard]] virtual CampaignSnapshot poll() = 0;
};

/// Makes a reader. Nothing is read before the first poll().
[[nodiscard]] std::unique_ptr<CampaignReader> make_campaign_reader(CampaignReaderOptions options);

/// The snapshot as JSON, without the attempts of runs.
[[nodiscard]] std::string monitor_json(const CampaignSnapshot& snapshot);
/// A run with its attempts as JSON.
[[nodiscard]] std::string monitor_run_json(const MonitoredRun& run);

}  // namespace v0
}  // namespace kernelgen
