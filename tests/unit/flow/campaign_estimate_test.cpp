#include <kernelgen/flow/campaign_estimate.hpp>

#include "support/catch.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;

namespace {

constexpr Prices k_prices{.per_million_input = 1, .per_million_output = 10};

CampaignRequest priced_campaign(CampaignWorld& world, const std::vector<std::string>& names) {
  auto request = world.request_of(names);
  for (auto& run : request.runs) run.request.prices = k_prices;
  return request;
}

}  // namespace

TEST_CASE("a new campaign is estimated from its policy alone", "[flow][campaign][estimate]") {
  CampaignWorld world(3);
  const auto estimate = estimate_campaign(priced_campaign(world, {"a", "b"}));
  CHECK(estimate.counts == std::map<Status, int>{{Status::NotBegun, 2}});
  CHECK(estimate.selected == 2);
  CHECK(estimate.known_runs == 0);
  CHECK(estimate.max_actions == 3);
  CHECK(estimate.reply_tokens == 100);
  CHECK(estimate.requests.most == 6);
  CHECK_FALSE(estimate.requests.expected);
  // A prompt of the fake builder has some dozen bytes.
  REQUIRE(estimate.tokens.most);
  CHECK(*estimate.tokens.most >= 6 * 100);
  CHECK(*estimate.tokens.most <= 6 * 200);
  REQUIRE(estimate.cost.most);
  CHECK(*estimate.cost.most >= 6 * 100 * 10 / 1e6);
  CHECK_FALSE(estimate.device_seconds.most);
  CHECK_FALSE(estimate.seconds.expected);
  CHECK(world.count_requests() == 0);
  CHECK(world.benchmarker.requests().empty());
}

TEST_CASE("runs that are over tell what the others will take", "[flow][campaign][estimate]") {
  CampaignWorld world(3);
  REQUIRE(world.run(priced_campaign(world, {"a", "b"})));
  auto request = priced_campaign(world, {"a", "b", "c", "d"});
  auto estimate = estimate_campaign(request);
  CHECK(estimate.known_runs == 2);
  CHECK(estimate.selected == 2);
  CHECK(estimate.requests.expected == 6);
  CHECK(estimate.tokens.expected == Approx(6 * 110));
  CHECK(estimate.cost.expected == Approx(6 * (100 * 1 + 10 * 10) / 1e6));
  CHECK(estimate.device_seconds.expected == 0);
  CHECK(estimate.seconds.expected);
  // What a limit leaves is the most, and the expected number is not above it.
  request.limits.requests = 10;
  estimate = estimate_campaign(request);
  CHECK(estimate.requests.expected == 4);
  CHECK(estimate.requests.most == 4);
  // Fewer requests need less of everything.
  CHECK(estimate.tokens.expected == Approx(4 * 110));
  CHECK(estimate.cost.expected == Approx(4 * (100 * 1 + 10 * 10) / 1e6));
  CHECK(*estimate.tokens.most <= 4 * 200);
  request.limits.time = 90s;
  CHECK(estimate_campaign(request).seconds.most == 90);
}

TEST_CASE("a campaign takes at least as long as its devices are occupied", "[flow][campaign][estimate]") {
  CampaignWorld world(1);
  FakeBenchmarker slow([](const EvaluationRequest&) -> Result<EvaluationRecord> {
    auto record = correct_record(1.5);
    record.phases = {{"compile", 500}, {"wait for the device", 700}, {"timing", 600'000}};
    return record;
  });
  auto request = world.request_of({});
  request.runs.push_back(world.run_of("a", &slow));
  REQUIRE(world.run(request));
  request = world.request_of({"a", "b", "c", "d", "e"});
  CHECK(estimate_campaign(request).device_seconds.expected == 4 * 600);
  CHECK(estimate_campaign(request).seconds.expected == 4 * 600);
  for (auto& run : request.runs) run.request.parallel_evaluations = 3;
  CHECK(estimate_campaign(request).seconds.expected == 800);
}

TEST_CASE("without prices, a limit of replies or a prompt, an estimate says so", "[flow][campaign][estimate]") {
  CampaignWorld world;
  auto request = world.request_of({"a"});
  CHECK_FALSE(estimate_campaign(request).cost.most);
  request.runs[0].request.max_output_tokens.reset();
  const auto estimate = estimate_campaign(request);
  CHECK_FALSE(estimate.tokens.most);
  CHECK_FALSE(estimate.reply_tokens);
  CHECK(estimate.requests.most == 1);
}

TEST_CASE("a task's own limit and a longest prompt bound an estimate", "[flow][campaign][estimate]") {
  CampaignWorld world(5);
  auto request = world.request_of({"a", "b"});
  request.runs[0].request.budget.requests = 2;
  request.runs[0].request.max_prompt_tokens = 1000;
  const auto estimate = estimate_campaign(request);
  CHECK(estimate.requests.most == 7);
  CHECK(estimate.prompt_tokens == 1000);
}
