#include <malloc.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <kernelgen/report/monitor.hpp>
#include <kernelgen/store/campaign_plan.hpp>

#include "report/journal_clock.hpp"
#include "report/run_follower.hpp"
#include "sample_runs.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/golden.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// A results directory, and a reader with a clock of its own, which begins with the first event of the scripts.
class Watched {
 public:
  void add(const std::string& run, const std::vector<Event>& events) const {
    std::string text;
    for (const auto& event : events) text += to_json(event) + '\n';
    append(run, text);
  }
  void append(const std::string& run, const std::string& text) const {
    fs::create_directories(path(run));
    std::ofstream(path(run) / "events.jsonl", std::ios::app) << text;
  }
  [[nodiscard]] fs::path path(const std::string& name = "") const { return directory_.path() / "results" / name; }

  CampaignSnapshot poll() { return reader->poll(); }
  MonitoredRun poll_run(const std::string& name) {
    for (auto& run : poll().runs)
      if (run.name == name) return run;
    FAIL("no run " + name);
    return {};
  }

  std::chrono::system_clock::time_point now = std::chrono::sys_days(2025y / std::chrono::January / 31);

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::create(fs::temp_directory_path(), "monitor-").value();

 public:
  std::unique_ptr<CampaignReader> reader =
      make_campaign_reader({.directory = path(), .clock = [this] { return now; }, .idle_polls = 1});
};

Event event_at(std::chrono::system_clock::time_point time, EventBody body) {
  return {utc_iso8601(time), std::move(body)};
}

using Status = CampaignRunStatus;

}  // namespace

TEST_CASE("the runs of a results directory as they are now", "[report][monitor]") {
  Watched watched;
  watched.add("10_Relu", slow_events());
  watched.add("10_Relu/second", failed_events());
  watched.add("9_GRU", successful_events());
  watched.add("11_Sum", unfinished_events());
  watched.now += 1h;
  auto snapshot = watched.poll();
  snapshot.directory = "results";
  check_golden("monitor.json", monitor_json(snapshot) + '\n');
  CHECK(snapshot.counts ==
        std::map<Status, int>{{Status::Success, 1}, {Status::Partial, 1}, {Status::Failed, 1}, {Status::Running, 1}});
  REQUIRE(snapshot.runs.size() == 4);
  check_golden("monitor_run.json", monitor_run_json(snapshot.runs[0]) + '\n');
}

TEST_CASE("what the monitor counts is what the report counts", "[report][monitor]") {
  for (const auto& events : {successful_events(), slow_events(), failed_events()}) {
    Watched watched;
    watched.add("task", events);
    const auto run = watched.poll_run("task");
    const auto report = report_run("task", "", events);
    CHECK(run.finished_attempts == static_cast<int>(report.attempts.size()));
    CHECK(run.spent.requests == static_cast<std::int64_t>(report.requests.size()));
    CHECK(run.spent.evaluations == report.evaluations);
    CHECK(run.best == (report.best ? report.best->id : ""));
    CHECK(run.best_score ==
          (report.best && report.best->score ? std::optional(report.best->score->value) : std::nullopt));
    CHECK(std::chrono::duration<double, std::ratio<60>>(run.spent.time).count() == Approx(report.minutes));
  }
}

TEST_CASE("a run is followed through its phases", "[report][monitor]") {
  Watched watched;
  RunScript script("task");
  std::size_t written = 0;
  const auto write_new = [&] {
    watched.add("task", {script.events.begin() + static_cast<std::ptrdiff_t>(written), script.events.end()});
    written = script.events.size();
    return watched.poll_run("task");
  };
  const auto phases = [](MonitorPhase phase, int count = 1) { return std::map<MonitorPhase, int>{{phase, count}}; };
  CHECK(write_new().phases == phases(MonitorPhase::Preparing));
  script.add(TaskDescribed{});
  CHECK(write_new().phases == phases(MonitorPhase::Deciding));
  script.ask(1, "seed1", PromptKind::Seed);
  script.ask(2, "seed2", PromptKind::Seed);
  CHECK(write_new().phases == phases(MonitorPhase::Asking, 2));
  script.answer(1, {.input_tokens = 100, .output_tokens = 10});
  auto run = write_new();
  CHECK(run.phases == std::map<MonitorPhase, int>{{MonitorPhase::Asking, 1}, {MonitorPhase::Judging, 1}});
  CHECK(run.spent.tokens == 110);
  CHECK(run.attempts.at(0).phase == MonitorPhase::Judging);
  script.add(RequestDeferred{2, ErrorCode::Unavailable, "server said 503", "here"});
  run = write_new();
  CHECK(run.phases == std::map<MonitorPhase, int>{{MonitorPhase::Waiting, 1}, {MonitorPhase::Judging, 1}});
  CHECK(run.reason == "server said 503");
  script.finish_correct(1, 1.5);
  script.add(BestChanged{"seed1"});
  run = write_new();
  // Nothing but an outage: it goes on when it is started again.
  CHECK(run.status == Status::Paused);
  CHECK(run.best == "seed1");
  CHECK(run.best_score == 1.5);
  script.add(RequestSent{2});
  CHECK(write_new().status == Status::Running);
  script.add(RunFinished{"goal reached", true});
  run = write_new();
  CHECK(run.status == Status::Success);
  CHECK(run.phases.empty());
  CHECK(run.reason == "goal reached");
}

