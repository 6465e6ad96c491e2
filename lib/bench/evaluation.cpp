#include "bench/evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <random>

#include <kernelgen/platform/platform.hpp>

#include "bench/baselines.hpp"
#include "bench/build_ahead.hpp"
#include "bench/candidate_session.hpp"
#include "bench/compile_for.hpp"
#include "bench/device_sharing.hpp"
#include "bench/library_use.hpp"
#include "bench/measurement.hpp"
#include "bench/statistics.hpp"
#include "bench/verdict.hpp"
#include "bench/watch.hpp"
#include "exec/sandbox.hpp"
#include "support/sha256.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// Number of input sets from the task's own distribution. The first set on the first weights is called twice.
constexpr int k_own_sets_first_weights = 3;
constexpr int k_own_sets_second_weights = 2;
/// Repetitions of a failing call, enough to tell "wrong from now on" from "wrong now and then".
constexpr int k_repeats_of_failure = 6;
constexpr SamplingLimits k_alone_sampling{.min_samples = 10, .max_samples = 12, .budget = 300ms};
/// If replays are timed as well, one in this many full comparisons of timed calls is of a replay.
constexpr int k_replay_share = 2;
/// Timed series at least, however many calls each of them has.
constexpr int k_fewest_series = 20;
/// Separate calls beside them.
constexpr std::size_t k_separate_pairs = 32;
/// Number of calls in a series of a compiled reference.
constexpr int k_baseline_calls = 16;
/// A record is labelled if a false clock could hide more than this share of a call, and this time.
constexpr double k_loose_share = 0.05, k_loose_ns = 1e3;
class Evaluation {
 public:
  Evaluation(const EvaluationRequest& request, EvaluationRecord record, EvaluationBackends backends,
             const ProgressCallback& progress, std::stop_token stop)
      : request_(request),
        options_(request.options),
        record_(std::move(record)),
        backends_(std::move(backends)),
        progress_(progress),
        stop_(std::move(stop)),
        kind_(runner_kind(request.candidate.target, artifact_kind(), backends_.device.gpu)) {}

  Result<EvaluationRecord> run() {
    if (options_.sanitizers.enabled) KERNELGEN_CHECK(check_sanitizers(request_, backends_, stop_));
    auto result = evaluate();
    // After an error the judge may still be working on an abandoned request, so it is not used again.
    if (session_) session_->healthy = session_->healthy && result.has_value();
    if (!result) return result;
    // Another evaluation may have the judge meanwhile.
    candidate_.reset();
    session_.reset();
    if (options_.sanitizers.enabled && result->outcome.correct())
      KERNELGEN_CHECK(timed_in(result->phases, "sanitize",
                               [&] { return watch_candidate(request_, artifact_, backends_, *result, stop_); }));
    KERNELGEN_CHECK(compile_for_others(*result));
    return result;
  }

 private:
  /// A worker does not know the targets that its clients registered: the form of the artifact comes with it.
  [[nodiscard]] ArtifactKind artifact_kind() const {
    return backends_.prebuilt == nullptr ? traits_of(request_.candidate.target).artifact : backends_.prebuilt->artifact;
  }

  /// The text of a Python candidate as the runner will run it.
  [[nodiscard]] std::string_view module_text() const {
    return backends_.prebuilt == nullptr ? request_.candidate.source : backends_.prebuilt->bytes;
  }

  Result<EvaluationRecord> evaluate() {
    KERNELGEN_TRY(auto refused, compile_and_open());
    if (refused) return finish(*std::move(refused));
    KERNELGEN_TRY(auto hold, timed(std::string(k_device_wait_phase), [&] { return acquire_device(); }));
    KERNELGEN_TRY(auto verdict, judge_within_memory());
    timed("end", [&] { candidate_->end(); });
    verdict = explain_by_weights(reattribute_to_machine(std::move(verdict)), record_.weights, record_.cases);
    verdict = withdraw_unreliable_verdict(std::move(verdict), session_->admission.labels);
    KERNELGEN_TRY(auto checked, check_plausibility(std::move(verdict)));
    if (checked.correct()) {
      const auto work = record_.work ? *record_.work : report_no_work("Triton's interpreter ran it");
      if (auto refusal = check_library_use(work, options_.library_use)) checked = *std::move(refusal);
    }
    KERNELGEN_CHECK(compare_with_baselines(checked));
    return finish(std::move(checked));
  }

  /// Acquires the device: exclusively, or shared if nothing is timed.
  Result<std::unique_ptr<DeviceGate::Lock>> acquire_device() {
    return checks_only() ? backends_.device.gate->acquire_shared(stop_)
                         : backends_.device.gate->acquire_exclusive(stop_);
  }

  std::optional<DeviceUse> use_now() { return on_device() ? device_use(*session_) : std::nullopt; }

  /// Attributes a lack of memory to the machine if foreign processes hold much of it. Requires: the runner has ended.
  Outcome reattribute_to_machine(Outcome verdict) {
    if (!on_device()) return verdict;
    const auto use = device_use_after_exit(*session_);
    if (!use) return verdict;
    if (auto label = sharing_label(*use)) record_.labels.push_back(*std::move(label));
    return reattribute_memory_failure(std::move(verdict), *use);
  }

  template <class Work>
  auto timed(std::string phase, Work work) -> decltype(work()) {
    return timed_in(record_.phases, std::move(phase), std::move(work));
  }

  template <class Work>
  auto timed_in(std::vector<Phase>& phases, std::string phase, Work work) -> decltype(work()) {
    const MeasuredPhase measured(*this, phases, std::move(phase));
    return work();
  }

