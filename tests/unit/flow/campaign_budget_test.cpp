// The budget of a campaign: limits with concurrent runs, and what a resumed campaign counts.
#include <algorithm>
#include <atomic>
#include <thread>

#include "support/catch.hpp"
#include "unit/flow/campaign_world.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;
using namespace kernelgen::testing;
using Status = CampaignRunStatus;

TEST_CASE("concurrent runs never send more requests than the campaign may", "[flow][campaign][budget]") {
  CampaignWorld world(3);
  auto request = world.request_of(run_names(10));
  request.parallel_runs = 5;
  request.limits.requests = 13;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(world.count_requests() == 13);
  CHECK(outcome->spent.requests == 13);
  const auto counts = outcome->counts();
  CHECK(counts.at(Status::BudgetExhausted) >= 1);
  for (const auto& run : outcome->runs)
    if (run.status == Status::BudgetExhausted)
      CHECK(run.reason.find("the campaign's budget of 13 requests is used up") == 0);
  // The same request has nothing left to spend, and a larger budget goes on: every sample was asked for once.
  const auto again = world.run(request);
  REQUIRE(again);
  CHECK(world.count_requests() == 13);
  CHECK(again->spent.requests == 13);
  request.limits.requests = 30;
  const auto rest = world.run(request);
  REQUIRE(rest);
  CHECK(rest->counts() == std::map<Status, int>{{Status::Success, 10}});
  CHECK(rest->spent.requests == 30);
  for (const auto& [id, times] : world.model.asked()) {
    INFO(id);
    CHECK(times == 1);
  }
}

TEST_CASE("concurrent runs never spend more tokens and money than the campaign may", "[flow][campaign][budget]") {
  const auto limits =
      GENERATE(CampaignLimits{.tokens = 2000, .cost = 1}, CampaignLimits{.tokens = 20'000, .cost = 0.01});
  std::atomic<int> number = 0;
  CampaignWorld world(
      [&](const LLMRequest&, std::stop_token) -> Result<Reply> {
        auto reply = *CampaignWorld::kernel();
        // From nothing to all that was reserved: the prompt has less than 100 tokens by any count.
        reply.usage.input_tokens = 10;
        reply.usage.output_tokens = ++number % 5 * 25;
        std::this_thread::sleep_for(1ms);
        return reply;
      },
      4);
  auto request = world.request_of(run_names(12));
  request.parallel_runs = 6;
  request.limits = limits;
  for (auto& run : request.runs) run.request.prices = Prices{.per_million_input = 1, .per_million_output = 10};
  std::int64_t most_tokens = 0;
  double most_cost = 0;
  int warnings = 0;
  world.observer = [&](const CampaignNotice& notice, const CampaignProgress& progress) {
    most_tokens = std::max(most_tokens, progress.spent.tokens);
    most_cost = std::max(most_cost, progress.spent.cost);
    warnings += std::holds_alternative<CampaignBudgetWarning>(notice) ? 1 : 0;
  };
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(most_tokens <= *limits.tokens);
  CHECK(most_cost <= *limits.cost);
  CHECK(warnings == 1);
  CHECK(outcome->counts().at(Status::BudgetExhausted) >= 1);
  // What is left of one of them is less than one request may need.
  const bool used_up = outcome->spent.tokens > *limits.tokens - 200 || outcome->spent.cost > *limits.cost - 0.0015;
  CHECK(used_up);
}

TEST_CASE("a request waits for the reservations of others, and is sent when they have used less",
          "[flow][campaign][budget]") {
  CampaignWorld world;
  auto request = world.request_of(run_names(6));
  request.parallel_runs = 6;
  // Each request may need more than half of it and uses 11 tokens.
  request.limits.tokens = 1000;
  for (auto& run : request.runs) run.request.max_output_tokens = 600;
  world.benchmarker.progress_steps.clear();
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  // 110 tokens each: the fourth still fits (330 + 600 + prompt), the fifth does not (440 + 600).
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 4}, {Status::BudgetExhausted, 2}});
}

TEST_CASE("requests whose answer is unknown count in full when the campaign is resumed", "[flow][campaign][budget]") {
  CampaignWorld world([](const LLMRequest&, std::stop_token) -> Result<Reply> {
    return Error{ErrorCode::Timeout, "no answer in time"};
  });
  auto request = world.request_of({"a"});
  request.limits.tokens = 1000;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->runs[0].status == Status::Paused);
  // 100 tokens of the reply, and those of the prompt.
  const auto counted = outcome->spent.tokens;
  CHECK(counted > 200);
  const auto sent = world.count_requests();
  CHECK(outcome->spent.requests == sent);
  request.limits.tokens = 1;
  const auto again = world.run(request);
  REQUIRE(again);
  CHECK(again->spent.tokens == counted);
  CHECK(again->spent.requests == sent);
  CHECK(world.count_requests() == sent);
}

TEST_CASE("a run's own budget ends it beside that of the campaign", "[flow][campaign][budget]") {
  CampaignWorld world(4);
  auto request = world.request_of({"a", "b"});
  request.limits.requests = 100;
  request.runs[0].request.budget.requests = 2;
  request.runs[0].request.parallel_requests = 1;
  const auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->runs[0].reason == "the budget of 2 requests is used up");
  CHECK(outcome->runs[0].status == Status::Success);
  CHECK(outcome->runs[1].spent.requests == 4);
  CHECK(outcome->spent.requests == 6);
}

TEST_CASE("the time of a campaign ends its requests, and counts on when it is resumed", "[flow][campaign][budget]") {
  std::atomic<std::int64_t> seconds = 0;
  std::atomic<bool> is_first_session = true;
  CampaignWorld world([&](const LLMRequest& request, std::stop_token) {
    if (is_first_session) CHECK(request.timeout <= 100s - std::chrono::seconds(seconds));
    seconds += 40;
    return CampaignWorld::kernel();
  });
  auto request = world.request_of(run_names(5));
  request.parallel_runs = 1;
  request.limits.time = 100s;
  request.clock = [&] {
    return std::chrono::system_clock::time_point(std::chrono::hours(24 * 365 * 50)) + std::chrono::seconds(seconds);
  };
  auto outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 3}, {Status::BudgetExhausted, 2}});
  CHECK(outcome->spent.time == 120s);
  CHECK(outcome->runs[3].reason.find("the campaign's budget of") == 0);
  // The night between two sessions does not count.
  seconds += 30'000;
  is_first_session = false;
  request.limits.time = 160s;
  outcome = world.run(request);
  REQUIRE(outcome);
  CHECK(outcome->counts() == std::map<Status, int>{{Status::Success, 4}, {Status::BudgetExhausted, 1}});
}
