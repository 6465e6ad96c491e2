#include "evaluation_scene.hpp"

#include <random>

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

TEST_CASE("a right candidate gets a speedup from 44 fully compared timed calls", "[bench][evaluation]") {
  Scene scene;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  REQUIRE(record->timing);
  CHECK(record->timing->speedup_call.value == Approx(2.0));
  CHECK(record->timing->full_comparisons == 44);
  CHECK(scene.judge.canaries == 44);
  CHECK_FALSE(record->timing->speedup_device);
  CHECK(record->environment.isolation == "full");
}

TEST_CASE("the reference is timed alone and before the candidate is loaded", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
    if (op == "load") CHECK(std::count(scene.judge.calls.begin(), scene.judge.calls.end(), "time reference") == 1);
    return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
  };
  REQUIRE(evaluate(scene));
  CHECK(scene.exclusive);
}

TEST_CASE("two weight sets are prepared one after the other", "[bench][evaluation]") {
  Scene scene;
  REQUIRE(evaluate(scene));
  std::vector<std::string> order;
  for (const auto& call : scene.runner_calls)
    if (call != "run") order.push_back(call);
  CHECK(order == std::vector<std::string>{"load", "prepare 1", "destroy 1", "prepare 2", "examine"});
}

TEST_CASE("a refused compilation ends the evaluation without touching the device", "[bench][evaluation]") {
  Scene scene;
  scene.compiled = CompileFailed{{OutcomeKind::Compile, "syntax", "expected ;"}, {}};
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "compile:syntax");
  CHECK_FALSE(scene.exclusive);
  CHECK(scene.runner_calls.empty());
}

TEST_CASE("a task that cannot be used is an error, not a verdict", "[bench][evaluation]") {
  Scene scene;
  scene.judge_refuses = Error{ErrorCode::InvalidTask, "no Model"};
  const auto record = evaluate(scene);
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::InvalidTask);
}

TEST_CASE("where candidates can reach other processes, there is a verdict only if that is accepted",
          "[bench][evaluation]") {
  Scene scene;
  scene.isolation = "weak: no pid namespace";
  const auto refused = evaluate(scene);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::PermissionDenied);
  CHECK_THAT(refused.error().message, Catch::Contains("or allow weak isolation"));
  scene.allow_weak_isolation = true;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(std::any_of(record->labels.begin(), record->labels.end(),
                    [](const std::string& label) { return label.starts_with("weak isolation"); }));
}

TEST_CASE("wrong on its own inputs", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "accuracy:mismatch");
  CHECK_FALSE(record->timing);
}

TEST_CASE("right on the first call only", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string&, int check) { return check == 1 ? Outcome{} : wrong(); };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "accuracy:mismatch");
  CHECK_THAT(record->outcome.message, Catch::Contains("right on the first call"));
}

TEST_CASE("wrong on the first call only", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string&, int check) { return check == 1 ? wrong() : Outcome{}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "accuracy:mismatch");
  CHECK_THAT(record->outcome.message, Catch::Contains("wrong on the first call"));
}

TEST_CASE("alternately right and wrong with the same inputs is a race", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string&, int check) { return check % 2 == 0 ? wrong() : Outcome{}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "race");
}

TEST_CASE("wrong off the task's own distribution has a class of its own", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string& distribution, int) {
    return distribution == "negate" ? wrong() : Outcome{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "off_distribution:mismatch");
  CHECK_THAT(record->outcome.message, Catch::Contains("negate"));
}

TEST_CASE("wrong on transformed inputs once it is timed", "[bench][evaluation]") {
  Scene scene;
  int negated = 0;
  scene.judge.answer = [&](const std::string& distribution, int) {
    return distribution == "negate" && ++negated == 2 ? wrong() : Outcome{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "off_distribution:mismatch");
  CHECK_THAT(record->outcome.message, Catch::Contains("between timed calls"));
}

TEST_CASE("each transform comes once more between timed calls, and is called like them", "[bench][evaluation]") {
  Scene scene;
  scene.admission.distributions = {"own", "negate", "scale_up", "spikes"};
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  std::map<std::string, int> calls;
  for (const auto& result : record->cases) ++calls[result.distribution];
  CHECK(calls["negate"] == 2);
  CHECK(calls["scale_up"] == 2);
  CHECK(calls["spikes"] == 2);
}

TEST_CASE("wrong in a timed call", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [&](const std::string&, int) { return scene.judge.canaries == 30 ? wrong() : Outcome{}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "accuracy:mismatch");
  CHECK_THAT(record->outcome.message, Catch::Contains("timed call 30"));
  CHECK(record->timing->stop_reason == StopReason::Failed);
  CHECK(record->timing->speedup_call.value == 0);
}

TEST_CASE("an overwritten input ends the evaluation at once", "[bench][evaluation]") {
  Scene scene;
  scene.judge.answer = [](const std::string&, int) { return Outcome{OutcomeKind::MutatedInput, "", "x"}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "mutated_input");
  CHECK(scene.judge.checks == 1);
}

TEST_CASE("deaths of the runner become outcomes", "[bench][evaluation]") {
  const auto verdict = [](RunnerDeath death, const std::string& when) {
    Scene scene;
    scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
      if (op == when) return death;
      return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    };
    const auto record = evaluate(scene);
    REQUIRE(record);
    return record->outcome;
  };
  CHECK(verdict({.timed_out = true}, "run").to_class() == "timeout");
  CHECK(verdict({.exit_code = 0}, "run").to_class() == "crash:exit 0");
  CHECK(verdict({.signal = 11, .text = "64 bytes past the end of output y"}, "run").to_class() ==
        "crash:signal 11 (SIGSEGV)");
  CHECK_THAT(verdict({.signal = 11, .text = "past the end of y"}, "run").message, Catch::Contains("past the end of y"));
  CHECK(verdict({.signal = 31}, "run").to_class() == "cheat:process");
  CHECK(verdict({.signal = 11, .allocation_failed = true}, "run").to_class() == "out_of_memory");
  CHECK(verdict({.exit_code = 3}, "load").to_class() == "crash:exit 3");
}

