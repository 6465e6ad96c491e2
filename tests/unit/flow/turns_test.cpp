#include "flow/turns.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using namespace kernelgen;

namespace {

std::stop_token stopped() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

/// Somebody who waits to be alone; returns when it does.
std::future<std::unique_ptr<Turns::Turn>> wait_alone(Turns& turns, std::stop_token stop) {
  auto waiting = std::async(std::launch::async, [&turns, stop] { return turns.alone(stop); });
  // Nobody else gets a turn from then on.
  while (turns.beside(stopped())) std::this_thread::sleep_for(1ms);
  return waiting;
}

}  // namespace

TEST_CASE("many have a turn beside each other, or one has it alone", "[flow][turns]") {
  Turns turns;
  auto one = turns.beside({});
  auto two = turns.beside({});
  CHECK(one);
  CHECK(two);
  CHECK_FALSE(turns.alone(stopped()));
  one.reset();
  CHECK_FALSE(turns.alone(stopped()));
  two.reset();
  const auto alone = turns.alone(stopped());
  CHECK(alone);
  CHECK_FALSE(turns.beside(stopped()));
  CHECK_FALSE(turns.alone(stopped()));
}

TEST_CASE("who waits to be alone goes before those who come later", "[flow][turns]") {
  Turns turns;
  auto first = turns.beside({});
  auto waiting = wait_alone(turns, {});
  auto late = std::async(std::launch::async, [&] { return turns.beside({}); });
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  first.reset();
  auto alone = waiting.get();
  CHECK(alone);
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  alone.reset();
  CHECK(late.get());
}

TEST_CASE("who is stopped while he waits to be alone stands in nobody's way", "[flow][turns]") {
  Turns turns;
  const auto first = turns.beside({});
  std::stop_source stop;
  auto waiting = wait_alone(turns, stop.get_token());
  auto late = std::async(std::launch::async, [&] { return turns.beside({}); });
  stop.request_stop();
  CHECK_FALSE(waiting.get());
  CHECK(late.get());
}

TEST_CASE("a turn knows whether anybody was beside it", "[flow][turns]") {
  Turns turns;
  auto one = turns.beside({});
  CHECK_FALSE(one->had_company());
  auto two = turns.beside({});
  CHECK(one->had_company());
  CHECK(two->had_company());
  // Nor is it forgotten when the other one has gone.
  one.reset();
  CHECK(two->had_company());
  two.reset();
  CHECK_FALSE(turns.beside({})->had_company());
  CHECK_FALSE(turns.alone({})->had_company());
}
