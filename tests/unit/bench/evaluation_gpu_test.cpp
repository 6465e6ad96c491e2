#include <algorithm>
#include <limits>

#include "bench/measurement.hpp"
#include "evaluation_scene.hpp"

using namespace kernelgen;
using namespace kernelgen::testing;
using namespace std::chrono_literals;

TEST_CASE("on a GPU, the device's clock counts, for calls and for graphs", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  CHECK(record->timing->speedup_call.value == 2);
  REQUIRE(record->timing->speedup_device);
  CHECK(record->timing->speedup_device->value == 4);
  CHECK(score_of(*record) == 4);
  CHECK(record->timing->candidate_ns.size() >= 22);
  CHECK(record->timing->candidate_graph_ns.size() >= 22);
  CHECK(record->timing->full_comparisons >= 44);
}

TEST_CASE("no timed call is compared in full where none is to be", "[bench][evaluation][gpu]") {
  const auto timing = [](bool gpu, int full_comparisons) {
    Scene scene;
    if (gpu) put_on_gpu(scene, 1'000'000, 500'000);
    scene.measure = {.max_relative_interval = -1, .full_comparisons = full_comparisons, .max_samples = 50};
    const auto record = evaluate(scene);
    REQUIRE(record);
    CHECK(std::count(record->labels.begin(), record->labels.end(),
                     "reduced verification: 0 timed calls compared in full") == (full_comparisons == 0 ? 1 : 0));
    return *record->timing;
  };
  CHECK(timing(true, 0).full_comparisons == 0);
  CHECK(timing(true, 0).sampled_comparisons == 100);
  CHECK(timing(false, 0).full_comparisons == 0);
  CHECK(timing(false, 44).full_comparisons == 50);
  CHECK(timing(true, 44).full_comparisons == 100);
}

TEST_CASE("a judge is asked for when everything else is done, and before that only to admit a task",
          "[bench][evaluation][gpu]") {
  using Order = std::vector<std::string>;
  const auto prepared = [](bool known, bool queue, bool beside = false) {
    Scene scene;
    scene.beside = beside;
    put_on_gpu(scene, 1'000'000, 900'000);
    scene.source = "import triton";
    scene.known = known;
    scene.queue = queue;
    REQUIRE(evaluate(scene, Target::Triton));
    return scene.prepared;
  };
  CHECK(prepared(false, false) == Order{"judge", "build", "judge"});
  CHECK(prepared(false, true) == Order{"judge", "build", "judge"});
  CHECK(prepared(true, false) == Order{"build", "judge"});
  CHECK(prepared(true, true) == Order{"build", "judge"});
  // Where others use the device, the task is admitted beside others.
  CHECK(prepared(false, true, true) == Order{"beside", "build", "judge"});
  CHECK(prepared(false, false, true) == Order{"judge", "build", "judge"});
  CHECK(prepared(true, true, true) == Order{"build", "judge"});
}

TEST_CASE("an error while a task is admitted beside others ends its evaluation", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 900'000);
  scene.queue = scene.beside = true;
  scene.judge_refuses = Error{ErrorCode::Cancelled, "cancelled"};
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::Cancelled);
  CHECK(scene.prepared == std::vector<std::string>{"beside"});
}

TEST_CASE("waiting for a judge and starting it are phases of their own", "[bench][evaluation][gpu]") {
  using Phases = std::vector<std::string>;
  const auto phases = [](bool known, bool cold, bool beside = false) {
    Scene scene;
    scene.beside = beside;
    put_on_gpu(scene, 1'000'000, 900'000);
    scene.known = known;
    scene.cold = cold;
    scene.queue = true;
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    Phases found;
    for (const auto& phase : record->phases) {
      if (phase.name == k_device_wait_phase) break;
      if (phase.name != "compile") found.push_back(phase.name);
    }
    return found;
  };
  CHECK(phases(true, false) == Phases{"wait for the judge"});
  CHECK(phases(true, true) == Phases{"wait for the judge", "start the judge"});
  // A task that is not known yet is first asked for without waiting.
  CHECK(phases(false, false) ==
        Phases{"admit", "wait for the judge", "wait for the judge", "admit", "wait for the judge"});
  CHECK(phases(false, true, true) ==
        Phases{"admit", "wait for the judge", "admit", "wait for the judge", "start the judge"});
}

TEST_CASE("what does not compile waits for no judge of a task that is known", "[bench][evaluation]") {
  Scene scene;
  scene.compiled = CompileFailed{.outcome = {OutcomeKind::Compile, "syntax", "no"}, .report = {}};
  scene.admission.labels = {"live dropout"};
  scene.known = true;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "compile:syntax");
  CHECK(record->labels == std::vector<std::string>{"live dropout"});
  CHECK(scene.prepared.empty());
  scene.known = false;
  CHECK(evaluate(scene)->outcome.to_class() == "compile:syntax");
  CHECK(scene.prepared == std::vector<std::string>{"judge"});
}

TEST_CASE("Python candidates that compile are built before the device is held", "[bench][evaluation][gpu]") {
  const auto built = [](Target target, const std::string& source, bool gpu = true) {
    Scene scene;
    scene.source = source;
    if (gpu) put_on_gpu(scene, 1'000'000, 500'000);
    REQUIRE(evaluate(scene, target));
    CHECK(scene.exclusive);
    return scene.built;
  };
  const auto triton = built(Target::Triton, "import triton");
  REQUIRE(triton);
  CHECK_FALSE(triton->second);
  const auto extension = built(Target::Torch, "from torch.utils.cpp_extension import load_inline");
  REQUIRE(extension);
  CHECK_FALSE(extension->first.empty());
  CHECK(extension->first != triton->first);
  CHECK_FALSE(built(Target::Torch, "import torch"));
  CHECK_FALSE(built(Target::Cuda, "// triton"));
  // Under its interpreter Triton compiles nothing; an extension is compiled on the processor as well.
  CHECK_FALSE(built(Target::Triton, "import triton", false));
  CHECK(built(Target::Torch, "from torch.utils.cpp_extension import load_inline", false));
  CHECK(built(Target::Torch, "import subprocess", false));
}

TEST_CASE("an evaluation goes on where its judge is", "[bench][evaluation][gpu]") {
  for (const bool known : {true, false}) {
    Scene scene;
    put_on_gpu(scene, 1'000'000, 500'000);
    scene.gpu->uuid = "GPU-1";
    scene.known = known;
    scene.queue = true;
    scene.baselines.kinds = {BaselineKind::Compile};
    scene.moves_to = scene.gpu;
    scene.moves_to->uuid = "GPU-2";
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    CHECK(record->outcome.to_class() == "correct");
    CHECK(record->environment.device_uuid == "GPU-2");
    CHECK(scene.ran_there);
    // A task that is not known yet is admitted by a session of its own.
    CHECK(scene.opened_on == (known ? std::vector<std::string>{"GPU-1"} : std::vector<std::string>{"GPU-1", "GPU-2"}));
    // A time is valid on one machine and device.
    REQUIRE(scene.compiled_requests.size() == 1);
    CHECK(scene.compiled_requests.front().machine == "there");
  }
}

TEST_CASE("an evaluation goes on where its task was admitted", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.gpu->uuid = "GPU-1";
  scene.queue = scene.beside = true;
  scene.admits_on = scene.gpu;
  scene.admits_on->uuid = "GPU-2";
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  CHECK(record->environment.device_uuid == "GPU-2");
  CHECK(scene.opened_on == std::vector<std::string>{"GPU-2"});
  CHECK(scene.ran_there);
}

TEST_CASE("a candidate that draws itself is not compared with a replay that does not", "[bench][evaluation][gpu]") {
  const auto judged = [](Target target, ForwardRandomness randomness) {
    Scene scene;
    put_on_gpu(scene, 1'000'000, 500'000);
    scene.randomness = randomness;
    const auto record = evaluate(scene, target);
    REQUIRE(record);
    CHECK(record->outcome.to_class() == "correct");
    return *record;
  };
  const auto is_labelled = [](const EvaluationRecord& record) {
    return std::any_of(record.labels.begin(), record.labels.end(),
                       [](const auto& label) { return label.starts_with("given draws: "); });
  };
  const auto python = judged(Target::Triton, ForwardRandomness::Traced);
  CHECK_FALSE(python.timing->speedup_device);
  CHECK(python.timing->speedup_device_reason.starts_with("the candidate draws random numbers"));
  CHECK_FALSE(is_labelled(python));
  const auto native = judged(Target::Cuda, ForwardRandomness::Traced);
  CHECK(native.timing->speedup_device);
  CHECK(is_labelled(native));
  CHECK(judged(Target::Triton, ForwardRandomness::None).timing->speedup_device);
  CHECK_FALSE(is_labelled(judged(Target::Cuda, ForwardRandomness::None)));
}

TEST_CASE("a reference that cannot be captured leaves the speedup of calls", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.alone_graph = {{}, "it synchronizes"};
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK_FALSE(record->timing->speedup_device);
  CHECK(record->timing->speedup_device_reason == "the reference cannot be captured: it synchronizes");
  CHECK(score_of(*record) == 2);
}

TEST_CASE("a candidate that cannot be captured is called instead", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 0);
  const auto runs = scene.runner;
  scene.runner = [runs](const std::string& op, int count) -> RunnerAnswer {
    if (op == "replay") return RunnerReply{.status = RunnerStatus::NotCapturable, .text = "it allocates"};
    return runs(op, count);
  };
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  REQUIRE(record->timing->speedup_device);
  CHECK(record->timing->speedup_device->value == 2);
  CHECK(record->timing->speedup_device_reason == "the candidate cannot be replayed as a graph: it allocates");
}

TEST_CASE("transforms come between calls or between replays", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 10'000);
  scene.admission.distributions = {"own", "negate", "scale_up", "spikes", "offset"};
  // What runs when a transform comes for the second time.
  std::map<std::string, int> checked;
  int in_replays = 0;
  scene.judge.answer = [&](const std::string& distribution, int) {
    if (distribution != "own" && ++checked[distribution] == 2) in_replays += scene.judge.graphs > 0 ? 1 : 0;
    return Outcome{};
  };
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(checked == std::map<std::string, int>{{"negate", 2}, {"scale_up", 2}, {"spikes", 2}, {"offset", 2}});
  CHECK(in_replays == 2);
}

namespace {

/// A GPU with 100 slots. Calls and replays take `claimed_ns` by the candidate's word, and `taken_ns` in a series.
void replay_series(Scene& scene, std::uint64_t claimed_ns, std::int64_t taken_ns) {
  put_on_gpu(scene, claimed_ns, claimed_ns);
  scene.slots = 100;
  scene.judge.reference_ns = 40'000;
  scene.judge.alone_ns = {40'000};
  scene.judge.alone_graph = {{40'000}, ""};
  const auto runs = scene.runner;
  scene.runner = [=, &scene](const std::string& op, int count) {
    auto answer = runs(op, count);
    auto& host_ns = std::get<RunnerReply>(answer).host_ns;
    host_ns = 100'000 + static_cast<std::int64_t>(claimed_ns);
    if (op == "replay series") host_ns = 300'000 + scene.judge.series * taken_ns + 20'000 * (count % 3);
    return answer;
  };
  // The first is captured.
  scene.rehearsed_series = [](int, int number) {
    return RunnerReply{.host_ns = number == 1 ? 90'000'000 : 200'000 + 50'000 * (number % 3)};
  };
}

}  // namespace

TEST_CASE("no call on a GPU is shorter than the worker's clock says of replayed series", "[bench][evaluation][gpu]") {
  Scene scene;
  replay_series(scene, 1'000, 20'000);
  scene.launch = {.call_ns = 1'500, .replay_ns = 2'500};
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  const auto& timing = *record->timing;
  REQUIRE(timing.replayed_series);
  CHECK(timing.replayed_series->calls == 100);
  CHECK(timing.replayed_series->host_ns.size() == 3);
  CHECK(timing.replayed_series->overhead_ns == 300'000);
  CHECK(timing.replayed_series->looseness_ns == 1'000);
  // 20 us in the series.
  CHECK(timing.replayed_series->least_call_ns == Approx(21'500 * 0.95));
  CHECK(timing.replayed_series->least_replay_ns == Approx(22'500 * 0.95));
  const auto all = [](const std::vector<std::int64_t>& samples, std::int64_t wanted_ns) {
    return std::all_of(samples.begin(), samples.end(), [&](std::int64_t sample_ns) { return sample_ns == wanted_ns; });
  };
  CHECK(all(timing.candidate_ns, 20'425));
  CHECK(all(timing.candidate_graph_ns, 21'375));
  CHECK(timing.speedup_call.value == Approx(40.0 / 20.425));
  CHECK(timing.speedup_device.value().value == Approx(40.0 / 21.375));
}

TEST_CASE("a long call is bounded by a short series, and no rehearsal calls the reference",
          "[bench][evaluation][gpu]") {
  const auto calls_of = [](std::optional<double> bytes_per_second, std::int64_t state_bytes) {
    Scene scene;
    replay_series(scene, 1'000'000, 1'000'000);
    scene.gpu->measured_bytes_per_second = bytes_per_second;
    scene.facts.emplace().state_bytes = state_bytes;
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    CHECK(scene.judge.call_order.find("bbbbbbbbbbbbbbbb") == scene.judge.call_order.npos);
    REQUIRE(record->timing->replayed_series);
    return record->timing->replayed_series->calls;
  };
  // The overhead varies by 100 us: 3.1 us of each of 32 calls, with 6 us of memory's work.
  CHECK(calls_of(1e12, 6'000'000) == 32);
  CHECK(calls_of(1e12, 8'000'000) == 100);
  CHECK(calls_of(std::nullopt, 0) == 100);
}

TEST_CASE("the shortest series that tells a call's time within 1 % is replayed", "[bench][evaluation]") {
  const std::vector<ReplayedRehearsal> rehearsals{
      {8, {400'000, 480'000}}, {32, {420'000, 500'000}}, {128, {440'000, 520'000}}};
  CHECK(rehearsals[0].looseness_ns() == 10'000);
  CHECK(choose_replayed_series(rehearsals, 1'000'000, 0).calls == 8);
  CHECK(choose_replayed_series(rehearsals, 999'000, 0).calls == 32);
  CHECK(choose_replayed_series(rehearsals, 1'000'000, 1).calls == 32);
  CHECK(choose_replayed_series(rehearsals, 1'000'000, 8'000).calls == 128);
  CHECK(choose_replayed_series(rehearsals, 5'000, 0).calls == 128);
  CHECK(choose_replayed_series({{8, {400'000}}}, 5'000, std::numeric_limits<double>::infinity()).calls == 8);
}

TEST_CASE("a time that the worker's clock agrees with stays", "[bench][evaluation][gpu]") {
  Scene scene;
  replay_series(scene, 20'000, 18'000);
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->timing->speedup_call.value == 2);
  CHECK(record->timing->speedup_device.value().value == 2);
  CHECK(record->timing->replayed_series->least_call_ns == Approx(17'000));
  CHECK(std::none_of(record->labels.begin(), record->labels.end(),
                     [](const std::string& label) { return label.find("loose clock") != std::string::npos; }));
}

TEST_CASE("a candidate with wrong answers in a replayed series is called instead", "[bench][evaluation][gpu]") {
  Scene scene;
  replay_series(scene, 20'000, 18'000);
  scene.judge.answer = [&](const std::string&, int) {
    const bool is_series = !scene.runner_calls.empty() && scene.runner_calls.back() == "replay series";
    return is_series ? wrong() : Outcome{};
  };
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK_FALSE(record->timing->replayed_series);
  CHECK(record->timing->speedup_device_reason.find("in a series: its replay gives other outputs") != std::string::npos);
}

TEST_CASE("a series for which memory runs out gives way to a shorter one", "[bench][evaluation][gpu]") {
  const auto judged = [](int most) {
    Scene scene;
    replay_series(scene, 20'000, 18'000);
    const auto runs = scene.runner;
    scene.runner = [=, &scene](const std::string& op, int count) -> RunnerAnswer {
      if (op == "replay series" && scene.judge.series > most)
        return RunnerReply{.status = RunnerStatus::NotCapturable, .text = "OutOfMemoryError"};
      return runs(op, count);
    };
    const auto record = evaluate(scene, Target::Torch);
    REQUIRE(record);
    CHECK(record->outcome.correct());
    return *record->timing;
  };
  CHECK(judged(100).replayed_series->calls == 100);
  CHECK(judged(99).replayed_series->calls == 32);
  CHECK(judged(3).replayed_series->calls == 3);
  CHECK_FALSE(judged(2).replayed_series);
  CHECK(judged(2).speedup_device_reason.find("in a series: OutOfMemoryError") != std::string::npos);
}

TEST_CASE("calls as long as their limit are not replayed in series", "[bench][evaluation][gpu]") {
  Scene scene;
  replay_series(scene, 3'000'000'000, 3'000'000'000);
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(record->timing->speedup_device_reason.find("3000 ms come too near the limit of a call") != std::string::npos);
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "replay series") == 0);
}

TEST_CASE("longer calls than rehearsals count as longer only where no series was replayed",
          "[bench][evaluation][gpu]") {
  const auto median_ns = [](bool is_replayed) {
    Scene scene;
    replay_series(scene, 20'000, 18'000);
    const auto runs = scene.runner;
    scene.runner = [=](const std::string& op, int count) -> RunnerAnswer {
      if (op == "replay series" && !is_replayed)
        return RunnerReply{.status = RunnerStatus::NotCapturable, .text = "no"};
      auto answer = runs(op, count);
      // The rehearsals say 100 us beside the call.
      if (op == "run") std::get<RunnerReply>(answer).host_ns = 20'000 + 180'000;
      return answer;
    };
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    return record->timing->candidate_median_ns;
  };
  CHECK(median_ns(true) == Approx(20'000));
  CHECK(median_ns(false) == Approx(100'000));
}

TEST_CASE("where a runner replays no series, there is none", "[bench][evaluation][gpu]") {
  Scene scene;
  replay_series(scene, 1'000, 20'000);
  scene.rehearsed_series = [](int, int) {
    return RunnerReply{.status = RunnerStatus::NotCapturable, .text = "no graphs"};
  };
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK_FALSE(record->timing->replayed_series);
  CHECK(record->timing->speedup_device.value().value == 40);
  CHECK(std::count(scene.runner_calls.begin(), scene.runner_calls.end(), "replay series") == 0);
}

TEST_CASE("a replay that gives other outputs than the calls did is no graph of the candidate",
          "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 10'000);
  scene.admission.distributions = {"own"};
  scene.judge.answer = [&](const std::string&, int) { return scene.judge.graphs == 2 ? wrong() : Outcome{}; };
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  REQUIRE(record->timing->speedup_device);
  CHECK(record->timing->speedup_device->value == 2);
  CHECK(record->timing->speedup_device_reason.find("default stream") != std::string::npos);
}

TEST_CASE("a replay that ends the process leaves the speedup of calls", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 10'000);
  const auto runs = scene.runner;
  scene.runner = [runs](const std::string& op, int count) -> RunnerAnswer {
    if (op == "replay") return RunnerDeath{.signal = 11};
    return runs(op, count);
  };
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  CHECK_FALSE(record->timing->speedup_device);
}

TEST_CASE("work that goes on beside the stream is a cheat", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000, 200'000);
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "cheat:side_stream");
}

TEST_CASE("what is faster than the memory did not read its inputs", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 1'000'000);
  scene.admission.sensitive_bytes = std::uint64_t{8} << 30;
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:faster than memory");
  // The record has the floor that the time was compared with.
  REQUIRE(record->timing->memory_floor);
  CHECK(record->timing->memory_floor->read_bytes == std::uint64_t{8} << 30);
}

TEST_CASE("a device's clock that is forged gains nothing", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 10'000, 10'000);
  scene.runner = [](const std::string&, int) { return RunnerReply{.arg = {0, 2000, 0, 10'000}, .host_ns = 9'000'000}; };
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  REQUIRE(record->timing);
  CHECK(record->timing->candidate_median_ns == 8'900'000);
}

TEST_CASE("a device fault is named", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op != "run") return RunnerReply{.host_ns = 1};
    return RunnerReply{.status = RunnerStatus::DeviceFault,
                       .text = "waiting for the stream: an illegal memory access was encountered (700)"};
  };
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "device_fault:illegal_address");
}

TEST_CASE("what Triton lacks is a resource", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op != "run") return RunnerReply{.host_ns = 1};
    return RunnerReply{
        .status = RunnerStatus::Exception,
        .text = "OutOfResources: out of resource: shared memory, Required: 102400, Hardware limit: 101376"};
  };
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "resource:shared_memory");
}

TEST_CASE("pairs of a throttled device are discarded and counted", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.throttled = [](int canary) { return canary % 2 == 0; };
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  CHECK(record->timing->discarded >= 40);
}

TEST_CASE("a device's clock before each pair is in the record, if it is told", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  CHECK(evaluate(scene, Target::Cuda)->timing->clock_mhz.empty());
  scene.judge.clock_mhz = 1755;
  const auto record = evaluate(scene, Target::Cuda);
  CHECK(record->timing->clock_mhz == std::vector<std::int64_t>(record->timing->candidate_ns.size(), 1755));
}

TEST_CASE("a device that others work on makes a time suspect, and a wrong answer no less wrong",
          "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.late = 15;
  auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  CHECK(record->timing->device_contention == 0.15);
  scene.judge.late = 60;
  record = evaluate(scene, Target::Cuda);
  CHECK(record->outcome.to_class() == "suspect:busy machine");
  CHECK(record->outcome.message ==
        "other processes delayed 60 % of the probes of the device; repeat it when they "
        "have ended (`nvidia-smi` or `rocm-smi` lists them), or on another device");
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  CHECK(evaluate(scene, Target::Cuda)->outcome.to_class() == "accuracy:mismatch");
}

TEST_CASE("a device that is busy only while the candidate lives is not busy with others' work",
          "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.late = 60;
  scene.judge.others_gone = [&scene] { return scene.runners_alive == 0; };
  CHECK(evaluate(scene, Target::Cuda)->outcome.to_class() == "suspect:keeps the device busy");
  // Work of the device after each call has its own message.
  put_on_gpu(scene, 1'000'000, 500'000, 400'000);
  scene.judge.others_gone = [&scene] { return scene.runners_alive == 0; };
  CHECK(evaluate(scene, Target::Cuda)->outcome.to_class() == "cheat:side_stream");
}

TEST_CASE("a judge that cannot tell of others changes no verdict", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.use_fails = true;
  CHECK(evaluate(scene, Target::Cuda)->outcome.to_class() == "correct");
  scene.judge.answer = [](const std::string&, int) { return wrong(); };
  CHECK(evaluate(scene, Target::Cuda)->outcome.to_class() == "accuracy:mismatch");
  scene.judge.prepare_refuses = Error{ErrorCode::OutOfMemory, "stage: the reference needs more", {}};
  const auto failed = evaluate(scene, Target::Cuda);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message == "stage: the reference needs more");
}

TEST_CASE("a device that is hardly asked for tells nothing of others", "[bench][evaluation][gpu]") {
  CHECK_FALSE(contention(DeviceUse{.probes = 3, .delayed_probes = 0}, DeviceUse{.probes = 12, .delayed_probes = 9}));
  CHECK(contention(DeviceUse{.probes = 3, .delayed_probes = 1}, DeviceUse{.probes = 23, .delayed_probes = 6}) == 0.25);
  CHECK(contention(DeviceUse{.probes = 3, .delayed_probes = 1}, DeviceUse{.probes = 13, .delayed_probes = 4}) == 0);
}

TEST_CASE("memory that others hold blames no candidate", "[bench][evaluation][gpu]") {
  const auto judged = [](RunnerStatus status, const std::string& text, std::uint64_t others_gib) {
    Scene scene;
    put_on_gpu(scene, 1'000'000, 500'000);
    scene.judge.foreign_bytes = [=] { return others_gib << 30; };
    scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
      return op == "run" ? RunnerReply{.status = status, .text = text} : RunnerReply{};
    };
    return evaluate(scene, Target::Triton).value();
  };
  const std::string told = "OutOfMemoryError: CUDA out of memory. Tried to allocate 12.00 GiB.";
  CHECK(judged(RunnerStatus::OutOfMemory, told, 1).outcome.to_class() == "out_of_memory");
  CHECK(judged(RunnerStatus::OutOfMemory, told, 1).labels.empty());
  const auto excused = judged(RunnerStatus::OutOfMemory, told, 9);
  CHECK(excused.outcome.to_class() == "suspect:memory in use");
  CHECK(excused.labels == std::vector<std::string>{"shared device: other processes hold 9 of its 24 GiB"});
  for (const char* words :
       {"other processes hold 9 of its 24 GiB", "`nvidia-smi`", "on another device", "Tried to allocate 12"})
    CHECK(excused.outcome.message.find(words) != std::string::npos);
  CHECK(judged(RunnerStatus::OutOfMemory, "CUDA out of memory. Tried to allocate 24.50 GiB. GPU 0 has", 9)
            .outcome.to_class() == "out_of_memory");
  CHECK(judged(RunnerStatus::OutOfMemory, "CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has", 9)
            .outcome.to_class() == "suspect:memory in use");
  // The message of the runtime, from a native candidate.
  CHECK(judged(RunnerStatus::Failed, "out of memory", 9).outcome.to_class() == "suspect:memory in use");
  // Memory of the machine, and failures that have nothing to do with memory.
  CHECK(judged(RunnerStatus::OutOfMemory, "MemoryError", 9).outcome.to_class() == "out_of_memory");
  CHECK(judged(RunnerStatus::Exception, "ValueError: no", 9).outcome.to_class() == "launch:exception");
}

TEST_CASE("what a wrong answer says of memory excuses nothing", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.foreign_bytes = [] { return std::uint64_t{9} << 30; };
  scene.judge.answer = [](const std::string&, int) {
    return Outcome{OutcomeKind::Accuracy, "structure", "its answer is a dictionary with 'CUDA out of memory'"};
  };
  CHECK(evaluate(scene, Target::Triton)->outcome.to_class() == "accuracy:structure");
}

TEST_CASE("the memory of a runner that is being taken apart is not others'", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  int looks = 0;
  scene.judge.foreign_bytes = [&] { return scene.runners_alive == 0 && ++looks > 2 ? 0 : std::uint64_t{9} << 30; };
  const auto record = evaluate(scene, Target::Triton);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "correct");
  for (const auto& label : record->labels) CHECK(label.find("shared device") == std::string::npos);
}

TEST_CASE("a candidate that takes the judge's memory has run out of memory", "[bench][evaluation][gpu]") {
  const auto judged = [](std::uint64_t held_gib, std::uint64_t others_gib = 0) {
    Scene scene;
    put_on_gpu(scene, 1'000'000, 500'000);
    scene.judge.prepare_refuses = Error{ErrorCode::OutOfMemory, "stage: the reference needs more", {}};
    scene.judge.use->runner_bytes = std::uint64_t{8} << 30;
    scene.judge.foreign_bytes = [&scene, held_gib, others_gib] {
      return (scene.runners_alive != 0 ? held_gib + others_gib : others_gib) << 30;
    };
    return evaluate(scene, Target::Torch);
  };
  const auto greedy = judged(12);
  REQUIRE(greedy);
  CHECK(greedy->outcome.to_class() == "out_of_memory");
  CHECK(greedy->outcome.message ==
        "it holds 12 of the device's 24 GiB, and 8 GiB are left for it beside what the task takes");
  // Memory within the limit of a candidate does not count.
  const auto modest = judged(8);
  REQUIRE_FALSE(modest);
  CHECK(modest.error().code == ErrorCode::OutOfMemory);
  CHECK(modest.error().message == "stage: the reference needs more");
  // Nor is foreign memory; but where foreign processes hold a part, the cause is unknown.
  CHECK_FALSE(judged(8, 9));
  CHECK(judged(12, 9)->outcome.to_class() == "suspect:memory in use");
}

TEST_CASE("after a tool of compute-sanitizer that is not done in time, the others are left out",
          "[bench][evaluation]") {
  struct SlowTools final : Sanitizers {
    Result<void> check_installed(const SanitizerTool&, std::stop_token) override { return {}; }
    Result<SanitizerRun> run(const SanitizerTool& tool, const SanitizeRequest&, std::stop_token) override {
      started.push_back(tool.name);
      SanitizerRun run{.report = {.tool = tool.name, .version = {}, .reason = {}}, .findings = {}};
      run.timed_out = tool.kind == SanitizerKind::ComputeSanitizer;
      run.report.status = run.timed_out ? SanitizerStatus::NotFinished : SanitizerStatus::Clean;
      return run;
    }
    std::vector<std::string> started;
  };
  Scene scene;
  SlowTools tools;
  scene.sanitizers = &tools;
  put_on_gpu(scene, 1'000'000, 1'000'000);
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  CHECK(tools.started == std::vector<std::string>{"shaker", "memcheck"});
  REQUIRE(record->sanitizers.size() > 2);
  CHECK(record->sanitizers.back().status == SanitizerStatus::NotFinished);
  CHECK(record->sanitizers.back().reason == "memcheck was not done in time");
}
