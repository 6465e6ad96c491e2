// Tests of evaluation modes: full, quick, correctness only; and of warm-up calls.

#include "evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

TEST_CASE("correctness only: nothing is timed, the device is shared, and the record says so", "[bench][evaluation]") {
  Scene scene;
  scene.mode = EvaluationMode::CorrectnessOnly;
  scene.baselines.kinds = {BaselineKind::Compile};
  // The machine is too busy to measure on.
  scene.judge.waits = 100s;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_FALSE(record->timing);
  CHECK_FALSE(score_of(*record));
  CHECK(has_label(*record, "correctness only"));
  CHECK(scene.shared);
  CHECK_FALSE(scene.exclusive);
  CHECK(std::count(scene.judge.calls.begin(), scene.judge.calls.end(), "time reference") == 0);
  CHECK(scene.judge.canaries == 0);
  CHECK(scene.compiled_requests.empty());
  // Inputs of its own, and transformed ones, on both sets of weights.
  CHECK(scene.judge.checks == 7);
}

TEST_CASE("correctness only still finds what is wrong", "[bench][evaluation]") {
  Scene scene;
  scene.mode = EvaluationMode::CorrectnessOnly;
  scene.judge.answer = [](const std::string& distribution, int) {
    return distribution == "negate" ? wrong() : Outcome{};
  };
  CHECK(evaluate(scene)->outcome.to_class() == "off_distribution:mismatch");
  scene.admission.scored = false;
  scene.judge.answer = [](const std::string&, int) { return Outcome{}; };
  CHECK(evaluate(scene)->outcome.kind == OutcomeKind::NotScored);
}

TEST_CASE("correctness only needs no clocks of a GPU", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.mode = EvaluationMode::CorrectnessOnly;
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(scene.judge.graphs == 0);
  CHECK_FALSE(scene.exclusive);
}

TEST_CASE("quick: fewer samples and comparisons, with a label", "[bench][evaluation]") {
  Scene scene;
  scene.mode = EvaluationMode::Quick;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  REQUIRE(record->timing);
  CHECK(record->timing->candidate_ns.size() == 8);
  CHECK(record->timing->full_comparisons == 8);
  REQUIRE(record->timing->options);
  CHECK(record->timing->options->max_samples == 20);
  CHECK(has_label(*record, "quick"));
  CHECK(has_label(*record, "reduced verification"));
  CHECK(scene.exclusive);
}

TEST_CASE("warm-up pairs are checked, and neither kept nor counted", "[bench][evaluation]") {
  Scene scene;
  scene.measure.warmup_calls = 5;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->timing->candidate_ns.size() == 44);
  CHECK(scene.judge.canaries == 49);
  CHECK(record->timing->full_comparisons == 44);
  CHECK(record->timing->options->warmup_calls == 5);

  scene.judge.answer = [&](const std::string&, int) { return scene.judge.canaries == 49 + 2 ? wrong() : Outcome{}; };
  const auto failed = evaluate(scene);
  REQUIRE(failed);
  CHECK(failed->outcome.to_class() == "accuracy:mismatch");
  CHECK_FALSE(failed->timing);
}

TEST_CASE("warming up ends with the deadline", "[bench][evaluation]") {
  Scene scene;
  scene.measure.warmup_calls = 1'000'000'000;
  scene.measure.deadline = 1ms;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_FALSE(record->timing);
}

TEST_CASE("the times of a record have the ratio of its speedup", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [&](const std::string&, int) {
    // Half of the candidate's calls are slow, and not those in which the reference is.
    scene.judge.reference_ns = scene.judge.canaries % 2 == 0 ? 2'000'000 : 2'600'000;
    const std::int64_t taken = scene.judge.canaries % 4 < 2 ? 2'700'000 : 2'100'000;
    return RunnerReply{.end_ns = taken, .host_ns = taken + 100'000};
  };
  scene.judge.alone_ns.assign(20, 2'600'000);
  const auto record = evaluate(scene);
  REQUIRE(record);
  REQUIRE(record->timing);
  const auto& timing = *record->timing;
  CHECK(timing.reference_median_ns / timing.candidate_median_ns == Approx(timing.speedup_call.value));
}
