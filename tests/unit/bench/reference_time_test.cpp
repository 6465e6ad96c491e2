#include <catch2/catch.hpp>

#include "bench/reference_time.hpp"
#include "evaluation_scene.hpp"

namespace kernelgen::testing {
namespace {

Result<std::optional<ReferenceTime>> time_alone(Scene& scene, bool on_gpu) {
  FakeWorld world(scene);
  auto session = world.open({}, [] {}, {});
  return time_reference_alone(**session, world, on_gpu, {});
}

TEST_CASE("the reference is timed alone, with the first weights, while the device is held", "[bench][reference_time]") {
  Scene scene;
  scene.judge.alone_ns = {3000, 1000, 2000};
  const auto time = time_alone(scene, false).value();
  REQUIRE(time);
  CHECK(time->call_ns == 2000);
  CHECK_FALSE(time->graph_ns);
  CHECK_FALSE(time->on_gpu);
  CHECK(scene.exclusive);
  CHECK(scene.judge.calls == std::vector<std::string>{"weights 1", "time reference"});
}

TEST_CASE("on a GPU replays of the reference are timed, too", "[bench][reference_time][gpu]") {
  Scene scene;
  scene.judge.alone_graph = {{500, 700, 600}, ""};
  const auto time = time_alone(scene, true).value();
  REQUIRE(time);
  CHECK(time->call_ns == 2'000'000);
  CHECK(time->graph_ns == 600.0);
  CHECK(time->on_gpu);
  scene.judge.alone_graph = {{}, "it synchronizes"};
  CHECK_FALSE(time_alone(scene, true).value()->graph_ns);
}

TEST_CASE("a time of the reference that other work disturbed is not told", "[bench][reference_time]") {
  Scene scene;
  scene.judge.waits = 1s;
  CHECK_FALSE(time_alone(scene, false).value());
  scene.judge.waits = 0s;
  scene.judge.alone_ns.clear();
  CHECK_FALSE(time_alone(scene, false).value());
}

}  // namespace
}  // namespace kernelgen::testing
