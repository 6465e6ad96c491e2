// A campaign that was stopped anywhere goes on from its journals, and asks for no reply twice.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "support/catch.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;
namespace fs = std::filesystem;

namespace {

/// The lines of a file, with their ends.
std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + '\n');
  return lines;
}

/// Writes the first lines of a journal, as a process leaves it that was killed after them, and half of the next.
void write_cut_journal(const fs::path& directory, const std::vector<std::string>& lines, std::size_t count) {
  fs::create_directories(directory);
  std::ofstream out(directory / "events.jsonl");
  for (std::size_t i = 0; i < count; ++i) out << lines[i];
  if (count < lines.size()) out << lines[count].substr(0, lines[count].size() / 2);
}

/// Number of events of one type in a run's journal.
template <class T>
std::size_t count_events(const fs::path& directory) {
  std::size_t count = 0;
  if (const auto events = read_run_events(directory))
    for (const auto& event : *events) count += std::holds_alternative<T>(event.body) ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("a campaign that was killed anywhere goes on, and pays for nothing twice", "[flow][campaign][resume]") {
  CampaignWorld first(2);
  const std::vector<std::string> names{"a", "b"};
  auto request = first.request_of(names);
  request.parallel_runs = 1;
  for (auto& run : request.runs) run.request.parallel_requests = 1;
  const auto whole = first.run(request);
  REQUIRE(whole);
  std::map<std::string, std::vector<std::string>> lines;
  std::size_t most = 0;
  for (const auto& name : names) {
    lines[name] = lines_of(first.results() / name / "events.jsonl");
    most = std::max(most, lines[name].size());
  }
  // The second run is some events behind the first.
  for (std::size_t cut = 0; cut <= most; ++cut) {
    INFO("after " << cut << " events");
    CampaignWorld world(2);
    std::size_t arrived = 0, sent = 0;
    for (const auto& name : names) {
      const auto count = std::min(name == "a" ? cut : cut / 2, lines[name].size());
      write_cut_journal(world.results() / name, lines[name], count);
      arrived += count_events<ReplyArrived>(world.results() / name);
      sent += count_events<RequestSent>(world.results() / name);
    }
    auto resumed = world.request_of(names);
    resumed.limits.requests = 100;
    const auto outcome = world.run(resumed);
    REQUIRE(outcome);
    CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 2}});
    // Exactly the replies that had not arrived were asked for; the budget counts those of unknown answer as well.
    CHECK(static_cast<std::size_t>(world.count_requests()) == 4 - arrived);
    CHECK(static_cast<std::size_t>(outcome->spent.requests) == sent + (4 - arrived));
    std::size_t unknown = 0;
    for (const auto& name : names) unknown += count_events<RequestUnknown>(world.results() / name);
    CHECK(unknown == sent - arrived);
  }
}

TEST_CASE("a cancelled campaign starts nothing more, and the same request goes on", "[flow][campaign][resume]") {
  std::stop_source stop;
  std::atomic<int> answered = 0;
  std::atomic<bool> cancels = true;
  CampaignWorld world(
      [&](const LLMRequest&, std::stop_token token) -> Result<Reply> {
        if (token.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
        if (++answered == 7 && cancels) stop.request_stop();
        return CampaignWorld::kernel();
      },
      2);
  const auto request = world.request_of(run_names(10));
  const auto outcome = world.run(request, stop.get_token());
  REQUIRE(outcome);
  CHECK(outcome->cancelled);
  const auto counts = outcome->counts();
  CHECK(counts.at(Status::NotBegun) >= 3);
  CHECK(counts.contains(Status::Paused));
  CHECK_FALSE(counts.contains(Status::Running));
  CHECK_FALSE(counts.contains(Status::Error));
  const auto arrived = [&] {
    std::size_t sum = 0;
    for (const auto& run : request.runs) sum += count_events<ReplyArrived>(run.directory);
    return sum;
  };
  const auto before = arrived();
  const auto asked = world.model.asked();
  cancels = false;
  const auto rest = world.run(request);
  REQUIRE(rest);
  CHECK_FALSE(rest->cancelled);
  CHECK(rest->counts() == std::map<Status, int>{{Status::Success, 10}});
  CHECK(arrived() == 20);
  int asked_again = 0;
  for (const auto& [id, times] : world.model.asked()) asked_again += times - (asked.contains(id) ? asked.at(id) : 0);
  CHECK(static_cast<std::size_t>(asked_again) == 20 - before);
}

TEST_CASE("a cancelled campaign ends although requests wait for its budget", "[flow][campaign][resume]") {
  std::stop_source stop;
  std::atomic<int> waiting = 0;
  CampaignWorld world([&](const LLMRequest&, std::stop_token token) -> Result<Reply> {
    ++waiting;
    while (!token.stop_requested()) std::this_thread::sleep_for(1ms);
    return Error{ErrorCode::Cancelled, "cancelled"};
  });
  auto request = world.request_of(run_names(4));
  request.parallel_runs = 4;
  request.limits.requests = 1;
  std::jthread canceller([&] {
    while (waiting == 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(10ms);
    stop.request_stop();
  });
  const auto outcome = world.run(request, stop.get_token());
  REQUIRE(outcome);
  CHECK(outcome->cancelled);
  CHECK(world.count_requests() == 1);
  // Only the one that was sent may have been paid for.
  std::size_t sent = 0;
  for (const auto& run : request.runs) sent += count_events<RequestSent>(run.directory);
  CHECK(sent == 1);
  CHECK(outcome->spent.requests == 1);
}

TEST_CASE("a clock that jumps back or forward loses nothing, and time never decreases", "[flow][campaign][resume]") {
  const auto jump = GENERATE(std::chrono::hours(-24 * 400), std::chrono::hours(24 * 400));
  CampaignWorld whole(3), world(3);
  REQUIRE(whole.run(whole.request_of(run_names(4))));
  auto request = world.request_of(run_names(4));
  request.limits.requests = 100;
  std::atomic<int> calls = 0;
  // Of five calls three get another time.
  request.clock = [&] {
    const auto now = std::chrono::system_clock::now();
    return ++calls % 5 < 2 ? now : now + jump;
  };
  auto last = std::chrono::milliseconds{0};
  world.observer = [&](const CampaignNotice&, const CampaignProgress& progress) {
    CHECK(progress.spent.time >= last);
    last = progress.spent.time;
  };
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<CampaignRunStatus, int>{{CampaignRunStatus::Success, 4}});
  CHECK(world.model.asked() == whole.model.asked());
  // Nothing is left to do, whatever the clock says now.
  request.clock = [jump] { return std::chrono::system_clock::now() + 2 * jump; };
  const auto again = world.run(request);
  REQUIRE(again);
  CHECK(again->counts() == outcome->counts());
  CHECK(world.model.asked() == whole.model.asked());
  CHECK(again->spent.requests == 12);
}
