#include <kernelgen/report/monitor.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "report/journal_tail.hpp"
#include "report/remaining_time.hpp"
#include "report/run_follower.hpp"
#include "report/run_locations.hpp"
#include "support/natural_order.hpp"
#include "support/text.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using Time = JournalClock::Time;

constexpr std::size_t k_max_shown_name = 200;
constexpr std::size_t k_max_shown_line = 400;

/// A run and how far its journal was read.
class FollowedRun {
 public:
  explicit FollowedRun(const RunLocation& location)
      : name_(location.name.empty() ? location.task : location.task + '/' + location.name),
        tail_(location.directory / "events.jsonl") {}

  void read(std::uint64_t max_bytes, Time ours) {
    const bool caught_up = tail_.at_end();
    bool restarted = false;
    const auto restart = [&] {
      restarted = true;
      start_over();
    };
    const auto take = [&](std::string_view line) {
      see(line, caught_up && !restarted ? std::optional(ours) : std::nullopt);
    };
    const auto read = tail_.read(max_bytes, restart, take);
    unreadable_ = read ? std::nullopt : std::optional(read.error());
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return tail_.offset(); }
  /// At least 1 for a journal that was not looked at yet.
  [[nodiscard]] std::uint64_t unread() const {
    return unreadable_ || tail_.at_end() ? 0 : std::max<std::uint64_t>(tail_.unread(), 1);
  }
  [[nodiscard]] const RunFollower& follower() const { return follower_; }
  /// True if something may be appended at any time.
  [[nodiscard]] bool is_active() const {
    if (damage_) return false;
    const auto status = follower_.status({});
    return status == CampaignRunStatus::Running || status == CampaignRunStatus::NotBegun;
  }

  [[nodiscard]] MonitoredRun view(Time ours, const std::optional<Time>& paused_by) const {
    auto run = follower_.view(ours, paused_by);
    const auto& error = damage_ ? damage_ : unreadable_;
    if (!error) return run;
    run.status = CampaignRunStatus::Error;
    run.reason = sanitize_line(error->to_line(), k_max_shown_line);
    run.phases.clear();
    return run;
  }

 private:
  void start_over() {
    follower_ = {};
    damage_.reset();
    lines_ = 0;
  }

  void see(std::string_view line, std::optional<Time> appeared) {
    ++lines_;
    if (damage_) return;
    auto event = parse_event(line);
    if (event)
      follower_.see(*std::move(event), appeared);
    else
      damage_ = std::move(event).context("line " + std::to_string(lines_) + " of its journal").error();
  }

  std::string name_;
  JournalTail tail_;
  RunFollower follower_;
  std::uint64_t lines_ = 0;
  /// The journal cannot be read on, until it is replaced.
  std::optional<Error> damage_;
  /// The last attempt to read failed; the next one may not.
  std::optional<Error> unreadable_;
};

/// Adds what the runs do together.
class Summary {
 public:
  Summary(CampaignSnapshot& snapshot, Time ours) : snapshot_(snapshot), ours_(ours) {}

  void add(const FollowedRun& followed, const MonitoredRun& run) {
    const auto& follower = followed.follower();
    const bool in_progress = run.status == CampaignRunStatus::Running;
    const auto sessions = follower.sessions(ours_, in_progress);
    sessions_.insert(sessions_.end(), sessions.begin(), sessions.end());
    requests_ += follower.recent_requests(ours_);
    for (const auto& [name, count] : follower.failures()) snapshot_.failures[name] += count;
    if (const auto now = follower.now(ours_)) {
      for (const auto& [name, device] : follower.devices()) add_device(name, device, *now);
      add_errors(follower, run.name, *now);
    }
    snapshot_.unread_bytes += followed.unread();
  }