TEST_CASE("a runner that cannot use the shared memory is no verdict on the candidate", "[bench][evaluation]") {
  Scene scene;
  scene.opened = RunnerReply{.status = RunnerStatus::Protocol, .text = "mapping shared memory: invalid argument (1)"};
  const auto on_processor = evaluate(scene);
  REQUIRE_FALSE(on_processor);
  CHECK(on_processor.error().code == ErrorCode::Unavailable);
  CHECK(on_processor.error().message ==
        "a runner cannot use the memory that the judge shares with it: mapping shared memory: invalid argument (1)");
  scene.opened = RunnerReply{.status = RunnerStatus::OutOfMemory, .text = "no memory"};
  CHECK(evaluate(scene).value().outcome.kind == OutcomeKind::OutOfMemory);
}

TEST_CASE("faults after which ROCm's runtime aborts are device faults", "[bench][evaluation]") {
  const auto verdict = [](const std::string& text) {
    Scene scene;
    scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
      if (op == "run") return RunnerDeath{.signal = 6, .text = text, .has_device_fault = true};
      return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    };
    const auto record = evaluate(scene);
    REQUIRE(record);
    return record->outcome;
  };
  const auto page = verdict(
      "Memory access fault by GPU node-1 (Agent handle: 0x55d8390cfe70) on address 0x7fad48bfa000. Reason: Page not "
      "present or supervisor privilege. The page is at address 0x7fad48bfa000, 96 bytes past the end of output 'y'");
  CHECK(page.to_class() == "device_fault:illegal_address");
  CHECK_THAT(page.message, Catch::StartsWith("the device stopped it in a call: Memory access fault"));
  CHECK_THAT(page.message, Catch::EndsWith("96 bytes past the end of output 'y'"));
  CHECK(verdict("Memory access fault by GPU node-1 on address (nil). Reason: DRAM ECC failure.").to_class() ==
        "device_fault:ecc");
  CHECK(verdict("HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION: The agent attempted to access memory beyond the largest "
                "legal address. code: 0x29")
            .to_class() == "device_fault:illegal_address");
  CHECK(verdict("HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016")
            .to_class() == "device_fault:launch_failure");
  CHECK(verdict("a kernel reported 'h_full' in block 37, 2000140 us after the call began").to_class() ==
        "device_fault:reported");
  CHECK(verdict("Device-side assertion `i < n' failed.").to_class() == "device_fault:assert");
  CHECK(verdict("HW Exception by GPU node-2 (Agent handle: 0x55cf74a379c0) reason :GPU Hang").to_class() ==
        "device_fault:launch_timeout");
  CHECK(verdict("HSA_STATUS_ERROR_OUT_OF_REGISTERS: Kernel has requested more VGPRs than are available on this agent")
            .to_class() == "device_fault:other");
}

TEST_CASE("what a runner reports becomes an outcome", "[bench][evaluation]") {
  const auto verdict = [](RunnerStatus status, const std::string& when) {
    Scene scene;
    scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
      if (op == when) return RunnerReply{.status = status, .text = "why"};
      return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    };
    const auto record = evaluate(scene, Target::Torch);
    REQUIRE(record);
    return record->outcome.to_class();
  };
  CHECK(verdict(RunnerStatus::Syntax, "load") == "syntax");
  CHECK(verdict(RunnerStatus::Import, "load") == "import");
  CHECK(verdict(RunnerStatus::Interface, "load") == "interface");
  CHECK(verdict(RunnerStatus::Exception, "construct") == "launch:exception");
  CHECK(verdict(RunnerStatus::OutOfMemory, "run") == "out_of_memory");
  CHECK(verdict(RunnerStatus::Structure, "run") == "accuracy:structure");
  CHECK(verdict(RunnerStatus::Protocol, "run") == "cheat:protocol");
}