TEST_CASE("a directory that appears later is watched from then on", "[report][monitor]") {
  Watched watched;
  CHECK(watched.poll().problem.find("it does not exist") != std::string::npos);
  fs::create_directories(watched.path());
  CHECK(watched.poll().problem.find("it holds no run") != std::string::npos);
  watched.add("9_GRU", successful_events());
  CHECK(watched.poll().problem.empty());
  CHECK(watched.poll().runs.size() == 1);
  fs::remove_all(watched.path());
  CHECK(watched.poll().runs.empty());
}

TEST_CASE("the directory of one run is watched, too", "[report][monitor]") {
  Watched watched;
  watched.add("9_GRU", successful_events());
  const auto reader = make_campaign_reader({.directory = watched.path("9_GRU/")});
  CHECK(reader->poll().runs.at(0).name == "9_GRU");
}

TEST_CASE("the plan tells the limits, and the runs that have not begun", "[report][monitor]") {
  Watched watched;
  watched.add("b", unfinished_events());
  CampaignPlan plan{.started = "2025-01-31T00:00:00.000Z",
                    .ended = "",
                    .limits = {.tokens = 5000, .cost = 2.5},
                    .parallel_runs = 2,
                    .runs = {{"a", "a", "cpp", "m", 7}, {"b (second)", "b", "cpp", "m", 9}}};
  REQUIRE(write_campaign_plan(watched.path(), plan));
  auto snapshot = watched.poll();
  REQUIRE(snapshot.runs.size() == 2);
  CHECK(snapshot.runs[0].status == Status::NotBegun);
  CHECK(snapshot.runs[0].max_attempts == 7);
  CHECK(snapshot.runs[1].name == "b (second)");
  CHECK(snapshot.runs[1].max_attempts == 9);
  CHECK(snapshot.limits.tokens == 5000);
  CHECK(snapshot.limits.cost == 2.5);
  CHECK(snapshot.runs[1].status == Status::Running);
  // The session has ended, and nothing came since.
  plan.ended = "2025-01-31T01:00:00.000Z";
  REQUIRE(write_campaign_plan(watched.path(), plan));
  CHECK(watched.poll().runs[1].status == Status::Paused);
  watched.add("b", {event_at(std::chrono::sys_days(2025y / std::chrono::January / 31) + 2h, RunResumed{"0.1.0"})});
  CHECK(watched.poll().runs[1].status == Status::Running);
  // A run that is over and is continued is in progress again.
  watched.add("b",
              {event_at(std::chrono::sys_days(2025y / std::chrono::January / 31) + 3h, RunFinished{"over", true})});
  CHECK(watched.poll().runs[1].status == Status::Success);
  watched.add("b", {event_at(std::chrono::sys_days(2025y / std::chrono::January / 31) + 4h,
                             RunContinued{"0.1.0", "hybrid", {}, "scripted"})});
  CHECK(watched.poll().runs[1].status == Status::Running);
}

TEST_CASE("a plan that cannot be read is no plan", "[report][monitor]") {
  Watched watched;
  watched.add("9_GRU", successful_events());
  for (const char* text : {"", "{", "[]", "{\"schema\": 99}", "{\"schema\": 1, \"runs\": 3}"}) {
    std::ofstream(watched.path("campaign.json")) << text;
    CHECK_FALSE(read_campaign_plan(watched.path()));
    CHECK(watched.poll().runs.size() == 1);
  }
  std::ofstream(watched.path("campaign.json")) << R"({"schema": 1, "runs": [{"name": "../../x", "directory": "/a"}]})";
  CHECK(watched.poll().runs.size() == 2);
}

