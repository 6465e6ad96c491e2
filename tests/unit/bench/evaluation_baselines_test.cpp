#include "evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

TEST_CASE("no other baseline is measured unless it was asked for", "[bench][evaluation][baselines]") {
  Scene scene;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(scene.compiled_requests.empty());
  CHECK(record->timing->baselines.empty());
}

TEST_CASE("a correct candidate is compared with the baselines that were asked for", "[bench][evaluation][baselines]") {
  Scene scene;
  scene.baselines = {{BaselineKind::CompileMaxAutotune, BaselineKind::Compile}, 77s};
  scene.compiled_reference = [](BaselineKind kind) {
    return kind == BaselineKind::Compile ? ReferenceSamples{{1'400'000, 1'600'000, 1'500'000}, ""}
                                         : ReferenceSamples{{}, "torch.compile failed: no\ncompiler"};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->timing->speedup_call.value == Approx(2.0));
  const auto& baselines = record->timing->baselines;
  REQUIRE(baselines.size() == 2);
  CHECK(baselines[0].name == BaselineKind::CompileMaxAutotune);
  CHECK_FALSE(baselines[0].median_ns);
  CHECK_FALSE(baselines[0].speedup);
  CHECK(baselines[0].reason == "torch.compile failed: no compiler");
  CHECK(baselines[1].name == BaselineKind::Compile);
  CHECK(baselines[1].samples_ns == std::vector<std::int64_t>{1'400'000, 1'600'000, 1'500'000});
  CHECK(baselines[1].median_ns == 1'500'000);
  CHECK(*baselines[1].speedup == Approx(1.5));
  CHECK(baselines[1].reason.empty());
  REQUIRE(scene.compiled_requests.size() == 2);
  CHECK(scene.compiled_requests[0].timeout == 77s);
  CHECK(scene.compiled_requests[0].machine == "this machine");
  CHECK(scene.compiled_requests[0].sampling.min_samples > 1);
}

TEST_CASE("nothing is compiled for a candidate that gets no score", "[bench][evaluation][baselines]") {
  const auto asked = [](Scene& scene, Target target) {
    scene.baselines.kinds = {BaselineKind::Compile};
    const auto record = evaluate(scene, target);
    REQUIRE(record);
    CHECK((!record->timing || record->timing->baselines.empty()));
    return scene.compiled_requests.size();
  };
  Scene incorrect;
  incorrect.judge.answer = [](const std::string&, int) { return wrong(); };
  CHECK(asked(incorrect, Target::Cpp) == 0);
  Scene busy;
  busy.judge.waits = 500ms;
  CHECK(asked(busy, Target::Cpp) == 0);
  Scene interpreted;
  CHECK(asked(interpreted, Target::Triton) == 0);
}

TEST_CASE("a compiled reference is timed once in the life of a judge", "[bench][evaluation][baselines]") {
  Scene scene;
  scene.baselines.kinds = {BaselineKind::Compile, BaselineKind::CompileMaxAutotune};
  scene.compiled_reference = [](BaselineKind kind) -> Result<ReferenceSamples> {
    if (kind == BaselineKind::Compile) return ReferenceSamples{{2'000'000}, ""};
    return Error{ErrorCode::InvalidTask, "its process ended"};
  };
  REQUIRE(evaluate(scene));
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(scene.compiled_requests.size() == 2);
  CHECK(*record->timing->baselines.at(0).speedup == Approx(2.0));
  CHECK(record->timing->baselines.at(1).reason == "its process ended");
}

TEST_CASE("what other work disturbed is tried again with the next candidate", "[bench][evaluation][baselines]") {
  Scene scene;
  scene.baselines.kinds = {BaselineKind::Compile};
  scene.compiled_reference = [](BaselineKind) { return Error{ErrorCode::Busy, "other work"}; };
  CHECK(evaluate(scene)->timing->baselines.at(0).reason == "other work");
  scene.compiled_reference = [](BaselineKind) { return ReferenceSamples{{3'000'000}, ""}; };
  CHECK(*evaluate(scene)->timing->baselines.at(0).speedup == Approx(3.0));
}

TEST_CASE("an evaluation can be cancelled while a reference is compiled", "[bench][evaluation][baselines]") {
  Scene scene;
  scene.baselines.kinds = {BaselineKind::Compile};
  scene.compiled_reference = [](BaselineKind) { return Error{ErrorCode::Cancelled, "cancelled"}; };
  const auto record = evaluate(scene);
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::Cancelled);
  CHECK(scene.reference_times.compiled.empty());
}