TEST_CASE("weights that ModelNew does not have explain wrong outputs", "[bench][evaluation]") {
  Scene scene;
  scene.judge.weights.report.unmapped = {"gru.weight_ih_l0", "gru.bias_ih_l0"};
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "weight_sync");
  CHECK_THAT(record->outcome.message, Catch::Contains("gru.weight_ih_l0, gru.bias_ih_l0"));
}

TEST_CASE("weights that ModelNew does not have are no reason against right outputs", "[bench][evaluation]") {
  Scene scene;
  scene.judge.weights.report.unmapped = {"linear.weight"};
  scene.admission.weight_sets = 3;
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_THAT(record->labels, Catch::VectorContains(std::string(
                                 "prepared weights: 1 of the reference's tensors are not in ModelNew, whose outputs "
                                 "are right under 3 weight sets")));
}

TEST_CASE("weights explain neither other failures nor wrong outputs on other inputs", "[bench][evaluation]") {
  const WeightReport weights{{}, {}, {}, {"linear.weight"}};
  const auto kept = [&](const Outcome& outcome) {
    return explain_by_weights(outcome, weights, {}).kind == outcome.kind;
  };
  CHECK(kept({OutcomeKind::Accuracy, "shape", "output has shape [2]"}));
  CHECK(kept({OutcomeKind::OffDistribution, "mismatch", "wrong"}));
  CHECK(kept({OutcomeKind::Timeout, "", "30 s"}));
  CHECK(explain_by_weights({OutcomeKind::Accuracy, "nan", "NaN"}, weights, {}).kind == OutcomeKind::WeightSync);
  CHECK(explain_by_weights({OutcomeKind::Accuracy, "nan", "NaN"}, std::nullopt, {}).kind == OutcomeKind::Accuracy);
}

TEST_CASE("outputs near the truth may have the weights in another form", "[bench][evaluation]") {
  const WeightReport weights{{}, {}, {}, {"linear.weight", "linear.bias"}};
  const Outcome mismatch{OutcomeKind::Accuracy, "mismatch", "output: 7 of 8 elements are wrong"};
  CaseResult result;
  result.outcome = mismatch;
  const auto explained = [&] { return explain_by_weights(mismatch, weights, std::vector{CaseResult(), result}); };
  const auto is_near = [&] { return explained().message.find("in another form") != std::string::npos; };
  // An error that was not measured is no near one.
  result.outputs.emplace_back();
  result.outputs.front().max_error_ratio = 8;
  CHECK(explained().kind == OutcomeKind::WeightSync);
  CHECK_FALSE(is_near());
  result.outputs.front().rms_error_vs_float64 = 1e-3;
  CHECK(explained().kind == OutcomeKind::WeightSync);
  CHECK(is_near());
  // Integers that are right say nothing.
  result.outputs.emplace_back();
  CHECK(is_near());
  result.outputs.back().rms_error_vs_float64 = 0.3;
  CHECK_FALSE(is_near());
}

TEST_CASE("a speed-up with a wide interval says so", "[bench][evaluation]") {
  CHECK_FALSE(imprecision_label({.value = 1.2, .low = 1.0, .high = 1.5}, 44));
  const auto label = imprecision_label({.value = 1.2, .low = 0.13, .high = 11}, 2);
  REQUIRE(label);
  CHECK_THAT(*label, Catch::StartsWith(
                         "imprecise time: the speed-up of 1.2 may be anything from 0.13 to 11 (pairs of times: 2)"));
  // Of a single pair, nothing is known.
  CHECK(imprecision_label({.value = 1.2, .low = 0, .high = INFINITY}, 1));
}

TEST_CASE("weights are not why a later call is wrong", "[bench][evaluation]") {
  const WeightReport weights{{}, {}, {}, {"linear.weight"}};
  const Outcome mismatch{OutcomeKind::Accuracy, "mismatch", "output: 7 of 8 elements are wrong"};
  CHECK(explain_by_weights(mismatch, weights, std::vector{CaseResult()}).kind == OutcomeKind::Accuracy);
}

TEST_CASE("no answer is wrong where the reference cannot say what is right", "[bench][evaluation]") {
  for (const auto& label :
       {"stochastic: forward() draws random numbers", "ill-conditioned: its own rounding", "nondeterministic: it"}) {
    Scene scene;
    scene.admission.labels = {label};
    scene.admission.scored = false;
    scene.judge.answer = [](const std::string&, int) { return wrong(); };
    const auto record = evaluate(scene, Target::Torch);
    REQUIRE(record);
    CHECK(record->outcome.to_class() == "not_scored");
    CHECK_THAT(record->outcome.message, Catch::Contains(label) && Catch::Contains(wrong().message));
  }
}

