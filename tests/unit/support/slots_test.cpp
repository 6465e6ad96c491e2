#include "support/slots.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

std::stop_token stopped() {
  std::stop_source source;
  source.request_stop();
  return source.get_token();
}

/// Counts the free slots; all are given back.
int free_slots(Slots& slots) {
  std::vector<std::unique_ptr<Slots::Slot>> taken;
  while (auto slot = slots.take(stopped())) taken.push_back(std::move(slot));
  return static_cast<int>(taken.size());
}

}  // namespace

TEST_CASE("no more than the limit are at work at once", "[support][slots]") {
  Slots slots(2);
  std::atomic<int> working = 0;
  std::atomic<int> most = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&](const std::stop_token& stop) {
        const auto slot = slots.take(stop);
        const int now = ++working;
        for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
        }
        std::this_thread::yield();
        --working;
      });
    for (auto& thread : threads) thread.join();
  }
  CHECK(most <= 2);
  CHECK(slots.take({}));
}

TEST_CASE("a wait for a slot can be stopped", "[support][slots]") {
  Slots slots(1);
  const auto mine = slots.take({});
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(slots.take(stop.get_token()));
}

TEST_CASE("a new limit holds for later takers, and taken slots stay valid", "[support][slots]") {
  Slots slots(3);
  auto one = slots.take({});
  auto two = slots.take({});
  slots.limit(1);
  CHECK(free_slots(slots) == 0);
  one.reset();
  CHECK(free_slots(slots) == 0);
  two.reset();
  CHECK(free_slots(slots) == 1);
  slots.limit(4);
  CHECK(free_slots(slots) == 4);
}

TEST_CASE("a raised limit ends the wait for a slot", "[support][slots]") {
  Slots slots(1);
  const auto held = slots.take({});
  auto waiting = std::async(std::launch::async, [&] { return slots.take({}) != nullptr; });
  slots.limit(2);
  CHECK(waiting.get());
}
