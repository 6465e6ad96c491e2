// A campaign goes on with other options, and is resumed from its journals all the same.
#include <algorithm>
#include <fstream>

#include "support/catch.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;
namespace fs = std::filesystem;

namespace {

/// A request that continues the runs with these names.
CampaignRequest continued_request(CampaignWorld& world, const std::vector<std::string>& names) {
  auto request = world.request_of(names);
  request.parallel_runs = 1;
  for (auto& run : request.runs) {
    run.request.continues = true;
    run.request.parallel_requests = 1;
  }
  return request;
}

std::size_t count_continuations(const fs::path& directory) {
  const auto events = read_run_events(directory);
  REQUIRE(events);
  return static_cast<std::size_t>(std::count_if(events->begin(), events->end(), [](const Event& event) {
    return std::holds_alternative<RunContinued>(event.body);
  }));
}

/// The lines of a journal, with their ends.
std::vector<std::string> journal_lines(const fs::path& directory) {
  std::ifstream in(directory / "events.jsonl");
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line + '\n');
  return lines;
}

void write_journal(const fs::path& directory, const std::vector<std::string>& lines, std::size_t count) {
  fs::create_directories(directory);
  std::ofstream out(directory / "events.jsonl");
  for (std::size_t i = 0; i < count; ++i) out << lines[i];
}

/// Copies the journals of one world to another one.
void copy_results(const CampaignWorld& from, const CampaignWorld& to, const std::vector<std::string>& names) {
  for (const auto& name : names) {
    const auto lines = journal_lines(from.results() / name);
    write_journal(to.results() / name, lines, lines.size());
  }
}

const std::vector<std::string> k_both{"a", "b"};

}  // namespace

TEST_CASE("a campaign that is over is continued with other options", "[flow][campaign][continue]") {
  CampaignWorld first(1), later(3);
  REQUIRE(first.run(first.request_of(k_both)));
  copy_results(first, later, k_both);
  // "c" is new, and begins.
  const auto request = continued_request(later, {"a", "b", "c"});
  for (const auto& run : read_campaign(request.runs)) {
    INFO(run.name);
    CHECK(run.status == (run.name == "c" ? Status::NotBegun : Status::Paused));
    if (run.name == "c") continue;
    CHECK(run.reason == "over, and to be continued with other options");
    CHECK(run.difference ==
          "this run was started with policy.samples 1, not 3; give the new one a journal of its own, or continue this "
          "one");
    CHECK(run.finished_actions == 1);
    CHECK(run.max_actions == 4);
  }
  const auto outcome = later.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}});
  // Only what is new was asked for.
  CHECK(later.count_requests() == 2 + 2 + 3);
  CHECK(outcome->runs[0].spent.requests == 3);
  CHECK(outcome->runs[0].difference.empty());
  CHECK(count_continuations(later.results() / "a") == 1);
  CHECK(count_continuations(later.results() / "c") == 0);
}

TEST_CASE("the same request does not continue a campaign a second time", "[flow][campaign][continue]") {
  CampaignWorld first(1), later(2);
  REQUIRE(first.run(first.request_of(k_both)));
  copy_results(first, later, k_both);
  const auto request = continued_request(later, k_both);
  REQUIRE(later.run(request));
  const auto asked = later.count_requests();
  const auto again = later.run(request);
  REQUIRE(again);
  CHECK(later.started.empty());
  CHECK(later.count_requests() == asked);
  CHECK(again->counts() == std::map<Status, int>{{Status::Success, 2}});
  for (const auto& name : k_both) CHECK(count_continuations(later.results() / name) == 1);
}