  /// Tells that a phase begins, and adds its own lifetime to the record.
  class MeasuredPhase {
   public:
    MeasuredPhase(Evaluation& evaluation, std::vector<Phase>& phases, std::string name)
        : evaluation_(evaluation), phases_(phases), name_(std::move(name)) {
      if (evaluation_.progress_) evaluation_.progress_({name_, ""});
      start_ = evaluation_.backends_.now();
    }
    MeasuredPhase(const MeasuredPhase&) = delete;
    MeasuredPhase& operator=(const MeasuredPhase&) = delete;
    ~MeasuredPhase() {
      const std::chrono::duration<double, std::milli> elapsed = evaluation_.backends_.now() - start_;
      phases_.push_back({std::move(name_), elapsed.count()});
    }

   private:
    Evaluation& evaluation_;
    std::vector<Phase>& phases_;
    std::string name_;
    std::chrono::steady_clock::time_point start_;
  };

  EvaluationRecord finish(Outcome outcome) {
    record_.outcome = std::move(outcome);
    if (kind_ == RunnerKind::PythonInterpreter && record_.outcome.kind == OutcomeKind::Timeout)
      record_.labels.push_back(
          "interpreter: without a GPU, Triton's interpreter runs the kernel, thousands of times slower; take smaller "
          "inputs, or raise the time limit of a call");
    if (record_.outcome.correct() && record_.weights && !record_.weights->unmapped.empty())
      record_.labels.push_back(
          fmt::format("prepared weights: {} of the reference's tensors are not in ModelNew, whose outputs are right "
                      "under {} weight sets",
                      record_.weights->unmapped.size(), session_->admission.weight_sets));
    if (!record_.tolerance.standard) record_.labels.push_back("non-standard tolerance");
    // A report without a single timed call would have a ratio of zero.
    if (record_.timing && record_.timing->candidate_ns.empty()) record_.timing.reset();
    if (record_.timing && record_.timing->full_comparisons < MeasureOptions{}.full_comparisons)
      record_.labels.push_back(
          fmt::format("reduced verification: {} timed calls compared in full", record_.timing->full_comparisons));
    if (record_.timing && record_.outcome.correct()) label_imprecision(*record_.timing);
    if (record_.timing && options_.mode == EvaluationMode::Quick)
      record_.labels.push_back("quick: fewer samples and comparisons than a full verdict has");
    return std::move(record_);
  }

  /// Labels a score with a wide interval.
  void label_imprecision(const TimingReport& timing) {
    const auto& times = timing.speedup_device ? timing.candidate_graph_ns : timing.candidate_ns;
    if (auto label = imprecision_label(timing.scored_speedup(), times.size()))
      record_.labels.push_back(*std::move(label));
  }

  using Known = std::optional<AdmittedTask>;

  /// Compiles, and then opens the judge. The judge is opened last, because an open judge blocks its device.
  Result<EarlyVerdict> compile_and_open() {
    const auto task = judge_task(request_.task, options_, backends_.device.gpu);
    auto known = backends_.judges.known(task);
    backends_.device.runners->prestart(kind_);
    if (!backends_.compile_for.empty()) backends_.device.runners->prestart(RunnerKind::Python);
    // A task that cannot be admitted does not wait for the compiler.
    std::stop_source compiler_stop;
    const std::stop_callback stopped(stop_, [&] { compiler_stop.request_stop(); });
    auto compiling = std::async(std::launch::async, [&, token = compiler_stop.get_token()] { return compile(token); });
    // A task that is not known yet is admitted while the compiler runs, unless another evaluation needs the device.
    auto admitted = known ? Result<AdmissionBeside>({.task = known}) : admit(task);
    if (!admitted) compiler_stop.request_stop();
    auto compiled = timed("compile", [&] { return compiling.get(); });
    if (!admitted) return std::move(admitted).error();
    if (!compiled) return std::move(compiled).error();
    go_on_at(admitted->moved_to);
    known = std::move(admitted->task);
    if (!known) known = backends_.judges.known(task);
    if (!known) {
      KERNELGEN_TRY(known, task_of(open_judge("admit")));
    }
    describe(*known);
    if (!backends_.compile_for.empty()) python_job_ = known->layout.python_job;
    if (auto refused = take(*std::move(compiled))) return refused;
    KERNELGEN_TRY(auto unbuilt, build_ahead(known->layout));
    if (unbuilt) return unbuilt;
    KERNELGEN_TRY(session_, open_judge("start the judge"));
    describe(*session_);
    candidate_.emplace(kind_, options_, backends_, *session_, stop_);
    return EarlyVerdict();
  }

  /// Admits the task while the compiler runs. Nothing where it needs the device for itself, which others use.
  Result<AdmissionBeside> admit(const JudgeTask& task) {
    KERNELGEN_TRY(auto at_once, timed("admit", [&] { return task_of(backends_.judges.try_open(task, stop_)); }));
    if (at_once || !on_device()) return AdmissionBeside{.task = std::move(at_once)};
    WaitForJudge phase(*this, "admit");
    return backends_.judges.admit(task, phase.on_start(), stop_);
  }

  /// Goes on with another device, if there is one. Requires: nothing is compiled meanwhile.
  void go_on_at(const std::optional<DeviceBackends>& device) {
    if (!device) return;
    backends_.device = *device;
    record_.environment.device = backends_.device.gpu->to_line();
    record_.environment.device_uuid = backends_.device.gpu->uuid;
    backends_.device.runners->prestart(kind_);
  }

