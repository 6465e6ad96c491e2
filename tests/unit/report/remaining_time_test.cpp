#include "report/remaining_time.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

MonitoredRun run_in(CampaignRunStatus status, std::chrono::milliseconds time, const std::string& model = "m") {
  MonitoredRun run{.name = "run", .status = status, .target = "cpp", .model = model};
  run.spent.time = time;
  return run;
}

using Status = CampaignRunStatus;

}  // namespace

TEST_CASE("the remaining time follows from the runs that are over", "[report][monitor]") {
  std::vector<MonitoredRun> runs{run_in(Status::Success, 90s),  run_in(Status::Failed, 110s),
                                 run_in(Status::Partial, 100s), run_in(Status::Running, 40s),
                                 run_in(Status::NotBegun, 0s),  run_in(Status::NotBegun, 0s)};
  const auto remaining = estimate_remaining_time(runs, 2);
  REQUIRE(remaining);
  CHECK(remaining->expected == 130s);
  CHECK(remaining->known_runs == 3);
  CHECK(remaining->low < 130s);
  CHECK(remaining->high > 130s);
  CHECK((remaining->high + remaining->low) / 2 - 130s < 10ms);
  // The longest run is not divided.
  CHECK(estimate_remaining_time(runs, 100)->expected == 100s);
  // A paused run does not go on by itself.
  runs.push_back(run_in(Status::Paused, 1s));
  CHECK(estimate_remaining_time(runs, 2)->expected == 130s);
}

TEST_CASE("runs of equal length leave no doubt, and runs of one model tell about it alone", "[report][monitor]") {
  const std::vector<MonitoredRun> runs{run_in(Status::Success, 10s),        run_in(Status::Success, 10s),
                                       run_in(Status::Success, 10s),        run_in(Status::Success, 1000s, "n"),
                                       run_in(Status::Success, 1000s, "n"), run_in(Status::Running, 4s)};
  const auto remaining = estimate_remaining_time(runs, 1);
  REQUIRE(remaining);
  CHECK(remaining->expected == 6s);
  CHECK(remaining->low == 6s);
  CHECK(remaining->high == 6s);
}

TEST_CASE("a run that takes longer than the others is not expected to end at once", "[report][monitor]") {
  const std::vector<MonitoredRun> runs{run_in(Status::Success, 10s), run_in(Status::Success, 10s),
                                       run_in(Status::Success, 10s), run_in(Status::Running, 1h)};
  // A quarter of the runs takes that long or longer; one has ended for every 1210 s of them all.
  CHECK(estimate_remaining_time(runs, 1)->expected == 1210s);
}

TEST_CASE("runs that end first do not speak for those that began with them", "[report][monitor]") {
  std::vector<MonitoredRun> runs(3, run_in(Status::Success, 10s));
  runs.insert(runs.end(), 9, run_in(Status::Running, 15s));
  runs.insert(runs.end(), 12, run_in(Status::NotBegun, 0s));
  const auto remaining = estimate_remaining_time(runs, 12);
  REQUIRE(remaining);
  // 165 s of runs for 3 ends: 55 s are left of each that goes on for more than 15 s. Three of four do, and take 10 s
  // and 5 s more before, so one that has not begun takes 10 + 3 / 4 * (5 + 55) = 55 s.
  CHECK(remaining->expected == 21 * 55000ms / 12);
  CHECK(remaining->low < remaining->expected - 15s);
}

TEST_CASE("without runs that are over, or in progress, nothing is estimated", "[report][monitor]") {
  CHECK_FALSE(estimate_remaining_time({}, 1));
  CHECK_FALSE(estimate_remaining_time(
      {run_in(Status::Success, 1s), run_in(Status::Success, 1s), run_in(Status::Running, 1s)}, 1));
  CHECK_FALSE(estimate_remaining_time({run_in(Status::Success, 1s), run_in(Status::Success, 1s),
                                       run_in(Status::Success, 1s), run_in(Status::NotBegun, 0s)},
                                      1));
}
