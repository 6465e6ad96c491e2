#include <kernelgen/flow/campaign.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <kernelgen/store/campaign_plan.hpp>

#include "flow/campaign_state.hpp"
#include "flow/guarded.hpp"
#include "flow/run_session.hpp"
#include "flow/steps.hpp"
#include "support/clock.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// A model is not asked by further runs once so many runs in a row got no answer from it.
constexpr int k_max_outages = 2;
/// So often a run that its model did not answer is taken up again in a session, because the model answers another run.
constexpr int k_max_returns = 2;
/// Used fraction of a limit that the observer is told about.
constexpr double k_warning_fraction = 0.8;

Error invalid_campaign(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

Result<void> check_runs(const std::vector<CampaignRun>& runs) {
  std::set<std::string> names, directories;
  for (const auto& run : runs) {
    if (!names.insert(run.name).second)
      return invalid_campaign("two runs of the campaign have the name " + run.name + "; give each another one");
    if (!directories.insert(run.directory.lexically_normal().string()).second)
      return invalid_campaign("the run " + run.name +
                              " has the same directory as another run of the campaign: " + run.directory.string());
  }
  return {};
}

Result<void> check_limits(const CampaignRequest& request) {
  const auto& limits = request.limits;
  if (!limits.empty() && request.results_directory.empty())
    return invalid_campaign(
        "a campaign with limits needs a results directory, for the file with which processes share them");
  for (const auto& run : request.runs) {
    if ((limits.tokens || limits.cost) && !run.request.max_output_tokens)
      return invalid_campaign(
          "the campaign's limit of tokens or cost needs a limit of the tokens of a reply, and the run " + run.name +
          " has none");
    const auto unpriced = kind_without_prices(run.request);
    if (limits.cost && unpriced)
      return invalid_campaign("the campaign's limit of cost needs prices, and the run " + run.name +
                              " has none for prompts of the kind " + std::string(to_string(*unpriced)));
  }
  return {};
}

/// What the journals tell before anything is started.
struct JournaledCampaign {
  std::vector<CampaignRunSummary> runs;
  Spending spent;
  milliseconds time{0};
};

JournaledCampaign read_journals(const std::vector<CampaignRun>& runs) {
  JournaledCampaign campaign;
  std::vector<SessionTime> sessions;
  for (const auto& run : runs) {
    const auto events = read_run_events(run.directory);
    campaign.runs.push_back(events ? summarize_run(run, *events) : summarize_run(run));
    auto& summary = campaign.runs.back();
    if (events) {
      campaign.spent += spending_of(*events, run.request);
      const auto own = sessions_of(*events);
      sessions.insert(sessions.end(), own.begin(), own.end());
    } else if (events.error().code != ErrorCode::NotFound) {
      summary.status = CampaignRunStatus::Error;
      summary.reason = events.error().to_line();
      summary.error = events.error();
    }
  }
  campaign.time = time_within(std::move(sessions));
  return campaign;
}

/// The plan of this session.
CampaignPlan plan_of(const CampaignRequest& request, std::chrono::system_clock::time_point now) {
  const auto& limits = request.limits;
  CampaignPlan plan{.started = utc_iso8601(now),
                    .ended = {},
                    .limits = {.requests = limits.requests, .tokens = limits.tokens, .cost = limits.cost},
                    .parallel_runs = request.parallel_runs,
                    .runs = {}};
  if (limits.time) plan.limits.seconds = limits.time->count();
  for (const auto& run : request.runs) {
    const auto relative = run.directory.lexically_relative(request.results_directory);
    const bool is_below = !relative.empty() && *relative.begin() != "..";
    plan.runs.push_back({.name = run.name,
                         .directory = (is_below ? relative : run.directory).string(),
                         .target = std::string(to_string(run.request.target)),
                         .model = run.backends.llm.identity(),
                         .max_actions = most_actions(run.policy, run.request.budget, {})});
  }
  return plan;
}

/// Writes the plan, and at the end that the session ended. After a failure the monitor knows less.
class PlanFile {
 public:
  PlanFile(const CampaignRequest& request, TimeSource clock)
      : directory_(request.results_directory), clock_(std::move(clock)), plan_(plan_of(request, clock_())) {
    if (!directory_.empty() && make_directories(directory_)) write();
  }
  PlanFile(const PlanFile&) = delete;
  PlanFile& operator=(const PlanFile&) = delete;
  ~PlanFile() {
    plan_.ended = utc_iso8601(clock_());
    write();
  }

 private:
  void write() const {
    if (!directory_.empty()) static_cast<void>(write_campaign_plan(directory_, plan_));
  }

  const std::filesystem::path directory_;
  const TimeSource clock_;
  CampaignPlan plan_;
};

/// What a session knows and may spend.
struct CampaignSession {
  JournaledCampaign journaled;
  /// Keeps processes with other options out; held by the budget if there are limits.
  std::unique_ptr<BudgetLedger> ledger;
  std::unique_ptr<SharedBudget> budget;
};

/// Joins the other processes in the results directory, and reads the journals.
Result<CampaignSession> open_session(const CampaignRequest& request, const TimeSource& clock) {
  CampaignSession session;
  std::optional<JournaledCampaign> journaled;
  const auto read_start = [&] {
    journaled = read_journals(request.runs);
    const auto now = std::chrono::duration_cast<milliseconds>(clock().time_since_epoch());
    return LedgerStart{journaled->spent, journaled->time.count(), now.count()};
  };
  if (!request.results_directory.empty()) {
    KERNELGEN_CHECK(make_directories(request.results_directory));
    KERNELGEN_TRY(session.ledger,
                  BudgetLedger::join(
                      {.directory = request.results_directory, .terms = terms_of(request), .read_start = read_start}));
  }
  session.journaled = journaled ? *std::move(journaled) : read_journals(request.runs);
  const auto& known = session.journaled;
  session.budget = request.limits.empty()
                       ? std::make_unique<SharedBudget>(request.limits, known.spent, known.time, clock)
                       : std::make_unique<SharedBudget>(request.limits, std::move(session.ledger), clock);
  return session;
}

/// Notices when the results directory is no longer the one of the start, for example because it was unmounted. A run
/// that began in a new one would pay for everything again.
class ResultsDirectory {
 public:
  explicit ResultsDirectory(const std::filesystem::path& path) : path_(path), identity_(identity()) {}

  [[nodiscard]] Result<void> check() const {
    if (!identity_ || identity() == identity_) return {};
    return Error{ErrorCode::NotFound, "the results directory " + path_.string() +
                                          " is no longer there; bring it back, and the same command goes on"};
  }

 private:
  /// Nothing while there is no directory.
  [[nodiscard]] std::optional<std::pair<dev_t, ino_t>> identity() const {
    struct stat info {};
    if (path_.empty() || ::stat(path_.c_str(), &info) != 0) return std::nullopt;
    return std::pair(info.st_dev, info.st_ino);
  }

  const std::filesystem::path path_;
  const std::optional<std::pair<dev_t, ino_t>> identity_;
};

/// Runs the selected runs on several threads. The mutex guards everything that they share.
class Scheduler {
 public:
  Scheduler(const CampaignRequest& request, const CampaignObserver& observer, std::vector<CampaignRunSummary> runs,
            SharedBudget& budget, TimeSource clock, std::stop_token stop)
      : request_(request),
        observer_(observer),
        results_(request.results_directory),
        runs_(std::move(runs)),
        budget_(budget),
        clock_(std::move(clock)),
        stop_(std::move(stop)) {
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (is_selected(request_.selection, runs_[i].status)) waiting_.push_back(i);
  }

  CampaignOutcome run() {
    run_waiting();
    if (take_up_left()) run_waiting();
    CampaignOutcome outcome{.runs = runs_, .spent = spent(), .cancelled = stop_.stop_requested()};
    if (!outcome.cancelled)
      for (const auto index : waiting_) pause_unanswered(outcome.runs[index]);
    return outcome;
  }

 private:
  void run_waiting() {
    const auto threads = std::min(waiting_.size(), static_cast<std::size_t>(std::max(request_.parallel_runs, 1)));
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < threads; ++i) {
      workers.emplace_back([this] {
        while (const auto next = start_next()) end(*next, execute(*next));
      });
    }
  }

  /// Takes up runs that another process had and has left meanwhile: what it brought to an end is over here, too.
  bool take_up_left() {
    if (stop_.stop_requested()) return false;
    const auto before = waiting_.size();
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (runs_[i].status == CampaignRunStatus::Busy && open_run_journal(runs_[i].directory, clock_))
        waiting_.push_back(i);
    return waiting_.size() > before;
  }

  /// Whether the model of a run answers nothing. Requires that the mutex is held.
  [[nodiscard]] bool has_outage(std::size_t index) const {
    const auto found = outages_.find(&request_.runs[index].backends.llm);
    return found != outages_.end() && found->second >= k_max_outages;
  }

  /// Chooses the next run and tells that it starts; nothing if there is none. While runs are in progress it waits for
  /// runs that can be started: their model may answer again.
  std::optional<std::size_t> start_next() {
    std::unique_lock lock(mutex_);
    std::vector<std::size_t> startable;
    changed_.wait(lock, stop_, [&] {
      startable.clear();
      std::copy_if(waiting_.begin(), waiting_.end(), std::back_inserter(startable),
                   [&](std::size_t index) { return !has_outage(index); });
      return !startable.empty() || running_ == 0;
    });
    if (startable.empty() || stop_.stop_requested()) return std::nullopt;
    const auto next = choose_next(request_.order, startable, runs_);
    waiting_.erase(std::find(waiting_.begin(), waiting_.end(), next));
    ++running_;
    unanswered_.erase(next);
    runs_[next].status = CampaignRunStatus::Running;
    runs_[next].reason.clear();
    runs_[next].error.reset();
    notify(CampaignRunStarted{next});
    return next;
  }

  /// Carries a run to its end, and returns what its journal then tells.
  CampaignRunSummary execute(std::size_t index) {
    const auto& run = request_.runs[index];
    if (const auto there = results_.check(); !there) return stopped_summary(index, there.error(), false);
    auto journal = open_run_journal(run.directory, clock_);
    if (!journal) return stopped_summary(index, journal.error(), journal.error().code == ErrorCode::Busy);
    auto summary = summarize_run(run, (*journal)->events());
    // Another process may have continued it meanwhile.
    if (run.request.continues && is_over(summary.status)) return summary;
    auto request = run.request;
    request.continues = run.request.continues && !summary.difference.empty();
    RunSession session{.device_lock = device_lock_, .budget = &budget_, .restart = restart_of(run)};
    const auto outcome = guarded<FlowOutcome>("the run", [&] {
      return run_in_session(
          request, run.policy, run.backends, **journal, [&](const FlowNotice& notice) { see(index, notice); }, session,
          stop_);
    });
    summary = summarize_run(run, (*journal)->events());
    if (!outcome) note_error(summary, outcome.error(), session.is_out_of_budget);
    return summary;
  }

  /// Whether a run that failed begins anew; one that may be continued keeps what it has found.
  [[nodiscard]] Restart restart_of(const CampaignRun& run) const {
    const bool takes_failed = request_.selection == RunSelection::Failed || request_.selection == RunSelection::All;
    return takes_failed && !run.request.continues ? Restart::IfFailed : Restart::No;
  }

  /// The summary of a run that could not be begun.
  CampaignRunSummary stopped_summary(std::size_t index, const Error& error, bool is_busy) {
    const std::scoped_lock lock(mutex_);
    auto summary = runs_[index];
    note_error(summary, error, false);
    if (is_busy) {
      summary.status = CampaignRunStatus::Busy;
      // What to do about a single run is no advice here.
      summary.reason.resize(std::min(summary.reason.find(';'), summary.reason.size()));
    }
    return summary;
  }

  static void note_error(CampaignRunSummary& summary, const Error& error, bool is_out_of_budget) {
    summary.error = error;
    summary.reason = error.to_line();
    if (error.code == ErrorCode::Pending)
      summary.status = is_out_of_budget ? CampaignRunStatus::BudgetExhausted : CampaignRunStatus::Paused;
    else
      summary.status = error.code == ErrorCode::Cancelled ? CampaignRunStatus::Paused : CampaignRunStatus::Error;
  }

  void end(std::size_t index, CampaignRunSummary summary) {
    const std::scoped_lock lock(mutex_);
    if (summary.status == CampaignRunStatus::Paused && unanswered_.contains(index)) {
      const auto* model = &request_.runs[index].backends.llm;
      ++outages_[model];
      outage_reasons_[model] = summary.reason;
      unanswered_runs_[model].push_back(index);
    }
    runs_[index] = std::move(summary);
    --running_;
    notify(CampaignRunEnded{index});
    changed_.notify_all();
  }

  /// Makes runs startable again that their model did not answer, because it has answered another one.
  void note_reply(const LLMClient* model) {
    outages_.erase(model);
    for (const auto index : std::exchange(unanswered_runs_[model], {}))
      if (returns_[index]++ < k_max_returns) waiting_.push_back(index);
    changed_.notify_all();
  }

  /// Takes a notice of a run.
  void see(std::size_t index, const FlowNotice& notice) {
    const std::scoped_lock lock(mutex_);
    if (const auto* progress = std::get_if<FlowProgress>(&notice)) note_progress(runs_[index], *progress);
    if (const auto* pause = std::get_if<ActionPaused>(&notice)) notify(CampaignWait{index, *pause});
    if (const auto* event = std::get_if<Event>(&notice)) see_event(index, *event);
  }

  static void note_progress(CampaignRunSummary& run, const FlowProgress& progress) {
    run.spent = progress.spent;
    run.finished_actions = progress.finished_actions;
    run.max_actions = progress.max_actions;
    run.best = progress.best;
    run.best_score = progress.best_score;
  }

  void see_event(std::size_t index, const Event& event) {
    if (std::holds_alternative<RequestDeferred>(event.body)) unanswered_.insert(index);
    if (std::holds_alternative<ReplyArrived>(event.body)) {
      unanswered_.erase(index);
      note_reply(&request_.runs[index].backends.llm);
      if (!warned_ && budget_.used_fraction() >= k_warning_fraction) {
        warned_ = true;
        notify(CampaignBudgetWarning{});
      }
    }
    if (const auto* finished = std::get_if<ActionFinished>(&event.body))
      notify(CampaignAttempt{index, finished->result});
    if (const auto* changed = std::get_if<BestChanged>(&event.body); changed != nullptr && !changed->action_id.empty())
      notify(CampaignBetterKernel{index});
  }

  /// Tells the observer. Requires that the mutex is held, so that the observer is never called by two threads at once.
  void notify(const CampaignNotice& notice) {
    if (!observer_) return;
    try {
      observer_(notice, {.runs = runs_, .spent = spent(), .used_fraction = budget_.used_fraction()});
    } catch (...) {  // a failure to show a run is no reason to lose it
    }
  }

  [[nodiscard]] ResourceUsage spent() const {
    const auto used = budget_.spent();
    ResourceUsage sum{.tokens = used.tokens, .requests = used.requests, .cost = used.cost, .time = budget_.time()};
    for (const auto& run : runs_) sum.evaluations += run.spent.evaluations;
    return sum;
  }

  /// Explains why a run was not started: its model answered no other run. One that was says itself why it is paused.
  void pause_unanswered(CampaignRunSummary& summary) const {
    if (summary.error) return;
    const auto index = static_cast<std::size_t>(
        std::find_if(runs_.begin(), runs_.end(), [&](const auto& run) { return run.name == summary.name; }) -
        runs_.begin());
    summary.status = CampaignRunStatus::Paused;
    summary.error = Error{ErrorCode::Pending, "not started: " + outage_reasons_.at(&request_.runs[index].backends.llm)};
    summary.reason = summary.error->message;
  }

  const CampaignRequest& request_;
  const CampaignObserver& observer_;
  const ResultsDirectory results_;
  std::vector<CampaignRunSummary> runs_;
  SharedBudget& budget_;
  const TimeSource clock_;
  const std::stop_token stop_;
  FairSharedMutex device_lock_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// Indices of the runs that are still to be started, in the given order.
  std::vector<std::size_t> waiting_;
  int running_ = 0;
  /// Indices of the runs that got no answer to their last request.
  std::set<std::size_t> unanswered_;
  /// Number of runs in a row that a model did not answer, and what the last of them said.
  std::map<const LLMClient*, int> outages_;
  std::map<const LLMClient*, std::string> outage_reasons_;
  /// Indices of the runs that a model has left without an answer, and how often each was taken up again for that.
  std::map<const LLMClient*, std::vector<std::size_t>> unanswered_runs_;
  std::map<std::size_t, int> returns_;
  bool warned_ = false;
};

}  // namespace