  /// The phase "wait for the judge", and the one that comes after it if a judge has to be started.
  class WaitForJudge {
   public:
    WaitForJudge(Evaluation& evaluation, std::string_view starting) : evaluation_(evaluation), starting_(starting) {
      enter("wait for the judge");
    }
    /// Begins the second phase. It must not be called after this object's end.
    [[nodiscard]] std::function<void()> on_start() {
      return [this] { enter(starting_); };
    }

   private:
    void enter(std::string_view name) {
      phase_.reset();
      phase_.emplace(evaluation_, evaluation_.record_.phases, std::string(name));
    }
    Evaluation& evaluation_;
    std::string_view starting_;
    std::optional<MeasuredPhase> phase_;
  };

  /// Waits for a judge, and goes on on its device. If a judge has to be started, that is a phase of its own,
  /// `starting`.
  Result<std::unique_ptr<JudgeSession>> open_judge(std::string_view starting) {
    WaitForJudge phase(*this, starting);
    KERNELGEN_TRY(auto session, backends_.judges.open(judge_task(request_.task, options_, backends_.device.gpu),
                                                      phase.on_start(), stop_));
    go_on_at(session->moved_to);
    return session;
  }

  /// The results of admission from an opened session, which then ends. Its judge stays warm.
  static Result<Known> task_of(Result<std::unique_ptr<JudgeSession>> opened) {
    if (!opened) return std::move(opened).error();
    return *opened ? Known(static_cast<const AdmittedTask&>(**opened)) : Known();
  }

  /// The permission to build now. Its members are released together.
  struct BuildPermit {
    std::unique_ptr<DeviceGate::Lock> lock;
    std::unique_ptr<Slots::Slot> slot;
  };

  /// Waits for the permission to build: a compiler disturbs measurements on the processor, and takes processors away
  /// from measurements on a GPU.
  Result<BuildPermit> permit_build(const std::stop_token& stop) {
    BuildPermit permit;
    if (!on_device()) {
      KERNELGEN_TRY(permit.lock, backends_.device.gate->acquire_for_build(stop));
    } else if (permit.slot = backends_.compilers.take(stop); !permit.slot) {
      return Error{ErrorCode::Cancelled, "cancelled while waiting for a compiler"};
    }
    return permit;
  }

  Result<CompileOutcome> compile(const std::stop_token& stop) {
    KERNELGEN_TRY(const auto permit, permit_build(stop));
    CompileRequest asked{.candidate = request_.candidate, .timeout = options_.build_timeout};
    if (backends_.stand_in == StandIn::Processor)
      asked.extra_flags.push_back(hip_wave_flag(options_.hip_cpu.wave_size));
    return backends_.compiler.compile(asked, stop);
  }

  EarlyVerdict take(CompileOutcome outcome) {
    auto& report = std::visit([](auto& one) -> CompileReport& { return one.report; }, outcome);
    record_.environment.compiler = report.compiler;
    record_.compile = std::move(report);
    if (auto* failed = std::get_if<CompileFailed>(&outcome)) return std::move(failed->outcome);
    artifact_ = std::move(std::get<Compiled>(outcome).artifact);
    return std::nullopt;
  }

  void describe(const AdmittedTask& task) {
    record_.task = task.description;
    record_.tolerance = task.admission.tolerance;
    record_.labels = task.admission.labels;
    if (backends_.prebuilt != nullptr) record_.labels.push_back(label_of(*backends_.prebuilt));
    if (on_device() && !platform().label.empty()) record_.labels.push_back(platform().label);
    if (on_device() && contains(backends_.device.gpu->name, "(stand-in)"))
      record_.labels.push_back("stand-in for a driver: a time is no result");
    if (backends_.stand_in) record_.labels.push_back(label_of_stand_in(*backends_.stand_in));
    if (task.description.randomness == ForwardRandomness::Traced && kind_ == RunnerKind::Native)
      record_.labels.push_back("given draws: a call of the reference draws random numbers, which the candidate gets");
  }

  /// Lets a Python candidate compile before it occupies the device. If its compiler hangs, the evaluation ends here.
  Result<EarlyVerdict> build_ahead(const ExchangeLayout& layout) {
    if (kind_ != RunnerKind::Python || !may_build(module_text())) return EarlyVerdict();
    return timed("build ahead", [&]() -> Result<EarlyVerdict> {
      KERNELGEN_TRY(const auto permit, permit_build(stop_));
      KERNELGEN_TRY(auto code, backends_.memory.open_file(artifact_.path));
      KERNELGEN_TRY(auto job, backends_.memory.publish("kernelgen-job", layout.python_job));
      const auto built = backends_.device.runners->build_ahead({.description_fd = job->fd(),
                                                                .code_fd = code->fd(),
                                                                .builds_key = builds_key(),
                                                                .memory_limit = options_.memory_limit},
                                                               build_ahead_limits(options_, on_device()), stop_);
      if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
      if (built == BuildAhead::Done) return EarlyVerdict();
      return EarlyVerdict(outcome_of_build_timeout("its import or first call", options_.build_timeout));
    });
  }

  /// Compiles the candidate for GPUs that are not here. The verdict does not depend on it.
  Result<void> compile_for_others(EvaluationRecord& record) {
    std::vector<std::string> names;
    for (const auto& gpu : backends_.compile_for) {
      const CompileForRequest asked{
          .job = python_job_, .artifact = artifact_.path, .builds_key = builds_key(record), .options = options_};
      auto report = timed_in(record.phases, "compile for " + gpu.architecture, [&]() -> Result<ArchitectureReport> {
        KERNELGEN_TRY(const auto permit, permit_build(stop_));
        return compile_for(gpu, asked, *backends_.device.runners, backends_.memory, stop_);
      });
      if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
      if (!report) {
        record.labels.push_back(fmt::format("not compiled for {}: {}", gpu.architecture, report.error().message));
        continue;
      }
      if (!report->kernels.empty()) names.push_back(gpu.architecture);
      record.compiled_for.push_back(*std::move(report));
    }
    if (!names.empty())
      record.labels.push_back(fmt::format("compiled for {}, never run there", fmt::join(names, ", ")));
    return {};
  }

