#include "bench/evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>

#include <kernelgen/bench/statistics.hpp>

#include "bench/baselines.hpp"
#include "bench/candidate_session.hpp"
#include "bench/device_sharing.hpp"
#include "bench/measurement.hpp"
#include "bench/verdict.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// Own input sets per verdict: two on the first weights (one of them called twice), one more there, two on the second.
constexpr int k_own_sets_first_weights = 3;
constexpr int k_own_sets_second_weights = 2;
/// Enough repeats of a failing call to tell "wrong from now on" from "wrong now and then".
constexpr int k_repeats_of_failure = 6;
constexpr BaselineSampling k_baseline_sampling{.min_samples = 10, .max_samples = 12, .budget = 300ms};
/// Where replays are timed as well, this part of the timed calls that are compared in full are replays.
constexpr int k_replay_share = 2;
/// A clock that could hide more than this share of a call is worth a label.
constexpr double k_loose_share = 0.1;

/// Whether a Python candidate may compile something. One that calls torch's own kernels is not worth a process.
bool builds_kernels(std::string_view source) {
  return source.find("triton") != std::string_view::npos || source.find("cpp_extension") != std::string_view::npos;
}

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
        kind_(runner_kind(request.candidate.target, backends_.gpu)) {}

  Result<EvaluationRecord> run() {
    auto result = evaluate();
    // What a judge is doing after an error is unknown: perhaps it still answers a question that was given up.
    if (session_) session_->healthy = session_->healthy && result.has_value();
    return result;
  }

 private:
  Result<EvaluationRecord> evaluate() {
    KERNELGEN_TRY(auto refused, compile_and_open());
    if (refused) return finish(*std::move(refused));
    KERNELGEN_TRY(auto alone, timed("wait for the device", [&] { return backends_.gate.alone(stop_); }));
    KERNELGEN_TRY(auto verdict, judge_beside_candidate());
    const auto exchanges = timed("end", [&] { return candidate_->end(); });
    verdict = excuse(std::move(verdict));
    KERNELGEN_TRY(auto checked, doubt(std::move(verdict), clock_allowance(exchanges, backends_.gpu)));
    KERNELGEN_CHECK(compare_with_baselines(checked));
    return finish(std::move(checked));
  }

  std::optional<DeviceUse> use_now() { return on_device() ? device_use(*session_) : std::nullopt; }

  /// With the runner gone: a device that others fill blames no candidate.
  Outcome excuse(Outcome verdict) {
    if (!on_device()) return verdict;
    const auto use = settled_device_use(*session_);
    if (!use) return verdict;
    if (auto label = sharing_label(*use)) record_.labels.push_back(*std::move(label));
    return excuse_memory(std::move(verdict), *use);
  }

  template <class Work>
  auto timed(std::string phase, Work work) -> decltype(work()) {
    if (progress_) progress_({phase, ""});
    const auto start = backends_.now();
    auto result = work();
    const std::chrono::duration<double, std::milli> elapsed = backends_.now() - start;
    record_.phases.push_back({std::move(phase), elapsed.count()});
    return result;
  }

  EvaluationRecord finish(Outcome outcome) {
    record_.outcome = std::move(outcome);
    if (!record_.tolerance.standard) record_.labels.push_back("non-standard tolerance");
    // Without a single timed call there is nothing to report, least of all a ratio of zero.
    if (record_.timing && record_.timing->candidate_ns.empty()) record_.timing.reset();
    if (record_.timing && record_.timing->full_comparisons < MeasureOptions{}.full_comparisons)
      record_.labels.push_back(
          fmt::format("reduced verification: {} timed calls compared in full", record_.timing->full_comparisons));
    return std::move(record_);
  }

  /// Who has a judge has its device, and must not let it idle: the judge comes when everything else is done.
  Result<Ended> compile_and_open() {
    const auto task = judge_task(request_.task, options_, backends_.gpu);
    auto known = backends_.judges.known(task);
    backends_.runners.expect(kind_);
    auto compiling = std::async(std::launch::async, [this] { return compile(); });
    // A task that nobody knows is admitted while the compiler runs, if nobody else needs the device.
    auto admitted =
        known ? Result<Known>(known) : timed("admit", [&] { return task_of(backends_.judges.try_open(task, stop_)); });
    auto compiled = timed("compile", [&] { return compiling.get(); });
    if (!admitted) return std::move(admitted).error();
    if (!compiled) return std::move(compiled).error();
    known = *std::move(admitted);
    if (!known) known = backends_.judges.known(task);
    if (!known) {
      KERNELGEN_TRY(known, timed("admit", [&] { return task_of(backends_.judges.open(task, stop_)); }));
    }
    describe(*known);
    if (auto refused = take(*std::move(compiled))) return refused;
    KERNELGEN_CHECK(build_ahead(known->layout));
    KERNELGEN_TRY(session_, timed("wait for the judge", [&] { return backends_.judges.open(task, stop_); }));
    candidate_.emplace(kind_, options_, backends_, *session_, stop_);
    return Ended();
  }

  using Known = std::optional<AdmittedTask>;

  /// What a session knows, if there is one. It ends; its judge stays warm.
  static Result<Known> task_of(Result<std::unique_ptr<JudgeSession>> opened) {
    if (!opened) return std::move(opened).error();
    return *opened ? Known(static_cast<const AdmittedTask&>(**opened)) : Known();
  }

  Result<CompileOutcome> compile() {
    // A compiler disturbs what is measured on the processor, not what is measured on a device.
    std::unique_ptr<DeviceGate::Hold> shared;
    std::unique_ptr<Slots::Slot> slot;
    if (!on_device()) {
      KERNELGEN_TRY(shared, backends_.gate.share(stop_));
    } else if (slot = backends_.compilers.take(stop_); !slot) {
      return Error{ErrorCode::Cancelled, "cancelled while waiting for a compiler"};
    }
    return backends_.compiler.compile({.candidate = request_.candidate, .timeout = options_.compile_timeout}, stop_);
  }

  Ended take(CompileOutcome outcome) {
    if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
      record_.compile = std::move(failed->report);
      return std::move(failed->outcome);
    }
    auto& success = std::get<Compiled>(outcome);
    record_.compile = std::move(success.report);
    artifact_ = std::move(success.artifact);
    return std::nullopt;
  }

  void describe(const AdmittedTask& task) {
    record_.task = task.description;
    record_.tolerance = task.admission.tolerance;
    record_.labels = task.admission.labels;
    if (backends_.gpu && backends_.gpu->vendor == "fake") record_.labels.push_back("fake device: a time is no result");
  }

  /// What a Python candidate compiles, it compiles before the device is its own.
  Result<void> build_ahead(const ExchangeLayout& layout) {
    if (!on_device() || kind_ != RunnerKind::Python || !builds_kernels(request_.candidate.source)) return {};
    return timed("build ahead", [&]() -> Result<void> {
      const auto slot = backends_.compilers.take(stop_);
      if (!slot) return Error{ErrorCode::Cancelled, "cancelled while waiting for a compiler"};
      KERNELGEN_TRY(auto code, backends_.memory.open_file(artifact_.path));
      KERNELGEN_TRY(auto job, backends_.memory.publish("kernelgen-job", layout.python_job));
      backends_.runners.build_ahead({.description_fd = job->fd(), .code_fd = code->fd(), .builds_key = builds_key()},
                                    options_.compile_timeout, stop_);
      return {};
    });
  }

  /// A candidate that takes the memory which is the judge's has failed, and not the judge.
  Result<Outcome> judge_beside_candidate() {
    auto verdict = judge_candidate();
    if (verdict || verdict.error().code != ErrorCode::OutOfMemory) return verdict;
    const auto beside = use_now();
    if (!beside) return verdict;
    candidate_->end();
    const auto alone = settled_device_use(*session_);
    if (!alone) return verdict;
    if (beside->others_bytes <= alone->others_bytes + alone->runner_bytes) return verdict;
    // It was in the midst of something.
    session_->healthy = false;
    return greedy_outcome(beside->others_bytes - alone->others_bytes, *alone);
  }

  /// The steps in order; the first that ends the evaluation gives the verdict.
  Result<Outcome> judge_candidate() {
    using Step = Result<Ended> (Evaluation::*)();
    static constexpr std::pair<std::string_view, Step> k_steps[] = {
        {"baseline", &Evaluation::measure_baseline},
        {"load", &Evaluation::load},
        {"weights", &Evaluation::check_state},
        {"correctness", &Evaluation::check_first_weights},
        {"transforms", &Evaluation::check_transforms},
        {"second weights", &Evaluation::check_second_weights},
        {"timing", &Evaluation::measure},
        {"device timing", &Evaluation::measure_replays},
    };
    for (const auto& [name, step] : k_steps) {
      if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
      KERNELGEN_TRY(auto ended, timed(std::string(name), [&, step = step] { return (this->*step)(); }));
      if (ended) return *std::move(ended);
    }
    return verdict_of_cases(record_.cases);
  }

  Result<Ended> measure_baseline() {
    if (!scores_time()) return Ended();
    KERNELGEN_TRY([[maybe_unused]] auto seed, judge().use_weights(1));
    record_.timing.emplace();
    auto& clean = *session_->clean;
    if (clean.calls_ns.empty()) {
      KERNELGEN_TRY(auto calls, baseline(CallMode::Eager));
      clean.calls_ns = std::move(calls.samples_ns);
    }
    record_.timing->clean_before_ns = clean.calls_ns;
    if (!on_device()) {
      record_.timing->speedup_device_reason = "the CPU has no device clock: use speedup_call";
      return Ended();
    }
    if (!clean.replays) {
      KERNELGEN_TRY(clean.replays, baseline(CallMode::Graph));
    }
    record_.timing->clean_graph_ns = clean.replays->samples_ns;
    if (clean.replays->samples_ns.empty())
      record_.timing->speedup_device_reason = "the reference cannot be captured: " + clean.replays->reason;
    return Ended();
  }

  Result<Baseline> baseline(CallMode mode) { return judge().baseline(mode, k_baseline_sampling); }

  Result<Ended> load() {
    KERNELGEN_TRY(auto ended, candidate_->load(artifact_, builds_key()));
    record_.environment.isolation = candidate_->isolation();
    return ended;
  }

  /// The very same text, built by the same versions for the same model of device: the next evaluation may be on
  /// another.
  [[nodiscard]] std::string builds_key() const {
    const auto& environment = record_.environment;
    return sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", request_.candidate.id, environment.python,
                                  environment.torch, environment.triton, environment.device,
                                  backends_.gpu ? backends_.gpu->driver_version : 0));
  }

  Result<Ended> check_state() { return candidate_->check_weights(record_.weights); }

  Result<Ended> check_first_weights() {
    KERNELGEN_TRY(auto ended, candidate_->switch_weights(1));
    if (ended) return ended;
    for (int i = 0; i < k_own_sets_first_weights; ++i) {
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
      if (i > 0) continue;
      // The very same inputs again: a candidate that is right once only is not right.
      KERNELGEN_TRY(ended, check_own(Freshness::Repeat));
      if (ended) return ended;
    }
    return Ended();
  }

  Result<Ended> check_transforms() {
    for (const auto& distribution : session_->admission.distributions) {
      if (distribution == k_own_distribution) continue;
      KERNELGEN_TRY(auto ended, call(distribution, Freshness::New));
      if (ended && ended->kind != OutcomeKind::Accuracy) return ended;
    }
    const auto verdict = verdict_of_cases(record_.cases);
    return verdict.correct() ? Ended() : Ended(verdict);
  }

  Result<Ended> check_second_weights() {
    KERNELGEN_TRY(auto ended, candidate_->switch_weights(2));
    if (ended) return ended;
    for (int i = 0; i < k_own_sets_second_weights; ++i) {
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
    }
    return Ended();
  }

  Result<Ended> check_own(Freshness freshness) {
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
    return Ended(explain_repeats(*std::move(ended), right));
  }

  /// One call, kept in the record.
  Result<Ended> call(const std::string& distribution, Freshness freshness) {
    KERNELGEN_TRY(auto result, candidate_->call(distribution, freshness));
    auto ended = result.outcome.correct() ? Ended() : Ended(result.outcome);
    record_.cases.push_back(std::move(result));
    return ended;
  }

  /// Whether a speedup will come out of this: a task that cannot tell, or an interpreter, has none.
  [[nodiscard]] bool scores_time() const {
    return kind_ != RunnerKind::PythonInterpreter && session_->admission.scored;
  }

  Result<Ended> measure() {
    if (!session_->admission.scored)
      return Ended(Outcome{OutcomeKind::NotScored, "",
                           fmt::format("nothing wrong was found, but the task cannot tell right from wrong ({})",
                                       fmt::join(session_->admission.labels, "; "))});
    if (!scores_time()) {
      record_.labels.push_back("interpreter: a time under an interpreter is not a result");
      return Ended();
    }
    record_.timing->prepare_ns = candidate_->prepare_ns();
    record_.timing->first_call_ns = candidate_->first_call_ns();
    auto options = options_.measure;
    // The other half is of replays.
    if (!record_.timing->clean_graph_ns.empty()) options.full_comparisons -= options.full_comparisons / k_replay_share;
    KERNELGEN_TRY(auto samples, sample(options, CallMode::Eager, CallMode::Eager));
    report_calls(*record_.timing, samples);
    return std::move(samples.ended);
  }

  /// The same calls as graphs: what the device itself takes.
  Result<Ended> measure_replays() {
    if (!record_.timing || record_.timing->clean_graph_ns.empty()) return Ended();
    KERNELGEN_TRY(const auto refused, candidate_->try_replay());
    auto mode = CallMode::Graph;
    if (refused) {
      record_.timing->speedup_device_reason = "the candidate cannot be replayed as a graph: " + *refused;
      if (candidate_->lost()) return Ended();
      mode = CallMode::Eager;
    }
    auto options = options_.measure;
    options.full_comparisons /= k_replay_share;
    KERNELGEN_TRY(auto samples, sample(options, CallMode::Graph, mode));
    report_replays(*record_.timing, samples);
    return std::move(samples.ended);
  }

  Result<PairSamples> sample(const MeasureOptions& options, CallMode reference, CallMode candidate) {
    int number = 0;
    const auto next = [&] { return candidate_->timed_pair(++number, reference, candidate); };
    const auto before = use_now();
    KERNELGEN_TRY(
        auto samples,
        sample_pairs(options, next, {.now = backends_.now, .reference_time = [&] { return judge().processor_time(); }},
                     stop_));
    const auto after = use_now();
    if (before && after) samples.device_contention = contention(*before, *after);
    return samples;
  }

  [[nodiscard]] bool on_device() const { return backends_.gpu.has_value(); }

  /// With the runner gone: do the clocks and baselines of a correct candidate add up?
  Result<Outcome> doubt(Outcome verdict, const ClockAllowance& allowance) {
    if (!verdict.correct() || !record_.timing || record_.timing->candidate_ns.empty()) return verdict;
    auto& timing = *record_.timing;
    if (baseline_disturbed(timing.clean_before_ns, timing.reference_ns)) {
      KERNELGEN_TRY(auto after, timed("baseline again", [&] { return baseline(CallMode::Eager); }));
      session_->clean->calls_ns = after.samples_ns;
      timing.clean_after_ns = std::move(after.samples_ns);
    }
    const auto loose_ns = allowance.in_total(timing.candidate_median_ns) - allowance.exchange_ns;
    if (loose_ns > k_loose_share * timing.candidate_median_ns)
      record_.labels.push_back(
          fmt::format("loose clock: up to {:.0f} us of each call rest on the runner's word", loose_ns / 1e3));
    KERNELGEN_TRY(auto own_work, doubt_own_work());
    if (own_work) return *std::move(own_work);
    if (auto doubtful = doubt_timing(timing, allowance)) return *std::move(doubtful);
    if (on_device()) {
      if (auto doubtful = doubt_device_time(timing, memory_floor())) return *std::move(doubtful);
      return verdict;
    }
    // A win that the worker's clock cannot see is no win.
    if (loose_ns > timing.candidate_median_ns && timing.speedup_call.value > 1)
      return Outcome{
          OutcomeKind::Suspect, "too short to time",
          fmt::format("its call takes {:.0f} us by its own word, and the worker's clock cannot tell {:.0f} us",
                      timing.candidate_median_ns / 1e3, loose_ns / 1e3)};
    return verdict;
  }

  /// With the runner gone, others must still be there: what the device was busy with only while the candidate lived may
  /// have been its own work, which goes on when its process is stopped.
  Result<Ended> doubt_own_work() {
    if (!is_busy_device(*record_.timing)) return Ended();
    const auto before = use_now();
    KERNELGEN_TRY([[maybe_unused]] auto calls, timed("device again", [&] { return baseline(CallMode::Eager); }));
    const auto after = use_now();
    if (!before || !after || after->late_turns > before->late_turns) return Ended();
    if (auto cheat = doubt_device_time(*record_.timing, memory_floor())) return Ended(*std::move(cheat));
    return Ended(Outcome{OutcomeKind::Suspect, "keeps the device busy",
                         "the device was busy while its calls were timed, and is idle now: it works outside of its "
                         "calls, or somebody else's work has just ended"});
  }

  /// With the runner gone, and only of what turned out correct: this may take minutes.
  Result<void> compare_with_baselines(const Outcome& verdict) {
    if (!verdict.correct() || !record_.timing || record_.timing->candidate_ns.empty()) return {};
    auto& timing = *record_.timing;
    for (const auto kind : options_.baselines.kinds) {
      const CompiledBaselineRequest asked{.kind = kind,
                                          .timeout = options_.baselines.timeout,
                                          .sampling = k_baseline_sampling,
                                          .machine = backends_.machine};
      KERNELGEN_TRY(auto report, timed(fmt::format("baseline {}", to_string(kind)), [&] {
                      return compare_with_baseline(*session_, asked, timing.candidate_median_ns, stop_);
                    }));
      timing.baselines.push_back(std::move(report));
    }
    return {};
  }

  /// What memory alone takes. Written outputs may stay in the cache; inputs were put out of it.
  [[nodiscard]] MemoryFloor memory_floor() const {
    const auto cached = std::min(session_->layout.output_bytes, backends_.gpu->l2_bytes);
    return {.bytes = static_cast<double>(session_->admission.sensitive_bytes.value_or(0) +
                                         session_->layout.output_bytes - cached),
            .bytes_per_second = backends_.gpu->measured_bytes_per_second.value_or(0)};
  }

  Judge& judge() { return *session_->judge; }

  const EvaluationRequest& request_;
  const EvaluationOptions& options_;
  EvaluationRecord record_;
  EvaluationBackends backends_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  const RunnerKind kind_;

  std::unique_ptr<JudgeSession> session_;
  Artifact artifact_;
  std::optional<CandidateSession> candidate_;
};

}  // namespace

