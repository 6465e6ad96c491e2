#include "support/slots.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

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

TEST_CASE("whoever waits for a slot can be stopped", "[support][slots]") {
  Slots slots(1);
  const auto mine = slots.take({});
  std::stop_source stop;
  stop.request_stop();
  CHECK_FALSE(slots.take(stop.get_token()));
}
