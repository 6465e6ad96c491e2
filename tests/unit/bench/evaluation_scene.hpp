#pragma once

/// \file
/// Whole evaluations with fake judge, runner, compiler and memory, which answer as tests specify.

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/evaluation.hpp"
#include "bench/runner.hpp"
#include "bench/verdict.hpp"
#include "profile/sanitizers.hpp"
#include "support/catch.hpp"

namespace kernelgen::testing {

using namespace std::chrono_literals;

/// A judge with given answers, which records its requests.
class FakeJudge final : public Judge {
 public:
  std::vector<std::string> calls;
  WeightMatch weights;
  /// Decides each check; by default everything is right.
  std::function<Outcome(const std::string& distribution, int check)> answer = [](const std::string&, int) {
    return Outcome{};
  };
  std::int64_t reference_ns = 2'000'000;
  std::vector<std::int64_t> alone_ns = std::vector<std::int64_t>(20, 2'000'000);
  ReferenceSamples alone_graph{std::vector<std::int64_t>(20, 2'000'000), ""};
  int graphs = 0;
  mutable ProcessorTime got_so_far;
  /// Added at each reading, beside a second of running.
  std::chrono::nanoseconds waits{0};

  std::optional<Error> prepare_refuses;
  /// Between two readings there are a hundred probes.
  std::optional<DeviceUse> use = DeviceUse{.total_bytes = std::uint64_t{24} << 30};
  std::int64_t late = 0;
  std::function<bool()> others_gone = [] { return false; };
  std::function<std::uint64_t()> foreign_bytes = [] { return 0; };
  bool use_fails = false;

  std::optional<ProcessorTime> processor_time() const override {
    got_so_far.running += 1s;
    got_so_far.waiting += waits;
    return got_so_far;
  }
  Result<TaskDescription> load(const JudgeTask&, std::stop_token) override { return TaskDescription{}; }
  Result<Admission> admit(const std::optional<std::string>&, std::stop_token) override { return Admission{}; }
  Result<ExchangeLayout> layout() override { return ExchangeLayout{}; }
  Result<std::optional<DeviceArena>> attach(const SharedMemory&) override { return std::optional<DeviceArena>(); }
  Result<WeightDraw> use_weights(int set) override {
    calls.push_back("weights " + std::to_string(set));
    return WeightDraw{.seed = std::uint64_t{100} + static_cast<std::uint64_t>(set), .transform = set == 2 ? 1u : 0u};
  }
  Result<StateMatch> match_state(int, const SharedMemory&) override { return StateMatch(weights); }
  Result<PreparedCall> prepare_call(const CallRequest& request) override {
    if (prepare_refuses) return *prepare_refuses;
    if (request.mode == CallMode::Graph) ++graphs;
    after_ = request.order != ReferenceOrder::Before;
    call_order += after_ ? 'a' : 'b';
    if (announced && *announced == request) ++right_guesses;
    announced.reset();
    distribution_ = request.distribution;
    if (request.freshness == Freshness::Canary) ++canaries;
    series = request.calls;
    return PreparedCall{.seed = ++seed_,
                        .forward_seed = 1,
                        .series = {.calls = series},
                        .reference_ns = after_ ? 0 : reference_taken(canaries) * series,
                        .fresh = fresh(canaries),
                        .throttled = throttled(canaries),
                        .clock_mhz = clock_mhz};
  }
  Result<CheckResult> check(CheckMode, const std::optional<CallRequest>& next) override {
    announced = next;
    return CheckResult{answer(distribution_, ++checks), {}, after_ ? reference_taken(canaries) * series : 0};
  }
  Result<std::optional<DeviceUse>> device_use() override {
    if (use_fails) return Error{ErrorCode::InvalidTask, "its process ended", {}};
    if (use) {
      use->probes += 100;
      use->delayed_probes += others_gone() ? 0 : late;
      use->foreign_bytes = foreign_bytes();
    }
    return use;
  }
  Result<ReferenceSamples> time_reference(CallMode mode, const SamplingLimits&) override {
    calls.push_back(mode == CallMode::Graph ? "time graph" : "time reference");
    return mode == CallMode::Graph ? alone_graph : ReferenceSamples{alone_ns, ""};
  }
  Result<std::string> compile_reference(const CompileReferenceRequest&, std::stop_token) override { return Error{}; }
  Result<ReferenceSamples> time_compiled(const SamplingLimits&, std::stop_token) override { return Error{}; }

