#include "flow/shared_budget.hpp"

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;

namespace {

/// A clock that stands still until a test moves it.
struct ManualClock {
  std::chrono::system_clock::time_point now{};
  TimeSource source() {
    return [this] { return now; };
  }
};

SharedBudget make_budget(CampaignLimits limits, Spending spent = {}) {
  return {limits, spent, 0ms, [] { return std::chrono::system_clock::time_point{}; }};
}

}  // namespace

TEST_CASE("without limits every request fits, and what is used is counted", "[flow][budget]") {
  auto budget = make_budget({}, {.requests = 2, .tokens = 100, .cost = 0.5});
  auto reservation = budget.reserve({.requests = 1, .tokens = 1'000'000, .cost = 50}, {});
  REQUIRE(reservation);
  CHECK(budget.reserved() == Spending{1, 1'000'000, 50});
  reservation->settle({.requests = 1, .tokens = 40, .cost = 0.25});
  CHECK(budget.reserved() == Spending{});
  CHECK(budget.spent() == Spending{3, 140, 0.75});
  CHECK(budget.used_fraction() == 0);
}

TEST_CASE("a request that can never fit is refused at once, with the numbers", "[flow][budget]") {
  auto budget = make_budget({.tokens = 1000}, {.requests = 1, .tokens = 900});
  const auto refused = budget.reserve({.requests = 1, .tokens = 101}, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Pending);
  CHECK(refused.error().message ==
        "the campaign's budget of 1000 tokens does not allow another request: 900 are spent, and the request may need "
        "101");
  CHECK(budget.reserve({.requests = 1, .tokens = 100}, {}));
  auto money = make_budget({.cost = 2});
  CHECK(money.reserve({.requests = 1, .cost = 2.5}, {}).error().message ==
        "the campaign's budget of cost 2 does not allow another request: 0 are spent, and the request may need 2.5");
  auto requests = make_budget({.requests = 3}, {.requests = 3});
  CHECK(requests.reserve({.requests = 1}, {}).error().message == "the campaign's budget of 3 requests is used up");
}

TEST_CASE("a reservation that is dropped is released, and one of unknown cost counts in full", "[flow][budget]") {
  auto budget = make_budget({.tokens = 100});
  { const auto dropped = budget.reserve({.requests = 1, .tokens = 100}, {}); }
  CHECK(budget.spent() == Spending{});
  auto unknown = budget.reserve({.requests = 1, .tokens = 100}, {});
  REQUIRE(unknown);
  // What was moved from holds nothing.
  auto moved = *std::move(unknown);
  moved.settle_in_full();
  CHECK(budget.spent() == Spending{1, 100, 0});
  CHECK(budget.used_fraction() == 1);
}

TEST_CASE("a request waits while others have reserved what it needs, oldest first", "[flow][budget]") {
  auto budget = make_budget({.tokens = 100});
  auto first = budget.reserve({.requests = 1, .tokens = 60}, {});
  REQUIRE(first);
  std::atomic<int> order = 0;
  std::atomic<int> large_at = 0, small_at = 0;
  std::atomic<bool> large_waits = false;
  std::jthread large([&] {
    large_waits = true;
    const auto reservation = budget.reserve({.requests = 1, .tokens = 90}, {});
    if (reservation) large_at = ++order;
  });
  while (!large_waits) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);
  // It would fit beside the first one, but it is later than the large one, which would otherwise wait for ever.
  std::jthread small([&] {
    const auto reservation = budget.reserve({.requests = 1, .tokens = 30}, {});
    if (reservation) small_at = ++order;
  });
  std::this_thread::sleep_for(20ms);
  CHECK(order == 0);
  first->settle({.requests = 1, .tokens = 5});
  large.join();
  small.join();
  CHECK(large_at == 1);
  CHECK(small_at == 2);
}

TEST_CASE("a waiting request is refused once the others have used too much for it", "[flow][budget]") {
  auto budget = make_budget({.tokens = 100});
  auto first = budget.reserve({.requests = 1, .tokens = 60}, {});
  REQUIRE(first);
  Result<void> second;
  std::jthread waiting([&] {
    auto reservation = budget.reserve({.requests = 1, .tokens = 50}, {});
    if (!reservation) second = reservation.error();
  });
  std::this_thread::sleep_for(10ms);
  first->settle({.requests = 1, .tokens = 60});
  waiting.join();
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::Pending);
}

TEST_CASE("a waiting request ends when it is stopped, and those behind it go on", "[flow][budget]") {
  auto budget = make_budget({.tokens = 100});
  const auto first = budget.reserve({.requests = 1, .tokens = 60}, {});
  REQUIRE(first);
  std::stop_source stop;
  ErrorCode code{};
  std::jthread large([&] {
    auto reservation = budget.reserve({.requests = 1, .tokens = 90}, stop.get_token());
    if (!reservation) code = reservation.error().code;
  });
  std::this_thread::sleep_for(10ms);
  bool fits = false;
  std::jthread small([&] { fits = budget.reserve({.requests = 1, .tokens = 30}, {}).has_value(); });
  stop.request_stop();
  large.join();
  small.join();
  CHECK(code == ErrorCode::Cancelled);
  CHECK(fits);
}

TEST_CASE("no request is begun after the budget's time", "[flow][budget]") {
  ManualClock clock;
  SharedBudget budget({.time = 90s}, {}, 30s, clock.source());
  const auto begun = budget.reserve({.requests = 1}, {});
  REQUIRE(begun);
  CHECK(begun->time_left() == 60s);
  clock.now += 45s;
  CHECK(budget.time() == 75s);
  CHECK(budget.used_fraction() == Approx(75.0 / 90));
  // A clock that is set back gives no time back.
  clock.now -= 40s;
  CHECK(budget.time() == 75s);
  clock.now += 60s;
  CHECK(budget.reserve({.requests = 1}, {}).error().message == "the campaign's budget of 1.5 minutes is used up");
}

TEST_CASE("many requests at once never pass the limits", "[flow][budget]") {
  constexpr int k_threads = 8, k_requests = 200;
  const CampaignLimits limits{.requests = 900, .tokens = 40'000, .cost = 300};
  auto budget = make_budget(limits);
  std::atomic<bool> passed = false;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < k_threads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < k_requests; ++i) {
          const auto tokens = static_cast<std::int64_t>(random() % 400);
          const Spending most{1, tokens, static_cast<double>(tokens) / 100};
          auto reservation = budget.reserve(most, {});
          if (!reservation) {
            ++refused;
            continue;
          }
          const auto spent = budget.spent();
          if (spent.requests > *limits.requests || spent.tokens > *limits.tokens || spent.cost > *limits.cost)
            passed = true;
          if (random() % 10 == 0) reservation->settle_in_full();
          if (random() % 10 != 0) reservation->settle({1, tokens / 2, static_cast<double>(tokens / 2) / 100});
        }
      });
    }
  }
  CHECK_FALSE(passed);
  CHECK(refused > 0);
  CHECK(budget.spent().tokens <= *limits.tokens);
  CHECK(budget.reserved() == Spending{});
}