TEST_CASE("a damaged journal is an error of its run alone, until it is replaced", "[report][monitor]") {
  Watched watched;
  watched.add("good", successful_events());
  watched.append("bad", "{\"schema\": 1}\n");
  watched.append("torn", "{\"schema\": 1, \"type\": \"run_sta");
  watched.append("newer", "{\"schema\": 99, \"type\": \"run_started\"}\n");
  auto snapshot = watched.poll();
  CHECK(snapshot.counts == std::map<Status, int>{{Status::Success, 1}, {Status::Error, 2}, {Status::NotBegun, 1}});
  const auto run = watched.poll_run("bad");
  CHECK(run.reason == "line 1 of its journal: not an event: it lacks a schema number or a type");
  CHECK(run.phases.empty());
  std::ofstream(watched.path("bad/events.jsonl")) << to_json(slow_events().front()) + '\n';
  CHECK(watched.poll_run("bad").status == Status::Running);
}

TEST_CASE("wrong clocks give no negative ages", "[report][monitor]") {
  Watched watched;
  watched.add("task", unfinished_events());
  // Our clock is a day behind.
  watched.now -= 24h;
  CHECK(watched.poll_run("task").silent == 0ms);
  watched.now += 10s;
  CHECK(watched.poll_run("task").silent == 0ms);
  // The clock of the writer is known as soon as an event appears.
  const auto theirs = std::chrono::sys_days(2025y / std::chrono::January / 31) + 1h;
  watched.add("task", {event_at(theirs, RequestSent{1})});
  CHECK(watched.poll_run("task").silent == 0ms);
  watched.now += 10s;
  CHECK(watched.poll_run("task").silent == 10s);
  CHECK(watched.poll_run("task").attempts.at(0).age == 10s);
  // An event from the past, an unreadable time.
  watched.add("task", {event_at(theirs - 48h, RequestSent{1}), Event{"yesterday", RequestSent{1}}});
  for (const auto& attempt : watched.poll_run("task").attempts) CHECK(attempt.age >= 0ms);
}

TEST_CASE("a run that was killed does not take time for ever", "[report][monitor]") {
  Watched watched;
  watched.add("task", unfinished_events());
  watched.now += 3min;
  // Half a minute between the two sessions does not count.
  CHECK(watched.poll_run("task").spent.time == 150s);
  CHECK(watched.poll().spent.time == 150s);
  watched.now += 24h;
  CHECK(watched.poll_run("task").spent.time == 12min);
  CHECK(watched.poll().spent.time == 12min);
}

TEST_CASE("the clock of a journal is estimated from what appears", "[report][monitor]") {
  JournalClock clock;
  const JournalClock::Time ours{std::chrono::hours{1000}};
  CHECK_FALSE(clock.now(ours));
  clock.see_old(ours - 5min);
  CHECK(clock.now(ours) == ours);
  // Theirs is an hour behind; the file system shows events up to 30 s late.
  clock.see_new(ours - 1h, ours + 30s);
  CHECK(clock.now(ours + 30s) == ours - 5min);
  clock.see_new(ours + 1min - 1h, ours + 1min);
  CHECK(clock.now(ours + 2h) == ours + 1h);
}

TEST_CASE("rates and loads are those of the last ten minutes", "[report][monitor]") {
  Watched watched;
  RunScript script("task");
  for (int i = 1; i <= 40; ++i) script.ask(i, "seed" + std::to_string(i), PromptKind::Seed);
  auto result = script.result(1, ActionStatus::Evaluated);
  auto& record = result.record.emplace();
  record.environment.device = "cpu: a processor";
  record.phases = {{"compile", 5000}, {"wait for the device", 9000}, {"timing", 60'000}, {"end", 60'000}};
  script.add(ActionFinished{std::move(result)});
  watched.add("task", script.events);
  watched.now += 30s * 81;
  const auto snapshot = watched.poll();
  CHECK(snapshot.requests_per_minute == Approx(1.0).margin(0.11));
  REQUIRE(snapshot.devices.size() == 1);
  CHECK(snapshot.devices[0].busy == 2min);
  CHECK(snapshot.devices[0].recent_use == Approx(0.2));
  watched.now += 1h;
  CHECK(watched.poll().requests_per_minute == 0);
  CHECK(watched.poll().devices[0].recent_use == 0);
}