RunnerKind runner_kind(Target target, const std::optional<GpuFacts>& gpu) {
  if (is_native(target)) return RunnerKind::Native;
  return target == Target::Triton && !gpu ? RunnerKind::PythonInterpreter : RunnerKind::Python;
}

JudgeTask judge_task(const TaskSource& task, const EvaluationOptions& options, const std::optional<GpuFacts>& gpu) {
  JudgeTask asked{.source = task,
                  .precision = options.precision,
                  .threads = options.threads,
                  .shrink = options.shrink,
                  .rtol = options.rtol,
                  .atol = options.atol,
                  .timeout = options.task_timeout};
  if (gpu)
    asked.device = JudgeDevice{.vendor = gpu->vendor,
                               .uuid = gpu->uuid,
                               .l2_bytes = gpu->l2_bytes,
                               .memory_bytes = gpu->memory_bytes,
                               .bytes_per_second = gpu->measured_bytes_per_second.value_or(0)};
  return asked;
}

Result<EvaluationRecord> evaluate_candidate(const EvaluationRequest& request, EvaluationRecord record,
                                            EvaluationBackends backends, const ProgressCallback& progress,
                                            std::stop_token stop) {
  return Evaluation(request, std::move(record), std::move(backends), progress, std::move(stop)).run();
}

}  // namespace v0
}  // namespace kernelgen
