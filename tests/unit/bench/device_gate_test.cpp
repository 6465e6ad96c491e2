#include "bench/device_gate.hpp"

#include <chrono>
#include <future>

#include "support/catch.hpp"
#include "support/files.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

class Bench {
 public:
  explicit Bench(std::chrono::milliseconds patience)
      : directory_(TemporaryDirectory::create("/tmp", "kernelgen-test-").value()),
        gate(make_device_gate((directory_.path() / "lock").string(), patience)) {}

 private:
  TemporaryDirectory directory_;

 public:
  std::unique_ptr<DeviceGate> gate;
};

/// Tries to acquire the device for a measurement, with a time limit.
bool can_measure(DeviceGate& gate, std::chrono::milliseconds patience) {
  std::stop_source stop;
  auto asked = std::async(std::launch::async, [&] { return gate.acquire_exclusive(stop.get_token()).has_value(); });
  if (asked.wait_for(patience) == std::future_status::timeout) stop.request_stop();
  return asked.get();
}

}  // namespace

TEST_CASE("a build keeps measurements waiting for a limited time", "[bench][device_gate]") {
  Bench patient(1h);
  const auto build = patient.gate->acquire_for_build({});
  REQUIRE(build);
  CHECK_FALSE(can_measure(*patient.gate, 50ms));
  Bench impatient(1ms);
  const auto hanging = impatient.gate->acquire_for_build({});
  REQUIRE(hanging);
  CHECK(can_measure(*impatient.gate, 30s));
  // The build that hangs is still there, and no later measurement waits for it.
  CHECK(can_measure(*impatient.gate, 30s));
}

TEST_CASE("other work keeps measurements waiting until it ends", "[bench][device_gate]") {
  Bench bench(1ms);
  auto work = bench.gate->acquire_shared({});
  REQUIRE(work);
  CHECK_FALSE(can_measure(*bench.gate, 100ms));
  // Work that ends while a measurement waits beside a build that hangs.
  const auto build = bench.gate->acquire_for_build({});
  REQUIRE(build);
  auto measuring = std::async(std::launch::async, [&] { return bench.gate->acquire_exclusive({}).has_value(); });
  CHECK(measuring.wait_for(50ms) == std::future_status::timeout);
  work->reset();
  CHECK(measuring.get());
}

TEST_CASE("a measurement excludes builds, work and other measurements", "[bench][device_gate]") {
  Bench bench(1ms);
  auto hold = bench.gate->acquire_exclusive({});
  REQUIRE(hold);
  std::stop_source stop;
  auto build =
      std::async(std::launch::async, [&] { return bench.gate->acquire_for_build(stop.get_token()).has_value(); });
  auto work = std::async(std::launch::async, [&] { return bench.gate->acquire_shared(stop.get_token()).has_value(); });
  CHECK_FALSE(can_measure(*bench.gate, 50ms));
  CHECK(build.wait_for(0ms) == std::future_status::timeout);
  CHECK(work.wait_for(0ms) == std::future_status::timeout);
  hold->reset();
  CHECK(build.get());
  CHECK(work.get());
}
