#include "bench/evaluation.hpp"

#include <deque>
#include <functional>

#include "bench/runner.hpp"
#include "bench/verdict.hpp"
#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::chrono_literals;

namespace {

/// Answers as told; remembers what it was asked.
class FakeJudge final : public Judge {
 public:
  std::vector<std::string> calls;
  WeightReport weights;
  /// Decides each check; by default everything is right.
  std::function<Outcome(const std::string& distribution, int check)> answer = [](const std::string&, int) {
    return Outcome{};
  };
  std::int64_t reference_ns = 2'000'000;
  std::vector<std::int64_t> clean_ns = std::vector<std::int64_t>(20, 2'000'000);
  Baseline clean_graph{std::vector<std::int64_t>(20, 2'000'000), ""};
  int graphs = 0;
  mutable ProcessorTime got_so_far;
  /// Added at each reading, beside a second of running.
  std::chrono::nanoseconds waits{0};

  std::optional<ProcessorTime> processor_time() const override {
    got_so_far.running += 1s;
    got_so_far.waiting += waits;
    return got_so_far;
  }
  Result<TaskDescription> load(const JudgeTask&, std::stop_token) override { return TaskDescription{}; }
  Result<Admission> admit(const std::optional<std::string>&, std::stop_token) override { return Admission{}; }
  Result<ExchangeLayout> layout() override { return ExchangeLayout{}; }
  Result<std::optional<DeviceArena>> attach(const SharedMemory&) override { return std::optional<DeviceArena>(); }
  Result<std::uint64_t> use_weights(int set) override {
    calls.push_back("weights " + std::to_string(set));
    return std::uint64_t{100} + static_cast<std::uint64_t>(set);
  }
  Result<WeightReport> match_state(int, const SharedMemory&) override { return weights; }
  Result<StagedCase> stage(const StageRequest& request) override {
    if (request.mode == CallMode::Graph) ++graphs;
    after_ = request.turn == ReferenceTurn::After;
    turns += after_ ? 'a' : 'b';
    if (announced && *announced == request) ++right_guesses;
    announced.reset();
    distribution_ = request.distribution;
    if (request.freshness == Freshness::Canary) ++canaries;
    return StagedCase{.seed = ++seed_,
                      .forward_seed = 1,
                      .reference_ns = after_ ? 0 : reference_ns,
                      .fresh = fresh(canaries),
                      .throttled = throttled(canaries),
                      .clock_mhz = clock_mhz};
  }
  Result<CheckResult> check(CheckMode, const std::optional<StageRequest>& next) override {
    announced = next;
    return CheckResult{answer(distribution_, ++checks), {}, after_ ? reference_ns : 0};
  }
  Result<Baseline> baseline(CallMode mode, int, int, std::chrono::milliseconds) override {
    calls.push_back(mode == CallMode::Graph ? "graph baseline" : "baseline");
    return mode == CallMode::Graph ? clean_graph : Baseline{clean_ns, ""};
  }
  Result<std::string> compile_reference(const CompileReferenceRequest&, std::stop_token) override { return Error{}; }
  Result<Baseline> compiled_baseline(const BaselineSampling&, std::stop_token) override { return Error{}; }

  std::function<bool(int canary)> fresh = [](int) { return true; };
  std::function<bool(int canary)> throttled = [](int) { return false; };
  std::int64_t clock_mhz = 0;
  int canaries = 0;
  int checks = 0;
  /// What the last check was told to come next, and how often it came.
  std::optional<StageRequest> announced;
  int right_guesses = 0;
  /// When the reference was called for each staged case: 'b'efore the candidate or 'a'fter it.
  std::string turns;

