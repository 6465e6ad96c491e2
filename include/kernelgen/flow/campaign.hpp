#pragma once

/// \file
/// Campaign: many runs in parallel under one budget. The journals of the runs are its whole state.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <kernelgen/core/action.hpp>
#include <kernelgen/core/api.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/flow/engine.hpp>
#include <kernelgen/flow/policy.hpp>
#include <kernelgen/store/journal.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Limits of a whole campaign, in all its sessions. Unset: no limit. The most that a request can use is reserved before
/// it is sent: one token for each two bytes of the prompt, and FlowRequest::max_output_tokens, at FlowRequest::prices.
/// Requests with an unknown answer count in full.
struct CampaignLimits {
  std::optional<std::int64_t> requests{};
  /// This limit and that of the cost need FlowRequest::max_output_tokens in every run.
  std::optional<std::int64_t> tokens{};
  /// Cost in the currency of FlowRequest::prices, which every run needs for it.
  std::optional<double> cost{};
  /// Time in which at least one of the runs was in progress.
  std::optional<std::chrono::seconds> time{};

  /// There is no limit.
  [[nodiscard]] bool empty() const { return !requests && !tokens && !cost && !time; }
};

/// One run of a campaign: a task, a target and a model. What it borrows outlives the campaign; runs may share it, and
/// their backends are called by several threads.
struct CampaignRun {
  /// Name for people, different for each run: "relu", "relu/triton".
  std::string name;
  /// Directory of its journal, different for each run; see run_directory().
  std::filesystem::path directory;
  FlowRequest request;
  const Policy& policy;
  Backends backends;
};

/// The state of a run in a campaign.
enum class CampaignRunStatus {
  NotBegun,         ///< nothing was journaled yet
  Running,          ///< in progress in this session
  Success,          ///< over, and the goal was reached
  Partial,          ///< over; a correct kernel, but not the goal
  Failed,           ///< over, and no kernel is correct
  Paused,           ///< not over: an outage, a busy machine, work that is done elsewhere, or an interruption
  BudgetExhausted,  ///< not over: the campaign's budget does not allow another request
  Busy,             ///< another process has it
  Error,            ///< not over, and a person has to repair something: CampaignRunSummary::error
};
/// The stable name: "not begun", "budget exhausted".
[[nodiscard]] std::string_view to_string(CampaignRunStatus status);
/// True if the search is over: a success, partial or failed.
[[nodiscard]] bool is_over(CampaignRunStatus status);

/// The facts about a run that its journal tells.
struct CampaignRunSummary {
  std::string name;
  std::filesystem::path directory;
  CampaignRunStatus status = CampaignRunStatus::NotBegun;
  Target target = Target::Cpp;
  /// LLMClient::identity().
  std::string model;
  double goal = 1;
  /// Action id of the best candidate; empty: none is correct.
  std::string best;
  std::optional<double> best_score;
  /// Resources that it has used, in all sessions.
  ResourceUsage spent;
  int finished_actions = 0;
  /// Upper bound on the actions; unset: unknown.
  std::optional<int> max_actions;
  /// The time in which its finished evaluations held their devices.
  std::chrono::milliseconds device_time{0};
  /// Why it ended or stopped, in one line. Empty: it has not.
  std::string reason;
  /// The error that stopped it in this session.
  std::optional<Error> error;
  /// How the wanted options differ from those of its journal, and what can be done, in one line. Empty: they do not.
  std::string difference;
};

/// The runs that a session takes up.
enum class RunSelection {
  Unfinished,  ///< those that have not begun or are not over
  Paused,      ///< those that have begun and are not over
  Failed,      ///< those that are over without a correct kernel. They begin anew in the same journal, also with other
               ///< options; with FlowRequest::continues they stay
  All,         ///< all but those with a correct kernel: Unfinished and Failed
};

/// The order in which runs are started.
enum class RunOrder {
  Given,
  ByValue,  ///< by the expected value for the requests that are still needed: promising and cheap first
};