  std::function<bool(int canary)> fresh = [](int) { return true; };
  std::function<std::int64_t(int canary)> reference_taken = [this](int) { return reference_ns; };
  std::function<bool(int canary)> throttled = [](int) { return false; };
  std::int64_t clock_mhz = 0;
  int canaries = 0;
  int checks = 0;
  /// Number of calls in the last series.
  int series = 1;
  /// The request that the last check announced, and the number of right announcements.
  std::optional<CallRequest> announced;
  int right_guesses = 0;
  /// When the reference was called for each prepared case: 'b'efore the candidate or 'a'fter it.
  std::string call_order;

 private:
  bool after_ = false;
  std::string distribution_;
  std::uint64_t seed_ = 0;
};

struct Scene {
  FakeJudge judge;
  ReferenceTimes reference_times;
  std::vector<std::string> runner_calls;
  /// The weight transform of each construction, and where constants were changed.
  std::vector<std::pair<std::uint64_t, ConstantWeights>> constructions;
  /// The limit for building of each of these.
  std::vector<std::chrono::milliseconds> build_limits;
  std::function<RunnerAnswer(const std::string& op, int count)> runner = [](const std::string&, int) {
    return RunnerReply{.start_ns = 0, .end_ns = 1'000'000, .host_ns = 1'100'000};
  };
  /// The answer to a job.
  RunnerAnswer opened = RunnerReply{};
  CompileOutcome compiled = Compiled{};
  std::optional<Error> judge_refuses;
  Admission admission{.distributions = {"own", "negate"}};
  std::string source = "code";
  /// GPUs to compile for, and the keys, lists and ends of the processes that do.
  std::vector<GpuFacts> compile_for;
  std::vector<std::string> compiled_keys;
  std::string kernel_list;
  std::function<Result<RunnerAnswer>()> compiled_for = [] { return RunnerAnswer(RunnerReply{}); };
  /// What the client built; null where the compiler does it.
  const Prebuilt* prebuilt = nullptr;
  bool exclusive = false;
  /// How building ahead ends, and the limits that it had.
  BuildAhead ahead = BuildAhead::Done;
  StepLimits ahead_limits;
  /// The key of what was built ahead, and whether the device was held meanwhile.
  std::optional<std::pair<std::string, bool>> built;
  /// Whether another evaluation has the judge when this one begins, and whether another evaluation has opened the task
  /// before.
  bool queue = false;
  /// Whether the task may be admitted beside others.
  bool beside = false;
  /// The device that admits it then; unset: its own.
  std::optional<GpuFacts> admits_on;
  bool known = false;
  ForwardRandomness randomness = ForwardRandomness::None;
  /// Its judge has to be started once more.
  bool cold = false;
  /// The GPU that takes the evaluation over, and whether a runner was taken there.
  std::optional<GpuFacts> moves_to;
  bool ran_there = false;
  /// In the order in which it was asked for.
  std::vector<std::string> prepared;
  /// The device of each session that was asked for.
  std::vector<std::string> opened_on;
  /// The overhead of the n-th rehearsal, and the processor time that the stopped runner uses beside each call.
  std::function<std::int64_t(int)> overhead_ns = [](int) { return 100'000; };
  std::int64_t overrun_ns = 0;
  /// How long runner and worker wait for a processor in the n-th rehearsal.
  std::function<std::int64_t(int)> waited_ns = [](int) { return 0; };
  /// The n-th rehearsal of a series of so many calls that is replayed.
  std::function<RunnerAnswer(int calls, int number)> rehearsed_series = [](int, int) {
    return RunnerReply{.host_ns = 300'000};
  };
  std::uint64_t output_bytes = 0;
  std::uint64_t available_bytes = std::uint64_t{64} << 30;
  int slots = 1;
  std::optional<TaskFacts> facts;
  LaunchTimes launch;
  std::optional<GpuFacts> gpu;
  BaselineOptions baselines;
  MeasureOptions measure;
  EvaluationMode mode = EvaluationMode::Full;
  /// Tools that watch the candidate; null: none, and it is not asked for.
  Sanitizers* sanitizers = nullptr;
  /// Whether the evaluation only shared the device.
  bool shared = false;
  /// The requests for compiled references, and the answer.
  std::vector<CompiledBaselineRequest> compiled_requests;
  std::function<Result<ReferenceSamples>(BaselineKind kind)> compiled_reference = [](BaselineKind) {
    return ReferenceSamples{{1'400'000, 1'600'000, 1'500'000}, ""};
  };
  int runners_alive = 0;
  std::string isolation = "full";
  bool allow_weak_isolation = false;
  LibraryUse library_use = LibraryUse::Anything;
  /// What is seen when a call is examined; samples of the processor by default.
  ExaminedCall examined{std::vector<WorkActivity>(100, {"own code", KernelOrigin::Own, 1}), 1'000'000, ""};
};

class FakeSession final : public JudgeSession {
 public:
  explicit FakeSession(Scene& scene) : scene_(scene) {}
  Result<ReferenceSamples> time_compiled(const CompiledBaselineRequest& request, std::stop_token) override {
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
  RunnerAnswer open(const RunnerJob&, std::chrono::milliseconds) override { return scene_.opened; }
  RunnerAnswer rehearse(const CallSeries& series, CallMode mode, std::chrono::nanoseconds work,
                        std::chrono::milliseconds) override {
    if (mode == CallMode::Graph) {
      const int number = ++rehearsed_series_[series.calls];
      --scene_.judge.graphs;
      if (number == 1) --scene_.judge.canaries;
      return scene_.rehearsed_series(series.calls, number);
    }
    // Only calls of the candidate are counted.
    --scene_.judge.canaries;
    const auto overhead_ns = scene_.overhead_ns(++rehearsals_);
    return RunnerReply{
        .end_ns = work.count(), .host_ns = overhead_ns + work.count(), .waited_ns = scene_.waited_ns(rehearsals_)};
  }
  RunnerAnswer load(const RunnerCode&, const StepLimits& limits) override { return answer("load", limits); }
  RunnerAnswer construct(int, const WeightDraw& draw, ConstantWeights constants, const StepLimits& limits) override {
    scene_.constructions.emplace_back(draw.transform, constants);
    return answer("construct", limits);
  }
  RunnerAnswer export_state(int, int, std::uint64_t, std::chrono::milliseconds) override { return answer("export"); }
  RunnerAnswer prepare(int set, std::chrono::milliseconds) override { return answer("prepare " + std::to_string(set)); }
  RunnerAnswer run(int, const PreparedCall& call, Allocations, CallMode mode, const StepLimits& limits) override {
    const bool is_series = mode == CallMode::Graph && call.series.calls > 1;
    return answer(is_series ? "replay series" : mode == CallMode::Graph ? "replay" : "run", limits);
  }
  ExaminedCall examine(int, std::uint64_t, std::chrono::milliseconds) override {
    scene_.runner_calls.emplace_back("examine");
    scene_.build_limits.emplace_back();
    return scene_.examined;
  }
  RunnerAnswer destroy(int set, std::chrono::milliseconds) override { return answer("destroy " + std::to_string(set)); }
  std::int64_t take_overrun_ns() override { return std::exchange(ran_, false) ? scene_.overrun_ns : 0; }
  std::string isolation() const override { return scene_.isolation; }

 private:
  RunnerAnswer answer(const std::string& op, const StepLimits& limits = {}) {
    scene_.runner_calls.push_back(op);
    ran_ = true;
    scene_.build_limits.push_back(limits.build);
    return scene_.runner(op, static_cast<int>(std::count(scene_.runner_calls.begin(), scene_.runner_calls.end(), op)));
  }
  Scene& scene_;
  int rehearsals_ = 0;
  std::map<int, int> rehearsed_series_;
  bool ran_ = false;
};

/// The runners of another device.
class FakeRunnersThere final : public RunnerSource {
 public:
  explicit FakeRunnersThere(Scene& scene) : scene_(scene) {}
  void prestart(RunnerKind) override {}
  Result<RunnerAnswer> compile_for(const CompileForJob&, const StepLimits&, std::stop_token) override {
    return Error{};
  }
  BuildAhead build_ahead(const BuildJob&, const StepLimits&, std::stop_token) override { return BuildAhead::Done; }
  Result<std::unique_ptr<Runner>> take(RunnerKind, std::stop_token) override {
    scene_.ran_there = true;
    return std::unique_ptr<Runner>(std::make_unique<FakeRunner>(scene_));
  }

 private:
  Scene& scene_;
};

class FakeWorld final : public JudgeSource,
                        public RunnerSource,
                        public DeviceGate,
                        public SharedMemorySource,
                        public KernelCompiler {
 public:
  explicit FakeWorld(Scene& scene) : scene_(scene), there_(scene) {}

  std::optional<AdmittedTask> known(const JudgeTask&) override {
    if (!scene_.known) return std::nullopt;
    return AdmittedTask{.description = {}, .admission = scene_.admission, .layout = {}};
  }
  Result<std::unique_ptr<JudgeSession>> try_open(const JudgeTask& task, std::stop_token stop) override {
    if (scene_.queue) return std::unique_ptr<JudgeSession>();
    return open(
        task, [] {}, std::move(stop));
  }
  Result<std::unique_ptr<JudgeSession>> open(const JudgeTask& task, const std::function<void()>& on_start,
                                             std::stop_token) override {
    if (!scene_.known || scene_.cold) on_start();
    scene_.prepared.emplace_back("judge");
    scene_.opened_on.push_back(task.device ? task.device->uuid : "");
    if (scene_.judge_refuses) return *scene_.judge_refuses;
    scene_.known = true;
    auto session = std::make_unique<FakeSession>(scene_);
    session->judge = &scene_.judge;
    session->reference_times = &scene_.reference_times;
    session->admission = scene_.admission;
    session->description.facts = scene_.facts;
    session->description.randomness = scene_.randomness;
    session->layout.output_bytes = scene_.output_bytes;
    session->layout.slots = scene_.slots;
    session->launch = scene_.launch;
    if (scene_.moves_to)
      session->moved_to = DeviceBackends{.gpu = scene_.moves_to, .runners = &there_, .gate = this, .machine = "there"};
    return std::unique_ptr<JudgeSession>(std::move(session));
  }
  Result<AdmissionBeside> admit(const JudgeTask& task, const std::function<void()>& on_start,
                                std::stop_token) override {
    if (!scene_.beside) return AdmissionBeside();
    on_start();
    scene_.prepared.emplace_back("beside");
    if (scene_.judge_refuses) return *scene_.judge_refuses;
    scene_.known = true;
    AdmissionBeside admitted{.task = known(task)};
    if (scene_.admits_on)
      admitted.moved_to = DeviceBackends{.gpu = scene_.admits_on, .runners = &there_, .gate = this, .machine = "there"};
    return admitted;
  }
  void prestart(RunnerKind) override {}
  Result<RunnerAnswer> compile_for(const CompileForJob& job, const StepLimits&, std::stop_token) override {
    CHECK(scene_.runners_alive == 0);
    scene_.compiled_keys.push_back(job.builds_key);
    return scene_.compiled_for();
  }
  BuildAhead build_ahead(const BuildJob& job, const StepLimits& limits, std::stop_token) override {
    scene_.built = {job.builds_key, scene_.exclusive};
    scene_.ahead_limits = limits;
    scene_.prepared.emplace_back("build");
    return scene_.ahead;
  }
  Result<std::unique_ptr<Runner>> take(RunnerKind, std::stop_token) override {
    return std::unique_ptr<Runner>(std::make_unique<FakeRunner>(scene_));
  }
  Result<std::unique_ptr<Lock>> acquire_shared(std::stop_token) override {
    scene_.shared = true;
    return std::make_unique<Lock>();
  }
  Result<std::unique_ptr<Lock>> acquire_for_build(std::stop_token) override { return std::make_unique<Lock>(); }
  Result<std::unique_ptr<Lock>> acquire_exclusive(std::stop_token) override {
    scene_.exclusive = true;
    return std::make_unique<Lock>();
  }
  bool is_held() override { return false; }
  class FakeBlock final : public Block {
   public:
    explicit FakeBlock(std::string text) : text_(std::move(text)) {}
    int fd() const override { return 0; }
    SharedMemory memory() const override { return {}; }
    Result<std::string> text() const override { return text_; }

   private:
    std::string text_;
  };
  std::uint64_t available_bytes() const override { return scene_.available_bytes; }
  Result<std::unique_ptr<Block>> allocate(const std::string&, std::uint64_t) override { return block(); }
  Result<std::unique_ptr<Block>> publish(const std::string&, std::string_view) override { return block(); }
  Result<std::unique_ptr<Block>> open_file(const std::string&) override { return block(); }
  bool supports(Target) const override { return true; }
  Result<CompileKey> key(const CompileRequest&, std::stop_token) override { return CompileKey{}; }
  Result<CompileOutcome> compile(const CompileRequest&, std::stop_token) override { return scene_.compiled; }

 private:
  Result<std::unique_ptr<Block>> block() {
    return std::unique_ptr<Block>(std::make_unique<FakeBlock>(scene_.kernel_list));
  }
  Scene& scene_;
  FakeRunnersThere there_;
};

inline Result<EvaluationRecord> evaluate(Scene& scene, Target target = Target::Cpp, std::stop_token stop = {}) {
  FakeWorld world(scene);
  Slots compilers(1);
  EvaluationRequest request;
  request.candidate = make_candidate(target, scene.source);
  request.options.baselines = scene.baselines;
  request.options.measure = scene.measure;
  request.options.mode = scene.mode;
  request.options.allow_weak_isolation = scene.allow_weak_isolation;
  request.options.library_use = scene.library_use;
  request.options.sanitizers.enabled = scene.sanitizers != nullptr;
  return evaluate_candidate(request, {},
                            {.device = {.gpu = scene.gpu, .runners = &world, .gate = &world, .machine = "this machine"},
                             .judges = world,
                             .compiler = world,
                             .memory = world,
                             .compilers = compilers,
                             .now = std::chrono::steady_clock::now,
                             .prebuilt = scene.prebuilt,
                             .sanitizers = scene.sanitizers,
                             .compile_for = scene.compile_for},
                            {}, stop);
}

inline bool has_label(const EvaluationRecord& record, std::string_view start) {
  return std::any_of(record.labels.begin(), record.labels.end(),
                     [&](const std::string& label) { return label.starts_with(start); });
}

inline Outcome wrong() { return {OutcomeKind::Accuracy, "mismatch", "off by 3"}; }

/// Puts a scene on a GPU that takes `device_ns` for calls and `replay_ns` for graphs.
inline void put_on_gpu(Scene& scene, std::uint64_t device_ns, std::uint64_t replay_ns, std::uint64_t late_ns = 2000) {
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

}  // namespace kernelgen::testing