  /// Judges the candidate. If the judge runs out of device memory because the candidate took it, the candidate has
  /// failed.
  Result<Outcome> judge_within_memory() {
    auto verdict = judge_candidate();
    if (verdict || verdict.error().code != ErrorCode::OutOfMemory) return verdict;
    const auto with_runner = use_now();
    if (!with_runner) return verdict;
    candidate_->end();
    const auto without = device_use_after_exit(*session_);
    if (!without) return verdict;
    if (with_runner->foreign_bytes <= without->foreign_bytes + without->runner_bytes) return verdict;
    // The judge was interrupted in the middle of a request.
    session_->healthy = false;
    return outcome_of_exhausted_memory(with_runner->foreign_bytes - without->foreign_bytes, *without);
  }

  /// Takes the steps in order. The first that ends the evaluation gives the verdict.
  Result<Outcome> judge_candidate() {
    using Step = Result<EarlyVerdict> (Evaluation::*)();
    static constexpr std::pair<std::string_view, Step> k_steps[] = {
        {"reference alone", &Evaluation::measure_reference_alone},
        {"load", &Evaluation::load},
        {"weights", &Evaluation::check_state},
        {"correctness", &Evaluation::check_first_weights},
        {"transforms", &Evaluation::check_transforms},
        {"special values", &Evaluation::check_special_values},
        {"other weights", &Evaluation::check_other_weights},
        {"second weights", &Evaluation::check_second_weights},
        {"timing", &Evaluation::measure},
        {"device timing", &Evaluation::measure_replays},
        {"work", &Evaluation::examine_work},
    };
    for (const auto& [name, step] : k_steps) {
      if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
      KERNELGEN_TRY(auto ended, timed(std::string(name), [&, step = step] { return (this->*step)(); }));
      if (ended) return *std::move(ended);
    }
    return verdict_of_cases(record_.cases);
  }

  Result<EarlyVerdict> measure_reference_alone() {
    if (!scores_time()) return EarlyVerdict();
    KERNELGEN_TRY([[maybe_unused]] auto seed, judge().use_weights(1));
    auto& timing = record_.timing.emplace();
    timing.options = measure_options_of(options_);
    if (on_device()) timing.memory_floor = memory_floor();
    auto& times = *session_->reference_times;
    if (times.calls_ns.empty()) {
      KERNELGEN_TRY(auto calls, time_reference(CallMode::Eager));
      times.calls_ns = std::move(calls.samples_ns);
    }
    record_.timing->reference_alone_before_ns = times.calls_ns;
    if (!on_device()) {
      record_.timing->speedup_device_reason = "the CPU has no device clock; the speed-up of a call counts";
      return EarlyVerdict();
    }
    if (candidate_->draws_itself()) {
      record_.timing->speedup_device_reason =
          "the candidate draws random numbers in its replay, and the reference's has them put in place";
      return EarlyVerdict();
    }
    if (!times.replays) {
      KERNELGEN_TRY(times.replays, time_reference(CallMode::Graph));
    }
    record_.timing->reference_alone_graph_ns = times.replays->samples_ns;
    if (times.replays->samples_ns.empty())
      record_.timing->speedup_device_reason = "the reference cannot be captured: " + times.replays->reason;
    return EarlyVerdict();
  }

  Result<ReferenceSamples> time_reference(CallMode mode, int calls = 1) {
    auto sampling = k_alone_sampling;
    sampling.calls = calls;
    return judge().time_reference(mode, sampling);
  }

  Result<EarlyVerdict> load() {
    KERNELGEN_TRY(record_.environment.isolation, candidate_->start());
    if (record_.environment.isolation.starts_with(k_weak_isolation)) {
      if (!options_.allow_weak_isolation)
        return Error{ErrorCode::PermissionDenied,
                     fmt::format("candidates cannot be kept away from other processes on this machine ({}): allow user "
                                 "namespaces, use Linux 5.13 or newer with Landlock, or allow weak isolation",
                                 record_.environment.isolation)};
      record_.labels.push_back("weak isolation: a candidate could reach other processes of its user");
    }
    KERNELGEN_TRY(auto ended, candidate_->open_job());
    if (!ended && scores_time()) {
      KERNELGEN_TRY(ended, candidate_->rehearse(std::llround(median(record_.timing->reference_alone_before_ns))));
      if (!ended && !record_.timing->reference_alone_graph_ns.empty()) {
        KERNELGEN_TRY(ended, candidate_->rehearse_replayed_series());
      }
    }
    if (ended) return ended;
    return candidate_->load(artifact_, builds_key());
  }

