#include "support/turns.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;

namespace {

std::stop_token a_stopped_request() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

/// A request for an exclusive turn that waits; returns when it does.
std::future<std::unique_ptr<Turns::Turn>> wait_exclusive(Turns& turns, std::stop_token stop) {
  auto waiting = std::async(std::launch::async, [&turns, stop] { return turns.exclusive(stop); });
  // No other turn is given from then on.
  while (turns.shared(a_stopped_request())) std::this_thread::sleep_for(1ms);
  return waiting;
}

}  // namespace

TEST_CASE("many turns are shared, or one is exclusive", "[support][turns]") {
  Turns turns;
  auto one = turns.shared({});
  auto two = turns.shared({});
  CHECK(one);
  CHECK(two);
  CHECK_FALSE(turns.exclusive(a_stopped_request()));
  one.reset();
  CHECK_FALSE(turns.exclusive(a_stopped_request()));
  two.reset();
  const auto exclusive = turns.exclusive(a_stopped_request());
  CHECK(exclusive);
  CHECK_FALSE(turns.shared(a_stopped_request()));
  CHECK_FALSE(turns.exclusive(a_stopped_request()));
}

TEST_CASE("a request for an exclusive turn goes before later ones", "[support][turns]") {
  Turns turns;
  auto first = turns.shared({});
  auto waiting = wait_exclusive(turns, {});
  auto late = std::async(std::launch::async, [&] { return turns.shared({}); });
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  first.reset();
  auto exclusive = waiting.get();
  CHECK(exclusive);
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  exclusive.reset();
  CHECK(late.get());
}

TEST_CASE("a stopped request for an exclusive turn holds up no other", "[support][turns]") {
  Turns turns;
  const auto first = turns.shared({});
  std::stop_source stop;
  auto waiting = wait_exclusive(turns, stop.get_token());
  auto late = std::async(std::launch::async, [&] { return turns.shared({}); });
  stop.request_stop();
  CHECK_FALSE(waiting.get());
  CHECK(late.get());
}

TEST_CASE("a turn knows whether another one overlapped it", "[support][turns]") {
  Turns turns;
  auto one = turns.shared({});
  CHECK_FALSE(one->overlapped());
  auto two = turns.shared({});
  CHECK(one->overlapped());
  CHECK(two->overlapped());
  // It is not forgotten when the other one has ended.
  one.reset();
  CHECK(two->overlapped());
  two.reset();
  CHECK_FALSE(turns.shared({})->overlapped());
  CHECK_FALSE(turns.exclusive({})->overlapped());
}

TEST_CASE("a shared turn without patience keeps no exclusive one waiting", "[support][turns]") {
  Turns turns;
  const auto hanging = turns.shared({}, Turns::Clock::now());
  auto exclusive = turns.exclusive(a_stopped_request());
  REQUIRE(exclusive);
  CHECK(exclusive->overlapped());
  exclusive.reset();
  // Its patience ends while an exclusive turn waits.
  const auto slow = turns.shared({}, Turns::Clock::now() + 30ms);
  CHECK(turns.exclusive({}));
}