 private:
  bool after_ = false;
  std::string distribution_;
  std::uint64_t seed_ = 0;
};

struct Scene {
  FakeJudge judge;
  CleanBaselines clean;
  std::vector<std::string> runner_calls;
  std::function<RunnerAnswer(const std::string& op, int count)> runner = [](const std::string&, int) {
    return RunnerReply{.start_ns = 0, .end_ns = 1'000'000, .host_ns = 1'100'000};
  };
  CompileOutcome compiled = Compiled{};
  std::optional<Error> judge_refuses;
  Admission admission{.distributions = {"own", "negate"}};
  std::string source = "code";
  bool exclusive = false;
  /// The key of what was built ahead, and whether the device was held meanwhile.
  std::optional<std::pair<std::string, bool>> built;
  bool fetches_outputs = true;
  std::uint64_t output_bytes = 0;
  std::optional<GpuFacts> gpu;
  BaselineOptions baselines;
  /// What compiled references were asked for, and what is answered.
  std::vector<CompiledBaselineRequest> compiled_requests;
  std::function<Result<Baseline>(BaselineKind kind)> compiled_reference = [](BaselineKind) {
    return Baseline{{1'400'000, 1'600'000, 1'500'000}, ""};
  };
  int runners_alive = 0;
};

class FakeSession final : public JudgeSession {
 public:
  explicit FakeSession(Scene& scene) : scene_(scene) {}
  Result<Baseline> compiled_baseline(const CompiledBaselineRequest& request, std::stop_token) override {
    CHECK(scene_.runners_alive == 0);
    CHECK(scene_.exclusive);
    scene_.compiled_requests.push_back(request);
    return scene_.compiled_reference(request.kind);
  }