  void finish(int parallel_runs) {
    auto& spent = snapshot_.spent;
    double logs = 0;
    for (const auto& run : snapshot_.runs) {
      ++snapshot_.counts[run.status];
      for (const auto& [phase, count] : run.phases) snapshot_.phases[phase] += count;
      spent.tokens += run.spent.tokens;
      spent.requests += run.spent.requests;
      spent.evaluations += run.spent.evaluations;
      spent.cost += run.spent.cost;
      snapshot_.unanswered += run.unanswered;
      if (!run.best_score || *run.best_score <= 0) continue;
      ++snapshot_.scored_runs;
      logs += std::log(*run.best_score);
    }
    if (snapshot_.scored_runs > 0) snapshot_.mean_score = std::exp(logs / snapshot_.scored_runs);
    spent.time = time_within(std::move(sessions_));
    // A campaign that is younger than the window would seem to do less than it does.
    const auto window = std::clamp<milliseconds>(spent.time, std::chrono::seconds{30}, k_monitor_window);
    snapshot_.requests_per_minute = requests_ / std::chrono::duration<double, std::ratio<60>>(window).count();
    for (auto& [name, device] : devices_) {
      device.second.recent_use = device.first.count() / static_cast<double>(window.count());
      snapshot_.devices.push_back(std::move(device.second));
    }
    sort_errors();
    if (const auto running = snapshot_.counts.find(CampaignRunStatus::Running);
        parallel_runs == 0 && running != snapshot_.counts.end())
      parallel_runs = running->second;
    if (snapshot_.unread_bytes == 0) snapshot_.remaining = estimate_remaining_time(snapshot_.runs, parallel_runs);
  }

 private:
  void add_device(const std::string& name, const EvaluatedDevice& used, Time now) {
    auto& [recent, device] = devices_[name];
    device.name = name;
    device.evaluations += used.evaluations;
    device.busy += std::chrono::duration_cast<milliseconds>(used.busy);
    for (const auto& [end, busy] : used.recent) {
      const auto overlap = std::chrono::duration<double, std::milli>(k_monitor_window - (now - end));
      recent += std::clamp(overlap, std::chrono::duration<double, std::milli>(0), busy);
    }
  }

  void add_errors(const RunFollower& follower, const std::string& name, Time now) {
    for (const auto& [kind, errors] : follower.errors()) {
      for (const auto& [time, error] : errors) {
        snapshot_.errors.push_back(error);
        snapshot_.errors.back().run = name;
        snapshot_.errors.back().age = std::max(std::chrono::duration_cast<milliseconds>(now - time), milliseconds{0});
      }
    }
  }

  /// Keeps the latest ones of each kind.
  void sort_errors() {
    constexpr int k_most_of_a_kind = 8;
    auto& errors = snapshot_.errors;
    std::stable_sort(errors.begin(), errors.end(), [](const auto& a, const auto& b) { return a.age < b.age; });
    std::map<MonitorErrorKind, int> seen;
    errors.erase(std::remove_if(errors.begin(), errors.end(),
                                [&](const auto& error) { return ++seen[error.kind] > k_most_of_a_kind; }),
                 errors.end());
  }

  CampaignSnapshot& snapshot_;
  const Time ours_;
  std::vector<SessionTime> sessions_;
  int requests_ = 0;
  std::map<std::string, std::pair<std::chrono::duration<double, std::milli>, MonitoredDevice>> devices_;
};

class FollowingReader final : public CampaignReader {
 public:
  explicit FollowingReader(CampaignReaderOptions options) : options_(std::move(options)) {
    if (!options_.clock) options_.clock = [] { return std::chrono::system_clock::now(); };
  }

  CampaignSnapshot poll() override {
    const auto ours = options_.clock();
    const bool looks_at_all = polls_++ % std::max(options_.idle_polls, 1) == 0 || runs_.empty();
    if (looks_at_all) list();
    read_journals(ours, looks_at_all);
    return take_snapshot(ours);
  }

 private:
  /// Looks for runs that have appeared or gone, and reads the plan.
  void list() {
    auto found = is_run(options_.directory) ? single_run() : find_runs(options_.directory);
    problem_ = found ? "" : found.error().to_line();
    auto plan = read_campaign_plan(options_.directory);
    // What cannot be read now, as while the network is away, may be readable later: what was known stays.
    std::error_code ignored;
    if (plan)
      plan_ = *std::move(plan);
    else if (plan.error().code != ErrorCode::Io || !fs::exists(options_.directory, ignored))
      plan_.reset();
    if (!found) {
      if (!fs::exists(options_.directory, ignored)) runs_.clear();
      return;
    }
    std::map<fs::path, FollowedRun> runs;
    for (const auto& location : found->runs) {
      auto known = runs_.extract(location.directory);
      if (known.empty())
        runs.emplace(location.directory, FollowedRun(location));
      else
        runs.insert(std::move(known));
    }
    runs_ = std::move(runs);
  }