std::string_view to_string(CampaignRunStatus status) {
  switch (status) {
    case CampaignRunStatus::NotBegun:
      return "not begun";
    case CampaignRunStatus::Running:
      return "running";
    case CampaignRunStatus::Success:
      return "success";
    case CampaignRunStatus::Partial:
      return "partial";
    case CampaignRunStatus::Failed:
      return "failed";
    case CampaignRunStatus::Paused:
      return "paused";
    case CampaignRunStatus::BudgetExhausted:
      return "budget exhausted";
    case CampaignRunStatus::Busy:
      return "busy";
    case CampaignRunStatus::Error:
      return "error";
  }
  return "";
}

bool is_over(CampaignRunStatus status) {
  return status == CampaignRunStatus::Success || status == CampaignRunStatus::Partial ||
         status == CampaignRunStatus::Failed;
}

std::map<CampaignRunStatus, int> CampaignOutcome::counts() const {
  std::map<CampaignRunStatus, int> counts;
  for (const auto& run : runs) ++counts[run.status];
  return counts;
}

std::vector<CampaignRunSummary> read_campaign(const std::vector<CampaignRun>& runs) { return read_journals(runs).runs; }

Result<CampaignOutcome> run_campaign(const CampaignRequest& request, const CampaignObserver& observer,
                                     std::stop_token stop) {
  KERNELGEN_CHECK(check_runs(request.runs));
  KERNELGEN_CHECK(check_limits(request));
  const TimeSource clock = request.clock ? request.clock : [] { return std::chrono::system_clock::now(); };
  KERNELGEN_TRY(auto session, open_session(request, clock));
  const PlanFile plan(request, clock);
  return Scheduler(request, observer, std::move(session.journaled.runs), *session.budget, clock, std::move(stop)).run();
}

}  // namespace v0
}  // namespace kernelgen