 private:
  Scene& scene_;
};

class FakeRunner final : public Runner {
 public:
  explicit FakeRunner(Scene& scene) : scene_(scene) { ++scene_.runners_alive; }
  FakeRunner(const FakeRunner&) = delete;
  FakeRunner& operator=(const FakeRunner&) = delete;
  ~FakeRunner() override { --scene_.runners_alive; }
  RunnerAnswer echo(std::chrono::milliseconds) override { return RunnerReply{.host_ns = 100'000}; }
  RunnerAnswer load(const RunnerJob&, std::chrono::milliseconds) override { return answer("load"); }
  RunnerAnswer construct(int, std::uint64_t, std::chrono::milliseconds) override { return answer("construct"); }
  RunnerAnswer export_state(int, int, std::uint64_t, std::chrono::milliseconds) override { return answer("export"); }
  RunnerAnswer prepare(int set, std::chrono::milliseconds) override { return answer("prepare " + std::to_string(set)); }
  RunnerAnswer run(int, std::uint64_t, Allocations, CallMode mode, std::chrono::milliseconds) override {
    return answer(mode == CallMode::Graph ? "replay" : "run");
  }
  RunnerAnswer destroy(int set, std::chrono::milliseconds) override { return answer("destroy " + std::to_string(set)); }
  bool fetches_outputs() const override { return scene_.fetches_outputs; }
  std::string isolation() const override { return "full"; }

 private:
  RunnerAnswer answer(const std::string& op) {
    scene_.runner_calls.push_back(op);
    return scene_.runner(op, static_cast<int>(std::count(scene_.runner_calls.begin(), scene_.runner_calls.end(), op)));
  }
  Scene& scene_;
};

class FakeWorld final : public JudgeSource,
                        public RunnerSource,
                        public DeviceGate,
                        public SharedMemorySource,
                        public KernelCompiler {
 public:
  explicit FakeWorld(Scene& scene) : scene_(scene) {}

  Result<std::unique_ptr<JudgeSession>> open(const JudgeTask&, std::stop_token) override {
    if (scene_.judge_refuses) return *scene_.judge_refuses;
    auto session = std::make_unique<FakeSession>(scene_);
    session->judge = &scene_.judge;
    session->clean = &scene_.clean;
    session->admission = scene_.admission;
    session->layout.output_bytes = scene_.output_bytes;
    return std::unique_ptr<JudgeSession>(std::move(session));
  }
  void expect(RunnerKind) override {}
  void build_ahead(const BuildJob& job, std::chrono::milliseconds, std::stop_token) override {
    scene_.built = {job.builds_key, scene_.exclusive};
  }
  Result<std::unique_ptr<Runner>> take(RunnerKind, std::stop_token) override {
    return std::unique_ptr<Runner>(std::make_unique<FakeRunner>(scene_));
  }
  Result<std::unique_ptr<Hold>> share(std::stop_token) override { return std::make_unique<Hold>(); }
  Result<std::unique_ptr<Hold>> alone(std::stop_token) override {
    scene_.exclusive = true;
    return std::make_unique<Hold>();
  }
  class FakeBlock final : public Block {
   public:
    int fd() const override { return 0; }
    SharedMemory memory() const override { return {}; }
  };
  Result<std::unique_ptr<Block>> allocate(const std::string&, std::uint64_t) override { return block(); }
  Result<std::unique_ptr<Block>> publish(const std::string&, std::string_view) override { return block(); }
  Result<std::unique_ptr<Block>> open_file(const std::string&) override { return block(); }
  bool supports(Target) const override { return true; }
  Result<CompileKey> key(const CompileRequest&, std::stop_token) override { return CompileKey{}; }
  Result<CompileOutcome> compile(const CompileRequest&, std::stop_token) override { return scene_.compiled; }

 private:
  static Result<std::unique_ptr<Block>> block() { return std::unique_ptr<Block>(std::make_unique<FakeBlock>()); }
  Scene& scene_;
};

Result<EvaluationRecord> evaluate(Scene& scene, Target target = Target::Cpp, std::stop_token stop = {}) {
  FakeWorld world(scene);
  EvaluationRequest request;
  request.candidate = make_candidate(target, scene.source);
  request.options.baselines = scene.baselines;
  return evaluate_candidate(request, {},
                            {.gpu = scene.gpu,
                             .judges = world,
                             .compiler = world,
                             .runners = world,
                             .gate = world,
                             .memory = world,
                             .now = std::chrono::steady_clock::now,
                             .machine = "this machine"},
                            {}, stop);
}

Outcome wrong() { return {OutcomeKind::Accuracy, "mismatch", "off by 3"}; }

}  // namespace

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

TEST_CASE("the clean baseline is taken alone and before the candidate is loaded", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [&](const std::string& op, int) -> RunnerAnswer {
    if (op == "load") CHECK(std::count(scene.judge.calls.begin(), scene.judge.calls.end(), "baseline") == 1);
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
  CHECK(order == std::vector<std::string>{"load", "prepare 1", "destroy 1", "prepare 2"});
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

TEST_CASE("right and wrong by turns with the same inputs is a race", "[bench][evaluation]") {
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

TEST_CASE("weights that ModelNew does not have are named", "[bench][evaluation]") {
  Scene scene;
  scene.judge.weights.unmapped = {"gru.weight_ih_l0", "gru.bias_ih_l0"};
  const auto record = evaluate(scene, Target::Torch);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "weight_sync");
  CHECK_THAT(record->outcome.message, Catch::Contains("gru.weight_ih_l0, gru.bias_ih_l0"));
  CHECK(scene.judge.checks == 0);
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

TEST_CASE("a clock that hides time is suspect", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string&, int) { return RunnerReply{.end_ns = 1'000, .host_ns = 5'000'000}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:clock");
}

TEST_CASE("a reference that is slower beside the candidate only is suspect", "[bench][evaluation]") {
  Scene scene;
  scene.judge.reference_ns = 4'000'000;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:baseline disturbed");
  CHECK_FALSE(record->timing->clean_after_ns.empty());
}

TEST_CASE("who is called first in a timed pair takes turns", "[bench][evaluation]") {
  Scene scene;
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
  const auto timed = scene.judge.turns.substr(scene.judge.turns.size() - 6);
  CHECK((timed == "bababa" || timed == "ababab"));
  CHECK(record->timing->reference_ns ==
        std::vector<std::int64_t>(record->timing->candidate_ns.size(), scene.judge.reference_ns));
}

TEST_CASE("the next timed pair is announced where calls are short", "[bench][evaluation]") {
  Scene scene;
  const auto record = evaluate(scene);
  REQUIRE(record);
  const auto pairs = static_cast<int>(record->timing->candidate_ns.size());
  // All but the first, whose cost nobody knows, and the one that did not come.
  CHECK(scene.judge.right_guesses == pairs - 2);
  CHECK(scene.judge.announced);

  Scene slow;
  slow.judge.reference_ns = 20'000'000;
  slow.judge.clean_ns = std::vector<std::int64_t>(20, 20'000'000);
  REQUIRE(evaluate(slow));
  CHECK(slow.judge.right_guesses == 0);
  CHECK_FALSE(slow.judge.announced);
}

TEST_CASE("only suspicions about the machine are worth another try", "[bench][evaluation]") {
  CHECK(is_disturbance({OutcomeKind::Suspect, "busy machine", ""}));
  CHECK(is_disturbance({OutcomeKind::Suspect, "baseline disturbed", ""}));
  CHECK_FALSE(is_disturbance({OutcomeKind::Suspect, "clock", ""}));
  CHECK_FALSE(is_disturbance({OutcomeKind::Accuracy, "mismatch", ""}));
  CHECK_FALSE(is_disturbance({OutcomeKind::Correct, "", ""}));
}

TEST_CASE("a machine that got slower altogether is not the candidate's doing", "[bench][evaluation]") {
  Scene scene;
  scene.judge.reference_ns = 4'000'000;
  scene.runner = [&](const std::string& op, int count) -> RunnerAnswer {
    if (op == "run" && count > 40) scene.judge.clean_ns.assign(20, 4'000'000);
    return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.correct());
}

TEST_CASE("a clock may not hide more than waking a runner takes", "[bench][evaluation]") {
  const auto verdict = [](std::int64_t hidden_ns, Target target = Target::Cpp) {
    Scene scene;
    scene.runner = [&](const std::string&, int) {
      return RunnerReply{.end_ns = 1'000'000, .host_ns = 1'100'000 + hidden_ns};
    };
    return evaluate(scene, target)->outcome.to_class();
  };
  CHECK(verdict(250'000) == "correct");
  CHECK(verdict(350'000) == "suspect:clock");
  CHECK(verdict(450'000, Target::Torch) == "correct");
  CHECK(verdict(550'000, Target::Torch) == "suspect:clock");
}

TEST_CASE("time for copying outputs is allowed only to runners whose outputs cannot be fetched",
          "[bench][evaluation]") {
  const auto verdict = [](Target target, bool fetches) {
    Scene scene;
    scene.output_bytes = 4'000'000;
    scene.fetches_outputs = fetches;
    scene.runner = [](const std::string&, int) { return RunnerReply{.end_ns = 10'000'000, .host_ns = 11'100'000}; };
    return evaluate(scene, target)->outcome.to_class();
  };
  CHECK(verdict(Target::Torch, true) == "suspect:clock");
  CHECK(verdict(Target::Torch, false) == "correct");
  CHECK(verdict(Target::Cpp, false) == "suspect:clock");
}

TEST_CASE("a call too short for the worker's clock is labelled, and cannot win", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string&, int) { return RunnerReply{.end_ns = 20'000, .host_ns = 120'000}; };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:too short to time");
  CHECK_THAT(record->labels.at(0), Catch::StartsWith("loose clock: up to 300 us"));
  scene.judge.reference_ns = 10'000;
  scene.judge.clean_ns.assign(20, 10'000);
  CHECK(evaluate(scene)->outcome.correct());
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

TEST_CASE("processes left beside the runner are a cheat", "[bench][evaluation]") {
  Scene scene;
  scene.runner = [](const std::string& op, int) -> RunnerAnswer {
    if (op == "run") return RunnerDeath{.has_company = true};
    return RunnerReply{};
  };
  const auto record = evaluate(scene);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "cheat:process");
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

namespace {

/// A scene on a GPU whose clock says `device_ns` for calls and `replay_ns` for graphs.
void put_on_gpu(Scene& scene, std::uint64_t device_ns, std::uint64_t replay_ns, std::uint64_t late_ns = 2000) {
  scene.gpu = GpuFacts{};
  scene.gpu->vendor = "nvidia";
  scene.gpu->measured_bytes_per_second = 4e12;
  scene.runner = [=](const std::string& op, int) {
    return RunnerReply{.start_ns = 0,
                       .end_ns = 1'050'000,
                       .arg = {0, late_ns, 0, op == "replay" ? replay_ns : device_ns},
                       .host_ns = 1'100'000};
  };
}

}  // namespace

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
  CHECK_FALSE(built(Target::Triton, "import triton", false));
}

TEST_CASE("clean baselines stay with the judge until it is slower beside a candidate", "[bench][evaluation]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  const auto taken = [&](std::string_view what) {
    return std::count(scene.judge.calls.begin(), scene.judge.calls.end(), what);
  };
  for (int verdict = 0; verdict < 2; ++verdict) {
    const auto record = evaluate(scene, Target::Cuda);
    REQUIRE(record);
    CHECK(record->timing->clean_before_ns == scene.judge.clean_ns);
    CHECK(record->timing->clean_graph_ns == scene.judge.clean_graph.samples_ns);
  }
  CHECK((taken("baseline") == 1 && taken("graph baseline") == 1));
  scene.judge.reference_ns = 2'400'000;
  scene.judge.clean_ns.assign(20, 2'400'000);
  const auto drifted = evaluate(scene, Target::Cuda);
  REQUIRE(drifted);
  CHECK(drifted->outcome.correct());
  CHECK((taken("baseline") == 2 && taken("graph baseline") == 1));
  CHECK(evaluate(scene, Target::Cuda)->timing->clean_before_ns == scene.judge.clean_ns);
}

TEST_CASE("a reference that cannot be captured leaves the speedup of calls", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 500'000);
  scene.judge.clean_graph = {{}, "it synchronizes"};
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

TEST_CASE("a replay that gives other outputs than the calls did is no graph of the candidate",
          "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 1'000'000, 10'000);
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
}

TEST_CASE("a device that forges its clock is caught by the worker's", "[bench][evaluation][gpu]") {
  Scene scene;
  put_on_gpu(scene, 10'000, 10'000);
  scene.runner = [](const std::string&, int) { return RunnerReply{.arg = {0, 2000, 0, 10'000}, .host_ns = 9'000'000}; };
  const auto record = evaluate(scene, Target::Cuda);
  REQUIRE(record);
  CHECK(record->outcome.to_class() == "suspect:clock");
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
    return kind == BaselineKind::Compile ? Baseline{{1'400'000, 1'600'000, 1'500'000}, ""}
                                         : Baseline{{}, "torch.compile failed: no\ncompiler"};
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
  scene.compiled_reference = [](BaselineKind kind) -> Result<Baseline> {
    if (kind == BaselineKind::Compile) return Baseline{{2'000'000}, ""};
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
  scene.compiled_reference = [](BaselineKind) { return Baseline{{3'000'000}, ""}; };
  CHECK(*evaluate(scene)->timing->baselines.at(0).speedup == Approx(3.0));
}

TEST_CASE("an evaluation can be cancelled while a reference is compiled", "[bench][evaluation][baselines]") {
  Scene scene;
  scene.baselines.kinds = {BaselineKind::Compile};
  scene.compiled_reference = [](BaselineKind) { return Error{ErrorCode::Cancelled, "cancelled"}; };
  const auto record = evaluate(scene);
  REQUIRE_FALSE(record);
  CHECK(record.error().code == ErrorCode::Cancelled);
  CHECK(scene.clean.compiled.empty());
}
