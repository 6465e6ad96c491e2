// Tests of the limits for building, and of their effect.

#include <algorithm>

#include "core/target_registry.hpp"
#include "evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

namespace {

constexpr const char* k_extension = "from torch.utils.cpp_extension import load_inline";

/// The operations that had time for building.
std::vector<std::string> building_calls(const Scene& scene) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < scene.runner_calls.size(); ++i)
    if (scene.build_limits[i] > 0ms) found.push_back(scene.runner_calls[i]);
  return found;
}

}  // namespace

TEST_CASE("loading, constructing and the first call on each set of weights may build", "[bench][evaluation][build]") {
  Scene scene;
  REQUIRE(evaluate(scene, Target::Torch));
  CHECK(building_calls(scene) == std::vector<std::string>{"load", "construct", "construct", "run", "run"});
  const auto runs = std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "run");
  CHECK(runs > 10);
}

TEST_CASE("a native candidate builds nothing after it was compiled", "[bench][evaluation][build]") {
  Scene scene;
  REQUIRE(evaluate(scene, Target::Cpp));
  CHECK(building_calls(scene).empty());
}

TEST_CASE("the steps of a candidate share one limit for building", "[bench][evaluation][build]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) {
    RunnerReply reply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    if (op == "load") reply.build_time = 100s;
    if (op == "construct") reply.build_time = 500s;
    return reply;
  };
  REQUIRE(evaluate(scene, Target::Torch));
  CHECK(scene.build_limits[0] == 300s);
  CHECK(scene.build_limits[1] == 200s);
  // The build time is used up.
  CHECK(building_calls(scene) == std::vector<std::string>{"load", "construct"});
}

TEST_CASE("a step that is ended while it builds is timeout:build", "[bench][evaluation][build]") {
  for (const char* step : {"load", "construct", "run"}) {
    Scene scene;
    scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
      if (op == step) return RunnerDeath{.timed_out = true, .was_building = true};
      return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    };
    const auto record = evaluate(scene, Target::Torch);
    REQUIRE(record);
    CHECK(record->outcome.to_class() == "timeout:build");
    CHECK_THAT(record->outcome.message, Catch::Contains("within the 300.0 s that building may take"));
  }
}

TEST_CASE("a module that the client made builds ahead by its own text, not by that of the source",
          "[bench][evaluation][build]") {
  const auto target = TargetRegistry::of_process().find_or_name("scene-dsl").value();
  Prebuilt prebuilt{.artifact = ArtifactKind::PythonModule, .key = "aa11", .bytes = "import torch"};
  Scene scene;
  scene.ahead = BuildAhead::TimedOut;
  scene.source = k_extension;
  scene.prebuilt = &prebuilt;
  auto record = evaluate(scene, target);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(std::count(record->labels.begin(), record->labels.end(), "custom-compiler: aa11") == 1);
  CHECK(scene.runner_calls[1] == "construct");

  Scene hides_compiler;
  hides_compiler.ahead = BuildAhead::TimedOut;
  hides_compiler.prebuilt = &prebuilt;
  prebuilt.bytes = k_extension;
  record = evaluate(hides_compiler, target);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "timeout:build");
}

TEST_CASE("what different modules of one source build is kept apart", "[bench][evaluation][build]") {
  const auto key_of = [](const Prebuilt* prebuilt) {
    Scene scene;
    scene.source = k_extension;
    scene.prebuilt = prebuilt;
    REQUIRE(evaluate(scene, Target::Torch));
    return scene.built.value().first;
  };
  const Prebuilt one{.artifact = ArtifactKind::PythonModule, .bytes = std::string(k_extension) + "  # 1"};
  const Prebuilt two{.artifact = ArtifactKind::PythonModule, .bytes = std::string(k_extension) + "  # 2"};
  CHECK(key_of(&one) == key_of(&one));
  CHECK(key_of(&one) != key_of(&two));
  CHECK(key_of(&one) != key_of(nullptr));
}

TEST_CASE("the form of what the client built decides about the runner, not the target's name",
          "[bench][evaluation][build]") {
  const Prebuilt prebuilt{.artifact = ArtifactKind::SharedObject, .bytes = "ELF"};
  Scene scene;
  scene.prebuilt = &prebuilt;
  REQUIRE(evaluate(scene, TargetRegistry::of_process().find_or_name("scene-dsl").value()));
  CHECK(std::find(scene.runner_calls.begin(), scene.runner_calls.end(), "construct") == scene.runner_calls.end());
  CHECK(std::find(scene.runner_calls.begin(), scene.runner_calls.end(), "run") != scene.runner_calls.end());
}

TEST_CASE("a build ahead that reaches its limit ends the evaluation before the device is held",
          "[bench][evaluation][build]") {
  for (const bool gpu : {false, true}) {
    Scene scene;
    if (gpu) put_on_gpu(scene, 1'000'000, 500'000);
    scene.source = k_extension;
    scene.ahead = BuildAhead::TimedOut;
    scene.known = true;
    const auto record = evaluate(scene, Target::Torch);
    REQUIRE(record);
    CHECK(record->outcome.to_class() == "timeout:build");
    CHECK_FALSE(scene.exclusive);
    CHECK(scene.prepared == std::vector<std::string>{"build"});
    CHECK(scene.runner_calls.empty());
    CHECK(scene.ahead_limits.build == 300s);
    CHECK(scene.ahead_limits.call == (gpu ? 120s : 30s));
  }
}