TEST_CASE("the last errors are those of all runs, the latest first", "[report][monitor]") {
  Watched watched;
  watched.add("slow", slow_events());
  watched.add("failed", failed_events());
  const auto snapshot = watched.poll();
  std::vector<std::string> errors;
  for (const auto& error : snapshot.errors)
    errors.push_back(error.run + ' ' + std::string(to_string(error.kind)) + ' ' + error.action + ": " + error.message);
  CHECK(errors == std::vector<std::string>{
                      "failed kernel seed1/repair1: no_code: no code block has kgen_run",
                      "failed kernel seed1: compile:undeclared: line 3: error: 'x' was not declared in this scope",
                      "slow model seed1: server said 503"});
  CHECK(snapshot.failures ==
        std::map<std::string, int>{{"compile:undeclared", 1}, {"model_failed", 1}, {"no_code", 1}});
}

TEST_CASE("hostile texts are short lines without control characters", "[report][monitor]") {
  Watched watched;
  RunScript script("task", "model \x1b[2J");
  script.ask(1, "seed1\x1b]0;title\a\n\xe2\x80\xae", PromptKind::Seed);
  auto failed = script.result(1, ActionStatus::NoCode);
  failed.message = std::string(10'000'000, 'x') + "\x1b[31m\r\n";
  script.add(ActionFinished{std::move(failed)});
  watched.add("task", script.events);
  const auto run = watched.poll_run("task");
  CHECK(run.attempts.at(0).message.size() <= 400);
  CHECK(run.attempts.at(0).id == "seed1");
  CHECK(run.model == "model");
}

TEST_CASE("journals that begin anew, and winners that are judged again, are counted once", "[report][monitor]") {
  Watched watched;
  auto events = failed_events();
  const auto again = successful_events();
  events.insert(events.end(), again.begin(), again.end());
  watched.add("task", events);
  auto run = watched.poll_run("task");
  CHECK(run.status == Status::Success);
  CHECK(run.finished_attempts == 4);
  CHECK(run.spent.requests == 6);
  RunScript script("task");
  script.ask(4, "seed1/optimize", PromptKind::Optimize);
  auto watched_winner = script.result(4, ActionStatus::Evaluated);
  watched_winner.record.emplace().outcome = {OutcomeKind::Sanitizer, "race", "a race"};
  watched.add("task", {event_at(watched.now + 1h, ActionFinished{std::move(watched_winner)}),
                       event_at(watched.now + 1h, BestChanged{"seed1/repair1"})});
  run = watched.poll_run("task");
  CHECK(run.finished_attempts == 4);
  CHECK(run.best == "seed1/repair1");
  CHECK(run.best_score == 1.25);
}

TEST_CASE("a large journal is read in several looks", "[report][monitor]") {
  Watched watched;
  for (const char* name : {"a", "b", "c"}) watched.add(name, successful_events());
  const auto reader = make_campaign_reader({.directory = watched.path(), .max_bytes_per_poll = 1});
  const auto first = reader->poll();
  CHECK(first.runs.size() == 3);
  CHECK(first.unread_bytes >= 2);
  for (int i = 0; i < 10; ++i) static_cast<void>(reader->poll());
  const auto snapshot = reader->poll();
  CHECK(snapshot.unread_bytes == 0);
  CHECK(snapshot.counts == std::map<Status, int>{{Status::Success, 3}});
}

TEST_CASE("a run of many events takes a bounded amount of memory", "[report][monitor]") {
  // Sanitizers report no allocated bytes.
  const auto allocated = [] { return static_cast<std::int64_t>(::mallinfo2().uordblks); };
  RunFollower follower;
  RunScript script("task");
  follower.see(script.events.front(), {});
  const auto see_attempts = [&](int from, int to) {
    for (int i = from; i <= to; ++i) {
      RunScript one("task");
      one.ask(i, "seed" + std::to_string(i), PromptKind::Seed);
      one.answer(i, {});
      one.finish_wrong(i, {OutcomeKind::Accuracy, "mismatch", std::string(1000, 'x')});
      for (std::size_t event = 1; event < one.events.size(); ++event) follower.see(std::move(one.events[event]), {});
    }
  };
  see_attempts(1, 1000);
  const auto before = allocated();
  see_attempts(1001, 20'000);
  CHECK(allocated() - before <= 300'000);
  const auto run = follower.view({}, {});
  CHECK(run.finished_attempts == 20'000);
  CHECK(run.attempts.size() == 300);
  CHECK(run.omitted_attempts == 19'700);
  CHECK(run.spent.requests == 20'000);
}