TEST_CASE("a continued campaign that was killed anywhere goes on to the same end",
          "[flow][campaign][continue][resume]") {
  CampaignWorld first(1), whole(3);
  REQUIRE(first.run(first.request_of(k_both)));
  copy_results(first, whole, k_both);
  const auto expected = whole.run(continued_request(whole, k_both));
  REQUIRE(expected);
  const auto begin = journal_lines(first.results() / "a").size();
  const auto lines_a = journal_lines(whole.results() / "a"), lines_b = journal_lines(whole.results() / "b");
  REQUIRE(begin < lines_a.size());
  for (std::size_t cut = begin; cut <= lines_a.size(); ++cut) {
    INFO("after " << cut << " events of " << lines_a.size());
    CampaignWorld world(3);
    write_journal(world.results() / "a", lines_a, cut);
    // The other run begins when the first is over.
    write_journal(world.results() / "b", lines_b, begin);
    const auto outcome = world.run(continued_request(world, k_both));
    REQUIRE(outcome);
    CHECK(statuses_of(*outcome) == statuses_of(*expected));
    for (std::size_t i = 0; i < k_both.size(); ++i) {
      CHECK(outcome->runs[i].best == expected->runs[i].best);
      CHECK(outcome->runs[i].finished_actions == expected->runs[i].finished_actions);
      CHECK(count_continuations(world.results() / k_both[i]) == 1);
    }
  }
}

TEST_CASE("a run that another process has continued meanwhile stays over", "[flow][campaign][continue]") {
  CampaignWorld first(1), later(2);
  REQUIRE(first.run(first.request_of(k_both)));
  copy_results(first, later, k_both);
  const auto request = continued_request(later, k_both);
  // While "a" is in progress, another process continues "b".
  bool continued_b = false;
  later.observer = [&](const CampaignNotice& notice, const CampaignProgress& progress) {
    const auto* started = std::get_if<CampaignRunStarted>(&notice);
    if (started == nullptr || progress.runs[started->run].name != "a" || continued_b) return;
    continued_b = true;
    CampaignWorld other(2);
    copy_results(first, other, {"b"});
    REQUIRE(other.run(continued_request(other, {"b"})));
    copy_results(other, later, {"b"});
  };
  const auto outcome = later.run(request);
  REQUIRE(outcome);
  CHECK(continued_b);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 2}});
  CHECK(later.count_requests() == 1);
  CHECK(count_continuations(later.results() / "b") == 1);
}

TEST_CASE("runs that cannot be continued say why, and the others go on", "[flow][campaign][continue]") {
  CampaignWorld first(1), later(2);
  REQUIRE(first.run(first.request_of(k_both)));
  copy_results(first, later, k_both);
  auto request = continued_request(later, k_both);
  request.runs[0].request.evaluation.precision = PrecisionClass::Tf32;
  const auto outcome = later.run(request);
  REQUIRE(outcome);
  CHECK(statuses_of(*outcome) == std::map<std::string, Status>{{"a", Status::Error}, {"b", Status::Success}});
  CHECK(outcome->runs[0].reason.find("cannot be continued with tf32") != std::string::npos);
}

TEST_CASE("a paused run is continued with other options, and refused without the wish", "[flow][campaign][continue]") {
  CampaignWorld first(2), later(3);
  auto small = first.request_of({"a"});
  small.runs[0].request.parallel_requests = 1;
  small.limits.requests = 1;
  const auto stopped = first.run(small);
  REQUIRE(stopped);
  REQUIRE(stopped->runs[0].status == Status::BudgetExhausted);
  copy_results(first, later, {"a"});
  const auto refused = later.run(later.request_of({"a"}));
  REQUIRE(refused);
  CHECK(refused->runs[0].status == Status::Error);
  CHECK(refused->runs[0].reason.find("policy.samples 2, not 3; give the new one a journal of its own, or continue this "
                                     "one") != std::string::npos);
  const auto outcome = later.run(continued_request(later, {"a"}));
  REQUIRE(outcome);
  CHECK(outcome->runs[0].status == Status::Success);
  CHECK(outcome->runs[0].spent.requests == 3);
}

TEST_CASE("a failed run that may be continued does not begin anew", "[flow][campaign][continue]") {
  CampaignWorld first([](const LLMRequest&, std::stop_token) { return CampaignWorld::kernel("wrong"); });
  CampaignWorld later(2);
  REQUIRE(first.run(first.request_of({"a"})));
  copy_results(first, later, {"a"});
  auto request = continued_request(later, {"a"});
  request.selection = RunSelection::All;
  const auto outcome = later.run(request);
  REQUIRE(outcome);
  CHECK(outcome->runs[0].status == Status::Success);
  CHECK(outcome->runs[0].best == "sample2");
  CHECK(later.count_requests() == 1);
}