  /// The key of the builds of this source, with these versions and for this model of device. The next evaluation may be
  /// on another device of the model. What the client built from the same source may differ from time to time.
  [[nodiscard]] std::string builds_key() const { return builds_key(record_); }
  [[nodiscard]] std::string builds_key(const EvaluationRecord& record) const {
    const auto& environment = record.environment;
    auto key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", request_.candidate.id, environment.python, environment.torch,
                           environment.triton, environment.device,
                           backends_.device.gpu ? backends_.device.gpu->driver_version : 0);
    if (backends_.prebuilt != nullptr) key += "prebuilt " + sha256_hex(backends_.prebuilt->bytes) + '\n';
    return sha256_hex(key);
  }

  Result<EarlyVerdict> check_state() { return candidate_->match_weights(record_.weights); }

  Result<EarlyVerdict> check_first_weights() {
    KERNELGEN_TRY(auto ended, candidate_->switch_weights(1));
    if (ended) return ended;
    for (int i = 0; i < k_own_sets_first_weights; ++i) {
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
      if (i > 0) continue;
      // The same inputs again, because a candidate may be right only once.
      KERNELGEN_TRY(ended, check_own(Freshness::Repeat));
      if (ended) return ended;
    }
    return EarlyVerdict();
  }

  Result<EarlyVerdict> check_transforms() {
    for (const auto& distribution : session_->admission.distributions) {
      if (distribution == k_own_distribution) continue;
      KERNELGEN_TRY(auto ended, call(distribution, Freshness::New));
      if (ended && ended->kind != OutcomeKind::Accuracy) return ended;
    }
    const auto verdict = verdict_of_cases(record_.cases);
    return verdict.correct() ? EarlyVerdict() : EarlyVerdict(verdict);
  }

  /// Calls the candidate on values that the task's own inputs never hold. A difference there is a label.
  Result<EarlyVerdict> check_special_values() {
    if (session_->admission.probe.empty()) return EarlyVerdict();
    KERNELGEN_TRY(auto result, candidate_->call(session_->admission.probe, Freshness::New));
    if (result.outcome.correct()) return EarlyVerdict();
    if (result.outcome.kind != OutcomeKind::Accuracy) return EarlyVerdict(std::move(result.outcome));
    record_.labels.push_back("differs on special values (NaN, infinities, subnormals, the largest numbers): " +
                             result.outcome.message);
    return EarlyVerdict();
  }

  /// Checks one call under each weight set after the second, which comes last, because it is timed.
  Result<EarlyVerdict> check_other_weights() {
    for (int set = 3; set <= session_->admission.weight_sets; ++set) {
      KERNELGEN_TRY(auto ended, candidate_->switch_weights(set));
      if (ended) return ended;
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
    }
    return EarlyVerdict();
  }

  Result<EarlyVerdict> check_second_weights() {
    KERNELGEN_TRY(auto ended, candidate_->switch_weights(2));
    if (ended) return ended;
    for (int i = 0; i < k_own_sets_second_weights; ++i) {
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
    }
    return EarlyVerdict();
  }

  Result<EarlyVerdict> check_own(Freshness freshness) {
    KERNELGEN_TRY(auto ended, call(std::string(k_own_distribution), freshness));
    if (!ended || ended->kind != OutcomeKind::Accuracy) return ended;
    std::vector<bool> right;
    if (freshness == Freshness::Repeat) right.push_back(true);
    right.push_back(false);
    for (int i = 0; i < k_repeats_of_failure; ++i) {
      KERNELGEN_TRY(auto again, call(std::string(k_own_distribution), Freshness::Repeat));
      if (again && again->kind != OutcomeKind::Accuracy) break;
      right.push_back(!again);
    }
    return EarlyVerdict(classify_repeats(*std::move(ended), right));
  }

  /// Makes one checked call and adds it to the record.
  Result<EarlyVerdict> call(const std::string& distribution, Freshness freshness) {
    KERNELGEN_TRY(auto result, candidate_->call(distribution, freshness));
    auto ended = result.outcome.correct() ? EarlyVerdict() : EarlyVerdict(result.outcome);
    record_.cases.push_back(std::move(result));
    return ended;
  }

  /// True if nothing is timed.
  [[nodiscard]] bool checks_only() const { return options_.mode == EvaluationMode::CorrectnessOnly; }

  /// True if the evaluation gives a speedup. A task that cannot tell right from wrong has none, and neither has an
  /// interpreter.
  [[nodiscard]] bool scores_time() const {
    return !checks_only() && kind_ != RunnerKind::PythonInterpreter && session_->admission.scored;
  }

  Result<EarlyVerdict> measure() {
    if (!session_->admission.scored)
      return EarlyVerdict(Outcome{OutcomeKind::NotScored, "",
                                  fmt::format("nothing wrong was found, but the task cannot tell right from wrong ({})",
                                              fmt::join(session_->admission.labels, "; "))});
    if (checks_only()) {
      record_.labels.push_back("correctness only: nothing was timed, and no timed call was compared");
      return EarlyVerdict();
    }
    if (!scores_time()) {
      record_.labels.push_back("interpreter: a time under an interpreter is not a result");
      return EarlyVerdict();
    }
    record_.timing->prepare_ns = candidate_->prepare_ns();
    record_.timing->first_call_ns = candidate_->first_call_ns();
    auto options = measure_options_of(options_);
    // The other half of the full comparisons are of replays.
    if (!record_.timing->reference_alone_graph_ns.empty())
      options.full_comparisons -= options.full_comparisons / k_replay_share;
    // Means of series have less noise than single calls.
    options.max_samples =
        std::max(std::min(options.max_samples, k_fewest_series), options.max_samples / candidate_->plan_series());
    between_ = shuffled_distributions();
    // By lot, half of the transforms come between the replays.
    const auto left = record_.timing->reference_alone_graph_ns.empty() ? 0 : between_.size() / 2;
    KERNELGEN_TRY(auto samples, sample(options, CallMode::Eager, CallMode::Eager, left));
    report_calls(*record_.timing, samples);
    const auto in_series = record_.timing->speedup_call.value;
    if (!samples.ended && !separate_.pairs.empty() &&
        report_separate_calls(*record_.timing, separate_, least_separate_ns()))
      record_.labels.push_back(fmt::format(
          "calls one at a time: {:.3g} times as fast as the reference, where calls in a series are {:.3g} times",
          record_.timing->speedup_call.value, in_series));
    const auto& allowance = candidate_->clock_allowance();
    record_.timing->clock_overhead_ns = allowance.overhead_ns;
    record_.timing->clock_looseness_ns = allowance.looseness_ns;
    record_.timing->clock_per_call_ns = allowance.per_call_ns;
    return std::move(samples.ended);
  }

  /// Times the same calls as graphs, which gives device time without the host's.
  Result<EarlyVerdict> measure_replays() {
    if (!record_.timing || record_.timing->reference_alone_graph_ns.empty()) return EarlyVerdict();
    KERNELGEN_TRY(auto refused, candidate_->try_replay());
    if (!refused && candidate_->has_replayed_series()) {
      KERNELGEN_TRY(refused, bound_by_replayed_series());
    }
    auto mode = CallMode::Graph;
    if (refused) {
      const auto& allowance = candidate_->clock_allowance();
      bound_calls(*record_.timing, [&](std::int64_t host_ns) { return allowance.least_ns(host_ns, 1); });
      record_.timing->speedup_device_reason = "the candidate cannot be replayed as a graph: " + *refused;
      if (candidate_->is_lost()) return EarlyVerdict();
      mode = CallMode::Eager;
    }
    auto options = measure_options_of(options_);
    options.full_comparisons /= k_replay_share;
    KERNELGEN_TRY(auto samples, sample(options, CallMode::Graph, mode, 0));
    report_replays(*record_.timing, samples);
    return std::move(samples.ended);
  }

  /// Lets no call count as shorter than the worker's clock says. Returns the reason if that cannot be found out.
  Result<std::optional<std::string>> bound_by_replayed_series() {
    KERNELGEN_TRY(auto found,
                  candidate_->time_replayed_series(record_.timing->candidate_median_ns, most_saved_by_cache_ns()));
    if (auto* refused = std::get_if<std::string>(&found)) return std::optional("in a series: " + *refused);
    const auto& series = record_.timing->replayed_series.emplace(std::get<ReplayedSeries>(std::move(found)));
    bound_calls(*record_.timing, [&](std::int64_t) { return std::llround(series.least_call_ns); });
    return std::optional<std::string>();
  }

  /// The time in which a device's memory moves the tensors of a call.
  [[nodiscard]] double most_saved_by_cache_ns() const {
    const auto& facts = session_->description.facts;
    const auto per_second = backends_.device.gpu->measured_bytes_per_second.value_or(0);
    if (!facts || per_second <= 0) return std::numeric_limits<double>::infinity();
    return 1e9 * static_cast<double>(facts->input_bytes + facts->state_bytes + facts->output_bytes) / per_second;
  }

  /// Looks at what does the work of the calls. This comes after everything that is timed, so it can change no time.
  Result<EarlyVerdict> examine_work() {
    if (kind_ == RunnerKind::PythonInterpreter) return EarlyVerdict();
    record_.work = candidate_->is_lost() ? report_no_work("its device cannot be used after its replay has failed")
                                         : report_of(candidate_->examine());
    record_.labels.push_back(label_of_work(*record_.work));
    return EarlyVerdict();
  }

  [[nodiscard]] WorkReport report_of(ExaminedCall call) const {
    if (!call.unavailable.empty()) return report_no_work(std::move(call.unavailable));
    const bool was_timed = record_.timing && !record_.timing->candidate_ns.empty();
    WorkTimes times{.examined_ns = call.call_ns, .timed_ns = was_timed ? median(record_.timing->candidate_ns) : 0};
    if (!on_device()) return report_processor_work(std::move(call.activities), times);
    // In a replay, the device does not wait for the host between activities.
    if (was_timed && !record_.timing->candidate_graph_ns.empty() && record_.timing->speedup_device_reason.empty()) {
      times = {.timed_ns = median(record_.timing->candidate_graph_ns)};
      for (const auto& one : call.activities) times.examined_ns += 1e3 * one.microseconds;
    }
    return report_device_work(std::move(call.activities), times);
  }

  /// Samples pairs, and checks transforms between them until this many are left.
  Result<PairSamples> sample(const MeasureOptions& options, CallMode reference, CallMode candidate, std::size_t left) {
    int number = 0;
    const auto next = [&]() -> Result<std::variant<TimedPair, Outcome>> {
      if (between_.size() > left && is_chosen_by_lot()) {
        KERNELGEN_TRY(auto ended, check_like_timed(candidate));
        if (ended) return std::variant<TimedPair, Outcome>(*std::move(ended));
      }
      while (has_separate_pair_left() && is_chosen_by_lot()) {
        KERNELGEN_TRY(auto ended, time_separate_pair());
        if (ended) return std::variant<TimedPair, Outcome>(*std::move(ended));
      }
      return candidate_->timed_pair(++number, reference, candidate);
    };
    const auto before = use_now();
    KERNELGEN_TRY(
        auto samples,
        sample_pairs(options, next, {.now = backends_.now, .reference_time = [&] { return judge().processor_time(); }},
                     stop_));
    const auto after = use_now();
    if (before && after) samples.device_contention = contention(*before, *after);
    while (!samples.ended && between_.size() > left) {
      KERNELGEN_TRY(samples.ended, check_like_timed(candidate));
    }
    while (!samples.ended && has_separate_pair_left()) {
      KERNELGEN_TRY(samples.ended, time_separate_pair());
    }
    return samples;
  }

  /// True if calls are timed in series, and separate ones are still to be timed.
  [[nodiscard]] bool has_separate_pair_left() const {
    return candidate_->is_in_series() && separate_.pairs.size() < k_separate_pairs;
  }

  /// Times a call of each side without others around it. These lie between the series, at secret places.
  Result<EarlyVerdict> time_separate_pair() {
    KERNELGEN_TRY(auto answer, candidate_->separate_pair(static_cast<int>(separate_.pairs.size()) + 1));
    if (auto* outcome = std::get_if<Outcome>(&answer)) return EarlyVerdict(std::move(*outcome));
    separate_.pairs.push_back(std::get<TimedPair>(answer));
    return EarlyVerdict();
  }

  /// The least time of a separate call, from the fastest one by the worker's clock: what slows a process that was just
  /// woken differs from call to call, and no rehearsal shows all of it.
  [[nodiscard]] std::int64_t least_separate_ns() const {
    const auto fastest =
        std::min_element(separate_.pairs.begin(), separate_.pairs.end(),
                         [](const TimedPair& one, const TimedPair& other) { return one.host_ns < other.host_ns; });
    return candidate_->clock_allowance().least_separate_ns(fastest->host_ns);
  }

  /// The transformed distributions in a secret order.
  [[nodiscard]] std::vector<std::string> shuffled_distributions() {
    auto distributions = session_->admission.distributions;
    std::erase(distributions, k_own_distribution);
    std::shuffle(distributions.begin(), distributions.end(), lots_);
    return distributions;
  }

  [[nodiscard]] bool is_chosen_by_lot() { return std::uniform_int_distribution<int>(0, 1)(lots_) == 0; }

  /// Checks calls on the next of the distributions that are left. They lie between the timed ones, because a candidate
  /// could count its calls, and be right only before it is timed.
  Result<EarlyVerdict> check_like_timed(CallMode mode) {
    const auto distribution = std::move(between_.back());
    between_.pop_back();
    KERNELGEN_TRY(auto result, candidate_->call_as_timed(distribution, mode));
    const bool is_right = result.outcome.correct();
    if (!is_right) result.outcome.message = "between timed calls: " + result.outcome.message;
    record_.cases.push_back(std::move(result));
    return is_right ? EarlyVerdict() : EarlyVerdict(verdict_of_cases(record_.cases));
  }

  /// That what the kernel is written for has not executed it.
  [[nodiscard]] std::string label_of_stand_in(StandIn stand_in) const {
    constexpr const char* k_end = "says nothing about an AMD GPU";
    switch (stand_in) {
      case StandIn::Emulator:
        return fmt::format("executed on an emulator: {}; {}", record_.environment.device, k_end);
      case StandIn::OtherGpu:
        return fmt::format("executed on {}: its source, compiled for that GPU; {}", platform().maker, k_end);
      case StandIn::Processor:
        break;
    }
    if (backends_.prebuilt != nullptr)
      return fmt::format("executed on the CPU: a compiler of the client built it; {}", k_end);
    return fmt::format("executed on the CPU: an emulation of HIP with wavefronts of {} lanes; {}",
                       options_.hip_cpu.wave_size, k_end);
  }

  [[nodiscard]] bool on_device() const { return backends_.device.gpu.has_value(); }
  /// Requires: on_device().
  [[nodiscard]] const Platform& platform() const { return platform_of(backends_.device.gpu->vendor); }

  /// Checks whether the clocks and the times of the reference agree, for a correct candidate. Requires: the runner is
  /// gone.
  Result<Outcome> check_plausibility(Outcome verdict) {
    if (!verdict.correct() || !record_.timing || record_.timing->candidate_ns.empty()) return verdict;
    auto& timing = *record_.timing;
    const int calls = std::max(static_cast<int>(median(timing.calls)), 1);
    if (calls > 1) {
      auto& alone_ns = session_->reference_times->series_ns[calls];
      if (alone_ns.empty()) {
        KERNELGEN_TRY(auto alone,
                      timed("reference alone, in series", [&] { return time_reference(CallMode::Eager, calls); }));
        alone_ns = std::move(alone.samples_ns);
      }
      timing.reference_alone_before_ns = alone_ns;
    }
    if (is_reference_disturbed(timing.reference_alone_before_ns, timing.reference_ns)) {
      KERNELGEN_TRY(auto after, timed("reference alone again", [&] { return time_reference(CallMode::Eager, calls); }));
      (calls > 1 ? session_->reference_times->series_ns[calls] : session_->reference_times->calls_ns) =
          after.samples_ns;
      timing.reference_alone_after_ns = std::move(after.samples_ns);
    }
    const auto call_ns = median(timing.candidate_ns);
    const double loose_ns = timing.replayed_series
                                ? timing.replayed_series->looseness_ns
                                : candidate_->clock_allowance().looseness_of(call_ns, calls) * call_ns;
    if (loose_ns > 1.1 * std::max(k_loose_share * call_ns, k_loose_ns))
      record_.labels.push_back(fmt::format(
          "loose clock: up to {:.0f} us of each call are known from the runner's clock only", loose_ns / 1e3));
    KERNELGEN_TRY(auto hidden_work, check_plausibility_of_device_load());
    if (hidden_work) return *std::move(hidden_work);
    if (auto doubtful = check_plausibility_of_timing(timing)) return *std::move(doubtful);
    if (const double slowdown = slowdown_beside_candidate(timing); slowdown > 1) {
      discount_reference(timing, slowdown);
      record_.labels.push_back(fmt::format(
          "reference disturbed: {:.0f} % slower beside the candidate, so its time alone counts", 100 * (slowdown - 1)));
    }
    if (on_device()) {
      if (auto doubtful = check_plausibility_of_device_time(timing)) return *std::move(doubtful);
      return verdict;
    }
    if (loose_ns <= call_ns || timing.speedup_call.value <= 1) return verdict;
    if (candidate_->clock_allowance().on_idle_machine().looseness_of(call_ns, calls) <= 1)
      return Outcome{OutcomeKind::Suspect, std::string(k_busy_machine),
                     fmt::format("other work kept the candidate's process waiting for a processor before it was "
                                 "loaded, so the worker's clock cannot verify {:.0f} us of calls that take {:.0f} us; "
                                 "repeat it when the machine is idle",
                                 loose_ns / 1e3, call_ns / 1e3)};
    // A speedup that is within the tolerance of the worker's clock does not count.
    return Outcome{
        OutcomeKind::Suspect, "too short to time",
        fmt::format("its call takes {:.0f} us by the runner's clock, and the worker's clock cannot verify {:.0f} us",
                    call_ns / 1e3, loose_ns / 1e3)};
  }

  /// Checks whether a busy device is still busy without the runner. If it is not, the work may have been of the
  /// candidate, because device work goes on while its process is stopped.
  Result<EarlyVerdict> check_plausibility_of_device_load() {
    if (!is_busy_device(*record_.timing)) return EarlyVerdict();
    const auto before = use_now();
    KERNELGEN_TRY([[maybe_unused]] auto calls, timed("device again", [&] { return time_reference(CallMode::Eager); }));
    const auto after = use_now();
    if (!before || !after || after->delayed_probes > before->delayed_probes) return EarlyVerdict();
    if (auto cheat = check_plausibility_of_device_time(*record_.timing)) return EarlyVerdict(*std::move(cheat));
    return EarlyVerdict(
        Outcome{OutcomeKind::Suspect, "keeps the device busy",
                "the device was busy while its calls were timed, and is idle now: it works outside of its "
                "calls, or the work of another process has just ended"});
  }

  /// Compares a correct candidate with the requested baselines, which may take minutes. Requires: the runner is gone.
  Result<void> compare_with_baselines(const Outcome& verdict) {
    if (!verdict.correct() || !record_.timing || record_.timing->candidate_ns.empty()) return {};
    auto& timing = *record_.timing;
    auto sampling = k_alone_sampling;
    sampling.calls = k_baseline_calls;
    for (const auto kind : options_.baselines.kinds) {
      const CompiledBaselineRequest asked{.kind = kind,
                                          .timeout = options_.baselines.timeout,
                                          .sampling = sampling,
                                          .machine = backends_.device.machine};
      KERNELGEN_TRY(auto report, timed(fmt::format("baseline {}", to_string(kind)), [&] {
                      return compare_with_baseline(*session_, asked, timing.candidate_median_ns, stop_);
                    }));
      timing.baselines.push_back(std::move(report));
    }
    return {};
  }

  /// The least possible memory time. Outputs may stay in the cache; inputs were flushed from it.
  [[nodiscard]] MemoryFloor memory_floor() const {
    const auto written = session_->layout.output_bytes;
    return {.read_bytes = session_->admission.sensitive_bytes,
            .written_bytes = written - std::min(written, backends_.device.gpu->l2_bytes),
            .bytes_per_second = backends_.device.gpu->measured_bytes_per_second.value_or(0)};
  }

  Judge& judge() { return *session_->judge; }

  const EvaluationRequest& request_;
  const EvaluationOptions& options_;
  EvaluationRecord record_;
  EvaluationBackends backends_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  const RunnerKind kind_;
  std::random_device lots_;
  /// The distributions that are still to be checked between timed calls.
  std::vector<std::string> between_;
  /// The separate calls that were timed.
  PairSamples separate_;

  std::unique_ptr<JudgeSession> session_;
  Artifact artifact_;
  /// First line of --version; empty for Python targets.
  std::string python_job_;
  std::optional<CandidateSession> candidate_;
};

}  // namespace