  [[nodiscard]] Result<RunLocations> single_run() const {
    auto directory = options_.directory.lexically_normal();
    if (directory.filename().empty()) directory = directory.parent_path();
    return RunLocations{.runs = {{options_.directory, directory.filename().string(), ""}}, .unlisted = {}};
  }

  void read_journals(Time ours, bool looks_at_all) {
    auto left = options_.max_bytes_per_poll;
    for (auto& [directory, run] : runs_) {
      if (left == 0) break;
      if (!looks_at_all && run.unread() == 0 && !run.is_active()) continue;
      const auto before = run.bytes_read();
      run.read(left, ours);
      left -= std::min(left, run.bytes_read() - std::min(before, run.bytes_read()));
    }
  }

  [[nodiscard]] CampaignSnapshot take_snapshot(Time ours) const {
    CampaignSnapshot snapshot;
    snapshot.directory = sanitize_line(options_.directory.string(), k_max_shown_line);
    snapshot.problem = sanitize_line(problem_, k_max_shown_line);
    std::map<fs::path, const PlannedRun*> planned;
    std::optional<Time> ended;
    if (plan_) {
      snapshot.limits = plan_->limits;
      ended = parse_utc(plan_->ended);
      for (const auto& run : plan_->runs) planned[(options_.directory / run.directory).lexically_normal()] = &run;
    }
    Summary summary(snapshot, ours);
    for (const auto& [directory, followed] : runs_) {
      auto run = followed.view(ours, ended);
      const auto plan = planned.extract(directory.lexically_normal());
      if (!plan.empty()) run.max_attempts = plan.mapped()->max_actions;
      run.name = sanitize_line(plan.empty() ? followed.name() : plan.mapped()->name, k_max_shown_name);
      summary.add(followed, run);
      snapshot.runs.push_back(std::move(run));
    }
    for (const auto& [directory, run] : planned)
      snapshot.runs.push_back({.name = sanitize_line(run->name, k_max_shown_name),
                               .target = sanitize_line(run->target, k_max_shown_name),
                               .model = sanitize_line(run->model, k_max_shown_name),
                               .max_attempts = run->max_actions});
    std::stable_sort(snapshot.runs.begin(), snapshot.runs.end(),
                     [](const auto& a, const auto& b) { return naturally_less(a.name, b.name); });
    if (!snapshot.runs.empty()) snapshot.problem.clear();
    summary.finish(plan_ ? plan_->parallel_runs : 0);
    add_spool(snapshot);
    return snapshot;
  }

  void add_spool(CampaignSnapshot& snapshot) const {
    if (options_.spool.empty()) return;
    auto status = inspect_spool(options_.spool);
    if (status)
      snapshot.spool = *std::move(status);
    else
      snapshot.spool_problem = sanitize_line(status.error().to_line(), k_max_shown_line);
  }

  CampaignReaderOptions options_;
  std::uint64_t polls_ = 0;
  std::map<fs::path, FollowedRun> runs_;
  std::optional<CampaignPlan> plan_;
  std::string problem_;
};

}  // namespace

std::string_view to_string(MonitorPhase phase) {
  switch (phase) {
    case MonitorPhase::Preparing:
      return "preparing";
    case MonitorPhase::Deciding:
      return "deciding";
    case MonitorPhase::Asking:
      return "asking";
    case MonitorPhase::Waiting:
      return "waiting";
    case MonitorPhase::Judging:
      return "judging";
  }
  return "";
}

std::string_view to_string(MonitorErrorKind kind) {
  switch (kind) {
    case MonitorErrorKind::Kernel:
      return "kernel";
    case MonitorErrorKind::Model:
      return "model";
    case MonitorErrorKind::Machinery:
      return "machinery";
  }
  return "";
}

std::unique_ptr<CampaignReader> make_campaign_reader(CampaignReaderOptions options) {
  return std::make_unique<FollowingReader>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