TEST_CASE("wrong is wrong where only trivial answers pass as well, and so are NaN, shapes and crashes",
          "[bench][evaluation]") {
  const auto kept = [](const Outcome& outcome, const std::string& label) {
    return withdraw_unreliable_verdict(outcome, {label}).to_class() == outcome.to_class();
  };
  CHECK(kept({OutcomeKind::Accuracy, "mismatch", "wrong"}, "trivial: zeros"));
  CHECK(kept({OutcomeKind::Accuracy, "mismatch", "wrong"}, "raised tolerance: 2e-3"));
  for (const auto& outcome :
       {Outcome{OutcomeKind::Accuracy, "nan", "NaN"}, Outcome{OutcomeKind::Accuracy, "shape", "shape"},
        Outcome{OutcomeKind::OffDistribution, "nan", "NaN"}, Outcome{OutcomeKind::Crash, "exit 0", ""}})
    CHECK(kept(outcome, "stochastic: it draws"));
}

TEST_CASE("a difference on special values is a label, and a crash is none", "[bench][evaluation]") {
  Scene scene;
  scene.admission.probe = "special";
  scene.judge.answer = [](const std::string& distribution, int) {
    return distribution == "special" ? wrong() : Outcome{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  const auto is_label = [](const std::string& label) { return label.rfind("differs on special values", 0) == 0; };
  CHECK(std::count_if(record->labels.begin(), record->labels.end(), is_label) == 1);
  CHECK(std::none_of(record->cases.begin(), record->cases.end(),
                     [](const CaseResult& result) { return result.distribution == "special"; }));
  scene.judge.answer = [](const std::string& distribution, int) {
    return distribution == "special" ? Outcome{OutcomeKind::Crash, "out_of_bounds", "wrote outside of x"} : Outcome{};
  };
  const auto crashed = evaluate(scene);
  REQUIRE(crashed);
  CHECK(crashed->outcome.kind == OutcomeKind::Crash);
}

TEST_CASE("further weight sets are called once, and the second set comes last", "[bench][evaluation]") {
  Scene scene;
  scene.admission.weight_sets = 4;
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  std::vector<std::pair<int, int>> last_calls;
  for (const auto& result : record->cases)
    if (last_calls.empty() || last_calls.back().first != result.weight_set)
      last_calls.emplace_back(result.weight_set, 1);
    else
      ++last_calls.back().second;
  CHECK(last_calls == std::vector<std::pair<int, int>>{{1, 5}, {3, 1}, {4, 1}, {2, 3}});
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "construct") == 4);
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "destroy 3") == 1);
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "destroy 2") == 0);
}

TEST_CASE("constants that a weight transform missed are changed wherever they are", "[bench][evaluation]") {
  Scene scene;
  scene.judge.weights.missed_constants = true;
  REQUIRE(evaluate(scene, Target::Torch));
  using enum ConstantWeights;
  CHECK(scene.constructions ==
        std::vector<std::pair<std::uint64_t, ConstantWeights>>{{0, Parameters}, {1, Parameters}, {1, Everywhere}});
}

TEST_CASE("a task that cannot tell is judged for errors but not scored", "[bench][evaluation]") {
  Scene scene;
  scene.admission.labels = {"trivial: zeros pass"};
  scene.admission.scored = false;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "not_scored");
  CHECK_THAT(record->outcome.message, Catch::Contains("trivial: zeros pass"));
  CHECK_FALSE(record->timing);
  CHECK(scene.judge.checks > 0);
}

TEST_CASE("a time under an interpreter is not a result", "[bench][evaluation]") {
  Scene scene;
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_FALSE(record->timing);
  CHECK_THAT(record->labels.at(0), Catch::Contains("interpreter"));
}

TEST_CASE("a kernel that is too slow for the interpreter is told to take smaller inputs", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op == "run") return RunnerDeath{.timed_out = true};
    return RunnerReply{};
  };
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "timeout");
  CHECK_THAT(record->labels.back(), Catch::StartsWith("interpreter: ") && Catch::Contains("take smaller inputs"));
  const auto native = evaluate(scene);
  CHECK(native->outcome.to_class() == "timeout");
  CHECK(native->labels.empty());
}

TEST_CASE("the error that a function of the candidate returns is its own", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op == "prepare 1") return RunnerReply{.status = RunnerStatus::Failed, .text = "no such shape", .returned = 3};
    return RunnerReply{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "launch:error");
  CHECK(record->outcome.message == "the candidate's kgen_prepare returned the error 3: no such shape");
}

TEST_CASE("a wrong answer on a busy machine is wrong", "[bench][evaluation]") {
  Scene scene;
  scene.judge.waits = 100s;
  CHECK(evaluate(scene)->outcome.is_busy_machine());
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  CHECK(evaluate(scene)->outcome.to_class() == "accuracy:mismatch");
}