RunnerKind runner_kind(Target target, ArtifactKind artifact, const std::optional<GpuFacts>& gpu) {
  if (artifact == ArtifactKind::SharedObject) return RunnerKind::Native;
  return target == Target::Triton && !gpu ? RunnerKind::PythonInterpreter : RunnerKind::Python;
}

JudgeDevice judge_device(const GpuFacts& gpu) {
  return {.vendor = gpu.vendor,
          .uuid = gpu.uuid,
          .model = fmt::format("{}, driver {}", gpu.to_line(), gpu.driver_version),
          .variable = platform_of(gpu.vendor).choosing_variable,
          .l2_bytes = gpu.l2_bytes,
          .memory_bytes = gpu.memory_bytes,
          .bytes_per_second = gpu.measured_bytes_per_second.value_or(0),
          .memory_sharing = gpu.memory_sharing};
}

JudgeTask judge_task(const TaskSource& task, const EvaluationOptions& options, const std::optional<GpuFacts>& gpu) {
  JudgeTask asked{.source = task,
                  .precision = options.precision,
                  .threads = options.threads,
                  .shrink = options.shrink,
                  .rtol = options.rtol,
                  .atol = options.atol,
                  .timeout = options.task_timeout};
  if (gpu) asked.device = judge_device(*gpu);
  return asked;
}

Result<EvaluationRecord> evaluate_candidate(const EvaluationRequest& request, EvaluationRecord record,
                                            EvaluationBackends backends, const ProgressCallback& progress,
                                            std::stop_token stop) {
  return Evaluation(request, std::move(record), std::move(backends), progress, std::move(stop)).run();
}

}  // namespace v0
}  // namespace kernelgen