/// A campaign.
struct CampaignRequest {
  std::vector<CampaignRun> runs;
  CampaignLimits limits;
  /// Maximal number of runs in progress. A run that waits for its model holds no device.
  int parallel_runs = 4;
  RunSelection selection = RunSelection::Unfinished;
  RunOrder order = RunOrder::Given;
  /// Directory of the file with which processes share the campaign's budget. Required with limits.
  std::filesystem::path results_directory;
  /// The time of day, for journals and for the limit of time. Empty: the system's.
  TimeSource clock;
};

/// The progress of a campaign.
struct CampaignProgress {
  /// In the order of CampaignRequest::runs.
  const std::vector<CampaignRunSummary>& runs;
  /// Resources that all runs have used, in all sessions; requests with an unknown answer count in full. `time` is
  /// the time in which at least one of them was in progress.
  ResourceUsage spent;
  /// The largest used fraction of a limit; 0 without limits.
  double used_fraction = 0;
};

/// A run is started or goes on.
struct CampaignRunStarted {
  std::size_t run = 0;
};
/// A step of a run has ended.
struct CampaignAttempt {
  std::size_t run = 0;
  ActionResult result;
};
/// A run has a new best kernel: CampaignRunSummary::best.
struct CampaignBetterKernel {
  std::size_t run = 0;
};
/// A step of a run waits before it is tried again.
struct CampaignWait {
  std::size_t run = 0;
  ActionPaused pause;
};
/// A run ended or stopped: CampaignRunSummary::status says how.
struct CampaignRunEnded {
  std::size_t run = 0;
};
/// At least 80 % of a limit are used. Told once a session.
struct CampaignBudgetWarning {};

/// A notification to an observer.
using CampaignNotice = std::variant<CampaignRunStarted, CampaignAttempt, CampaignBetterKernel, CampaignWait,
                                    CampaignRunEnded, CampaignBudgetWarning>;
/// Receives notices and the progress at that time; never from two threads at once. It must not block, because runs wait
/// for it.
using CampaignObserver = std::function<void(const CampaignNotice&, const CampaignProgress&)>;

/// The result of a campaign.
struct CampaignOutcome {
  /// In the order of CampaignRequest::runs.
  std::vector<CampaignRunSummary> runs;
  /// The same as CampaignProgress::spent.
  ResourceUsage spent;
  /// True if the session was stopped.
  bool cancelled = false;

  /// Number of runs with each status.
  [[nodiscard]] std::map<CampaignRunStatus, int> counts() const;
};

/// Reads what the journals tell about the runs, without locking or changing them. A run with a damaged journal has the
/// status Error.
[[nodiscard]] std::vector<CampaignRunSummary> read_campaign(const std::vector<CampaignRun>& runs);

/// Takes up the selected runs, several in parallel, until each is over or cannot go on. Where FlowRequest::continues is
/// set, a run with other options than those of its journal is not over: it is continued with them, once. One that is
/// over with the same options stays over, so that the same request resumes a continued campaign, too. A failure of one
/// run does not affect the others, and a run that another process has is left to it. The same request resumes the
/// campaign after any end, from the journals alone: no reply that arrived is asked for again. When a model leaves the
/// requests of two runs in a row unanswered, its other runs are not started; once it answers a run in progress, they
/// are, and those that it left unanswered go on.
///
/// Several processes may do so at once: each takes runs that no other one has, and with limits they spend one budget
/// together, for which their limits, runs and options must be the same.
///
/// Errors: InvalidArgument for two runs of one name or directory, and for limits that need more than the runs say; Busy
/// when another process spends the budget of the results directory with other limits, runs or options; the errors of
/// the file that they share.
[[nodiscard]] Result<CampaignOutcome> run_campaign(const CampaignRequest& request, const CampaignObserver& observer,
                                                   std::stop_token stop);

}  // namespace v0
}  // namespace kernelgen