TEST_CASE("what the worker's clock measures beyond the overhead of a call is time of the candidate",
          "[bench][evaluation]") {
  const auto median_ns = [](const std::function<std::int64_t(int)>& claimed_ns, std::int64_t overrun_ns = 0) {
    Scene scene;
    scene.overrun_ns = overrun_ns;
    scene.runner = [&](const std::string&, int count) {
      return RunnerReply{.end_ns = claimed_ns(count), .host_ns = 1'100'000};
    };
    const auto record = evaluate(scene);
    REQUIRE(record);
    CHECK(record->outcome.correct());
    REQUIRE(record->timing);
    return record->timing->candidate_median_ns;
  };
  CHECK(median_ns([](int) { return 1'000'000; }) == Approx(1'000'000));
  CHECK(median_ns([](int) { return 1'000; }) == Approx(1'000'000));
  // A false clock in most calls, or in a few, changes nothing either.
  CHECK(median_ns([](int count) { return count % 8 == 0 ? 1'000'000 : 1'000; }) == Approx(1'000'000));
  CHECK(median_ns([](int count) { return count % 8 == 0 ? 1'000 : 1'000'000; }) == Approx(1'000'000));
  // A runner that works while it should be stopped works on the clock.
  CHECK(median_ns([](int) { return 1'000'000; }, 500'000) == Approx(1'500'000));
}

TEST_CASE("a reference that is slower beside the candidate only is suspect", "[bench][evaluation]") {
  Scene scene;
  scene.judge.reference_ns = 4'000'000;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:reference disturbed");
  CHECK_FALSE(record->timing->reference_alone_after_ns.empty());
}

TEST_CASE("a reference that is a little slower beside the candidate counts with its time alone",
          "[bench][evaluation]") {
  Scene scene;
  const auto alone_ns = static_cast<double>(scene.judge.alone_ns.front());
  scene.judge.reference_ns = static_cast<std::int64_t>(1.1 * alone_ns);
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  const auto& timing = *record->timing;
  CHECK(timing.reference_median_ns == Approx(alone_ns).epsilon(0.001));
  CHECK(timing.speedup_call.value == Approx(alone_ns / timing.candidate_median_ns).epsilon(0.001));
  CHECK(timing.speedup_call.low <= timing.speedup_call.value);
  CHECK(timing.speedup_call.high >= timing.speedup_call.value);
  CHECK(timing.speedup_call.high < 1.05 * alone_ns / timing.candidate_median_ns);
  CHECK(std::any_of(record->labels.begin(), record->labels.end(), [](const auto& label) {
    return label.starts_with("reference disturbed: 10 % slower beside the candidate");
  }));
}

TEST_CASE("reference and candidate alternate in being called first", "[bench][evaluation]") {
  Scene scene;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  const auto timed = scene.judge.call_order.substr(scene.judge.call_order.size() - 6);
  CHECK((timed == "bababa" || timed == "ababab"));
  CHECK(record->timing->reference_ns ==
        std::vector<std::int64_t>(record->timing->candidate_ns.size(), scene.judge.reference_ns));
}

TEST_CASE("the next timed pair is announced where calls are short", "[bench][evaluation]") {
  Scene scene;
  // Nothing comes between.
  scene.admission.distributions = {"own"};
  const auto record = evaluate(scene);
  REQUIRE(record);
  const auto pairs = static_cast<int>(record->timing->candidate_ns.size());
  // All but the first, before which the cost is unknown, and the one that did not come.
  CHECK(scene.judge.right_guesses == pairs - 2);
  CHECK(scene.judge.announced);

  Scene slow;
  slow.judge.reference_ns = 20'000'000;
  slow.judge.alone_ns = std::vector<std::int64_t>(20, 20'000'000);
  REQUIRE(evaluate(slow));
  CHECK(slow.judge.right_guesses == 0);
  CHECK_FALSE(slow.judge.announced);
}

TEST_CASE("only suspicions about the machine are worth another try", "[bench][evaluation]") {
  CHECK(is_disturbance({OutcomeKind::Suspect, "busy machine", ""}));
  CHECK(is_disturbance({OutcomeKind::Suspect, "reference disturbed", ""}));
  CHECK(is_disturbance({OutcomeKind::Suspect, "baseline disturbed", ""}));  // of an earlier version
  CHECK_FALSE(is_disturbance({OutcomeKind::Suspect, "clock", ""}));
  CHECK_FALSE(is_disturbance({OutcomeKind::Accuracy, "mismatch", ""}));
  CHECK_FALSE(is_disturbance({OutcomeKind::Correct, "", ""}));
}

TEST_CASE("a device is to blame where others worked on it or held its memory", "[bench][evaluation]") {
  const Outcome busy{OutcomeKind::Suspect, "busy machine", ""};
  TimingReport timing;
  timing.contention = 0.5;
  CHECK_FALSE(is_disturbance_of_device(busy, std::nullopt));
  CHECK_FALSE(is_disturbance_of_device(busy, timing));
  CHECK(is_disturbance_of_device({OutcomeKind::Suspect, "memory in use", ""}, std::nullopt));
  timing.device_contention = 0.5;
  CHECK(is_disturbance_of_device(busy, timing));
  CHECK_FALSE(is_disturbance_of_device({OutcomeKind::Suspect, "reference disturbed", ""}, timing));
  CHECK_FALSE(is_disturbance_of_device({OutcomeKind::Correct, "", ""}, timing));
}

TEST_CASE("a machine that got slower altogether is not the candidate's doing", "[bench][evaluation]") {
  Scene scene;
  scene.judge.reference_ns = 4'000'000;
  scene.runner = [&](const std::string& op, int count) -> RunnerAnswer {
    if (op == "run" && count > 40) scene.judge.alone_ns.assign(20, 4'000'000);
    return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
}

TEST_CASE("the overhead of a call is what rehearsals took, and a little more", "[bench][verdict]") {
  CHECK(clock_allowance_from({}, true).overhead_ns == 0);
  CHECK(clock_allowance_from(std::vector<Rehearsal>(16, {1, 80'000}), true).overhead_ns == 80'000);
  const std::vector<Rehearsal> rehearsals{{1, 100'000}, {1, 200'000}, {1, 120'000}, {11, 150'000}, {11, 900'000}};
  const auto single = clock_allowance_from(rehearsals, false);
  CHECK(single.overhead_ns == 225'000);
  CHECK(single.looseness_ns == 125'000);
  const auto allowance = clock_allowance_from(rehearsals, true);
  CHECK(allowance.overhead_ns == 200'000);
  CHECK(allowance.looseness_ns == 100'000);
  CHECK(allowance.per_call_ns == 5'000);
  CHECK(allowance.least_ns(1'000'000, 1) == 800'000);
  CHECK(allowance.least_ns(1'000'000, 11) == 750'000);
  CHECK(allowance.least_ns(200'000, 1) == 1);
  CHECK(allowance.looseness_of(1'000'000, 1) == Approx(0.1));
  CHECK(allowance.looseness_of(1'000'000, 5) == Approx(0.024));
}

TEST_CASE("a series is so long that a false clock hides no more than 5 % of a call, or 1 us", "[bench][verdict]") {
  const ClockAllowance allowance{.overhead_ns = 300'000, .looseness_ns = 200'000};
  CHECK(calls_of_series(allowance, 10e6, 256) == 1);
  CHECK(calls_of_series(allowance, 1e6, 256) == 4);
  CHECK(calls_of_series(allowance, 1e6, 3) == 3);
  CHECK(calls_of_series(allowance, 100e3, 256) == 64);
  CHECK(calls_of_series(allowance, 5e3, 256) == 256);
  CHECK(calls_of_series(allowance, 5e3, 1) == 1);
}

TEST_CASE("short calls are timed in series, whose time the worker measures", "[bench][evaluation]") {
  Scene scene;
  scene.slots = 256;
  scene.overhead_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 100'000 : 200'000; };
  std::int64_t claimed_ns = 20'000;
  // A call takes 20 us, a series of n calls n times as long, and the overhead is there once.
  scene.runner = [&](const std::string&, int) {
    return RunnerReply{.end_ns = claimed_ns * scene.judge.series, .host_ns = 20'000 * scene.judge.series + 150'000};
  };
  SECTION("an honest clock") {}
  SECTION("a false one") { claimed_ns = 1'000; }
  const auto record = evaluate(scene);
  REQUIRE(record);
  REQUIRE(record->timing);
  CHECK(record->timing->calls.back() == 128);
  CHECK(record->timing->candidate_ns.back() == Approx(20'000).epsilon(0.05));
  CHECK(record->timing->full_comparisons > 1000);
  CHECK(std::none_of(record->labels.begin(), record->labels.end(),
                     [](const std::string& label) { return label.starts_with("loose clock"); }));
}

TEST_CASE("the overhead of a separate call grows with the time for which the processors sleep", "[bench][verdict]") {
  std::vector<Rehearsal> rehearsals(4, {1, 100'000});
  rehearsals.insert(rehearsals.end(), 4, {.overhead_ns = 150'000, .call_ns = 100'000});
  rehearsals.insert(rehearsals.end(), 4, {.overhead_ns = 150'000, .call_ns = 1'000'000});
  const auto allowance = clock_allowance_from(rehearsals, true);
  CHECK(allowance.overhead_ns == 100'000);
  REQUIRE(allowance.separate.size() == 3);
  CHECK(allowance.least_separate_ns(50'000) == 1);
  CHECK(allowance.least_separate_ns(100'000) == 1);
  CHECK(allowance.least_separate_ns(175'000) == 50'000);
  CHECK(allowance.least_separate_ns(250'000) == 100'000);
  CHECK(allowance.least_separate_ns(650'000) == 500'000);
  CHECK(allowance.least_separate_ns(2'150'000) == 2'000'000);
  CHECK(clock_allowance_from(rehearsals, false).separate.empty());
}

TEST_CASE("calls that are faster in a series count as they are one at a time", "[bench][evaluation]") {
  Scene scene;
  scene.slots = 256;
  scene.overhead_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 100'000 : 120'000; };
  std::int64_t separate_ns = 80'000;
  std::int64_t claimed_ns = 80'000;
  scene.runner = [&](const std::string&, int) {
    const bool is_separate = scene.judge.series == 1;
    const std::int64_t taken_ns = is_separate ? separate_ns : 20'000 * scene.judge.series;
    return RunnerReply{.end_ns = is_separate ? claimed_ns : taken_ns, .host_ns = taken_ns + 110'000};
  };
  const auto is_label = [](const std::string& label) { return label.starts_with("calls one at a time: "); };
  const auto counts_alone = [&](const EvaluationRecord& record) {
    return std::any_of(record.labels.begin(), record.labels.end(), is_label);
  };
  SECTION("the candidate computes several together") {}
  SECTION("it hides that from its own clock") { claimed_ns = 1'000; }
  SECTION("a process that was stopped is a little slower") {
    separate_ns = claimed_ns = 24'000;
    const auto record = evaluate(scene);
    REQUIRE(record);
    CHECK(record->timing->separate_calls->speedup.value == Approx(2'000.0 / 24).epsilon(0.01));
    CHECK(record->timing->speedup_call.value == Approx(100).epsilon(0.05));
    CHECK_FALSE(counts_alone(*record));
    return;
  }
  const auto record = evaluate(scene);
  REQUIRE(record);
  REQUIRE(record->timing->separate_calls);
  CHECK(record->timing->separate_calls->reference_ns.size() == 32);
  // The worker's clock leaves what the rehearsals varied by, and a quarter of it.
  CHECK(record->timing->speedup_call.value == Approx(2'000.0 / 80).epsilon(0.25));
  CHECK(record->timing->speedup_call.value == record->timing->separate_calls->speedup.value);
  CHECK(record->timing->reference_median_ns / record->timing->candidate_median_ns ==
        Approx(record->timing->speedup_call.value));
  CHECK(counts_alone(*record));
}

TEST_CASE("a call too short for the worker's clock is labelled, and cannot win", "[bench][evaluation]") {
  Scene scene;
  scene.overhead_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 100'000 : 200'000; };
  scene.runner = [](const std::string&, int) { return RunnerReply{.end_ns = 20'000, .host_ns = 120'000}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:too short to time");
  CHECK_THAT(record->labels.back(), Catch::StartsWith("loose clock: up to 125 us"));
  scene.judge.reference_ns = 10'000;
  scene.judge.alone_ns.assign(20, 10'000);
  CHECK(evaluate(scene)->outcome.correct());
}

TEST_CASE("a call that is short beside a busy machine's overhead was not measured", "[bench][evaluation]") {
  Scene scene;
  scene.overhead_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 100'000 : 2'400'000; };
  scene.runner = [](const std::string&, int) { return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'120'000}; };
  SECTION("the rehearsals waited for a processor") {
    scene.waited_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 0 : 2'250'000; };
    const auto record = evaluate(scene);
    REQUIRE(record);
    CHECK(record->outcome.is_busy_machine());
    CHECK(record->outcome.message.find("repeat it when the machine is idle") != std::string::npos);
  }
  SECTION("they waited too little to explain the overhead") {
    scene.waited_ns = [](int) { return 100'000; };
    CHECK(evaluate(scene)->outcome.to_class() == "suspect:too short to time");
  }
  SECTION("it is slower than the reference") {
    scene.waited_ns = [](int rehearsal) { return rehearsal % 2 == 0 ? 0 : 2'250'000; };
    scene.judge.reference_ns = 500'000;
    scene.judge.alone_ns.assign(20, 500'000);
    CHECK(evaluate(scene)->outcome.correct());
  }
}

TEST_CASE("waiting for a processor is no looseness of the clock on an idle machine", "[bench][verdict]") {
  const std::vector<Rehearsal> rehearsals{{1, 100'000, 0}, {1, 900'000, 750'000}, {1, 120'000, 200'000}};
  const auto allowance = clock_allowance_from(rehearsals, false);
  CHECK(allowance.overhead_ns == 1'100'000);
  CHECK(allowance.looseness_ns == 1'000'000);
  CHECK(allowance.idle_looseness_ns == 62'500);
  CHECK(allowance.on_idle_machine().looseness_ns == 62'500);
  CHECK(allowance.on_idle_machine().overhead_ns == allowance.overhead_ns);
}

TEST_CASE("a candidate that is faster on inputs it has seen is suspect", "[bench][evaluation]") {
  Scene scene;
  scene.judge.fresh = [](int canary) { return canary % 4 == 0; };
  scene.runner = [&](const std::string&, int) {
    const std::int64_t taken = scene.judge.canaries % 4 == 0 ? 1'000'000 : 100'000;
    return RunnerReply{.end_ns = taken, .host_ns = taken + 100'000};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:remembers inputs");
}

TEST_CASE("new inputs that are slower for the reference as well are no memory", "[bench][evaluation]") {
  Scene scene;
  scene.judge.fresh = [](int canary) { return canary % 4 == 0; };
  bool is_slower_for_both = true;
  SECTION("for both") {}
  SECTION("for the candidate alone") { is_slower_for_both = false; }
  scene.judge.reference_taken = [&](int canary) -> std::int64_t {
    return is_slower_for_both && canary % 4 == 0 ? 900'000 : 600'000;
  };
  scene.runner = [&](const std::string&, int) {
    const std::int64_t taken = scene.judge.canaries % 4 == 0 ? 150'000 : 100'000;
    return RunnerReply{.end_ns = taken, .host_ns = taken + 100'000};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK((record->outcome.to_class() == "suspect:remembers inputs") == !is_slower_for_both);
}

TEST_CASE("a busy machine is no memory", "[bench][evaluation]") {
  Scene scene;
  scene.judge.fresh = [](int canary) { return canary % 5 == 0; };
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> noise(0, 0.7);
  scene.runner = [&](const std::string&, int) {
    const auto taken = static_cast<std::int64_t>(100'000 * noise(random));
    return RunnerReply{.end_ns = taken, .host_ns = taken + 100'000};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() != "suspect:remembers inputs");
}

TEST_CASE("processes left beside the runner are a cheat", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op == "run") return RunnerDeath{.left_processes = true};
    return RunnerReply{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "cheat:process");
}

TEST_CASE("weights that would take the judge's memory are the candidate's outcome", "[bench][evaluation]") {
  Scene scene;
  scene.available_bytes = 6'000'000;
  std::uint64_t bytes = 1'000'000;
  scene.runner = [&](const std::string& op, int count) -> RunnerAnswer {
    RunnerReply reply{.end_ns = 1'000'000, .host_ns = 1'100'000};
    if (op == "construct" && count == 2) reply.arg[0] = bytes;
    return reply;
  };
  CHECK(evaluate(scene, Target::Torch)->outcome.correct());
  bytes = 1'000'001;
  scene.runner_calls.clear();
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "out_of_memory");
  CHECK(record->outcome.message.starts_with("its weights take 1000001 bytes; they may take 1000000"));
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "export") == 1);
}

TEST_CASE("outputs in memory of others are a cheat that names the memory", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op == "run") return RunnerDeath{.has_foreign_memory = true, .text = "output 0 lies in the file /tmp/x"};
    return RunnerReply{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "cheat:memory");
  CHECK(record->outcome.message.starts_with("output 0 lies in the file /tmp/x; "));
}

TEST_CASE("a measurement on a busy machine is suspect", "[bench][evaluation]") {
  Scene scene;
  scene.judge.waits = 500ms;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:busy machine");
  CHECK(record->timing->contention.value() == Approx(1.0 / 3));
}

TEST_CASE("a cancelled evaluation is an error", "[bench][evaluation]") {
  Scene scene;
  std::stop_source stop;
  scene.runner = [&](const std::string&, int) -> RunnerAnswer {
    stop.request_stop();
    return RunnerDeath{};
  };
  const auto record = evaluate(scene, Target::Cpp, stop.get_token());
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::Cancelled);
}

TEST_CASE("times of the reference alone stay with the judge until it is slower beside a candidate",
          "[bench][evaluation]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  const auto taken = [&](std::string_view what) {
    return std::count(scene.judge.calls.begin(), scene.judge.calls.end(), what);
  };
  for (int verdict = 0; verdict < 2; ++verdict) {
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    CHECK(record->timing->reference_alone_before_ns == scene.judge.alone_ns);
    CHECK(record->timing->reference_alone_graph_ns == scene.judge.alone_graph.samples_ns);
  }
  CHECK((taken("time reference") == 1 && taken("time graph") == 1));
  scene.judge.reference_ns = 2'400'000;
  scene.judge.alone_ns.assign(20, 2'400'000);
  const auto drifted = evaluate(scene, Target::Cuda);
  REQUIRE(drifted);
  CHECK(drifted->outcome.correct());
  CHECK((taken("time reference") == 2 && taken("time graph") == 1));
  CHECK(evaluate(scene, Target::Cuda)->timing->reference_alone_before_ns == scene.judge.alone_ns);
}
