#include "support/fair_shared_mutex.hpp"

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

/// A request for an exclusive lock that waits; returns when it does.
std::future<std::unique_ptr<FairSharedMutex::Lock>> wait_exclusive(FairSharedMutex& mutex, std::stop_token stop) {
  auto waiting = std::async(std::launch::async, [&mutex, stop] { return mutex.lock_exclusive(stop); });
  // No other lock is taken from then on.
  while (mutex.lock_shared(a_stopped_request())) std::this_thread::sleep_for(1ms);
  return waiting;
}

}  // namespace

TEST_CASE("many locks are shared, or one is exclusive", "[support][shared_mutex]") {
  FairSharedMutex mutex;
  auto one = mutex.lock_shared({});
  auto two = mutex.lock_shared({});
  CHECK(one);
  CHECK(two);
  CHECK_FALSE(mutex.lock_exclusive(a_stopped_request()));
  one.reset();
  CHECK_FALSE(mutex.lock_exclusive(a_stopped_request()));
  two.reset();
  const auto exclusive = mutex.lock_exclusive(a_stopped_request());
  CHECK(exclusive);
  CHECK_FALSE(mutex.lock_shared(a_stopped_request()));
  CHECK_FALSE(mutex.lock_exclusive(a_stopped_request()));
}

TEST_CASE("a request for an exclusive lock goes before later ones", "[support][shared_mutex]") {
  FairSharedMutex mutex;
  auto first = mutex.lock_shared({});
  auto waiting = wait_exclusive(mutex, {});
  auto late = std::async(std::launch::async, [&] { return mutex.lock_shared({}); });
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  first.reset();
  auto exclusive = waiting.get();
  CHECK(exclusive);
  CHECK(late.wait_for(20ms) == std::future_status::timeout);
  exclusive.reset();
  CHECK(late.get());
}

TEST_CASE("a stopped request for an exclusive lock holds up no other", "[support][shared_mutex]") {
  FairSharedMutex mutex;
  const auto first = mutex.lock_shared({});
  std::stop_source stop;
  auto waiting = wait_exclusive(mutex, stop.get_token());
  auto late = std::async(std::launch::async, [&] { return mutex.lock_shared({}); });
  stop.request_stop();
  CHECK_FALSE(waiting.get());
  CHECK(late.get());
}

TEST_CASE("a lock knows whether another one overlapped it", "[support][shared_mutex]") {
  FairSharedMutex mutex;
  auto one = mutex.lock_shared({});
  CHECK_FALSE(one->overlapped());
  auto two = mutex.lock_shared({});
  CHECK(one->overlapped());
  CHECK(two->overlapped());
  // It is not forgotten when the other one has ended.
  one.reset();
  CHECK(two->overlapped());
  two.reset();
  CHECK_FALSE(mutex.lock_shared({})->overlapped());
  CHECK_FALSE(mutex.lock_exclusive({})->overlapped());
}

TEST_CASE("a shared lock that no longer blocks keeps no exclusive one waiting", "[support][shared_mutex]") {
  FairSharedMutex mutex;
  const auto hanging = mutex.lock_shared({}, FairSharedMutex::Clock::now());
  auto exclusive = mutex.lock_exclusive(a_stopped_request());
  REQUIRE(exclusive);
  CHECK(exclusive->overlapped());
  exclusive.reset();
  // It stops blocking while an exclusive lock waits.
  const auto slow = mutex.lock_shared({}, FairSharedMutex::Clock::now() + 30ms);
  CHECK(mutex.lock_exclusive({}));
}
