#include "bench/evaluation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <random>

#include <kernelgen/bench/statistics.hpp>

#include "bench/measurement.hpp"
#include "bench/verdict.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// Nothing while the evaluation goes on; the verdict as soon as there is one.
using Ended = std::optional<Outcome>;

constexpr std::string_view k_own = "own";
/// Own input sets per verdict: two on the first weights (one of them called twice), one more there, two on the second.
constexpr int k_own_sets_first_weights = 3;
constexpr int k_own_sets_second_weights = 2;
/// Enough repeats of a failing call to tell "wrong from now on" from "wrong now and then".
constexpr int k_repeats_of_failure = 6;
/// On a processor, comparing more than this in full costs more than the calls themselves; then every second one, chosen
/// by lot.
constexpr std::uint64_t k_always_full_output_bytes = 64u << 20;
constexpr int k_min_baseline_samples = 10;
constexpr int k_max_baseline_samples = 12;
constexpr auto k_baseline_budget = 300ms;
constexpr int k_echoes = 16;
/// What waking takes: cold caches, sleeping cores. On a machine of two cores the fast tenth of native calls took 25 to
/// 200 us more than an exchange; of Python calls, with seeding before and the description of outputs after them, 350
/// to 440 us.
constexpr double k_native_waking_ns = 300e3;
constexpr double k_python_waking_ns = 500e3;
/// On a device also: flushing its cache, waking its driver, and launches that wait for it.
constexpr double k_device_waking_ns = 500e3;
/// Where replays are timed as well, this part of the timed calls that are compared in full are replays.
constexpr int k_replay_share = 2;
constexpr int k_tried_replays = 2;
/// A clock that could hide more than this share of a call is worth a label.
constexpr double k_loose_share = 0.1;

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
        native_(is_native(request.candidate.target)),
        kind_(runner_kind(request.candidate.target, backends_.gpu)) {}

  Result<EvaluationRecord> run() {
    auto result = evaluate();
    // What a judge is doing after an error is unknown: perhaps it still answers a question that was given up.
    if (session_) session_->healthy = result.has_value();
    return result;
  }

 private:
  Result<EvaluationRecord> evaluate() {
    KERNELGEN_TRY(auto refused, compile_and_open());
    if (refused) return finish(*std::move(refused));
    KERNELGEN_TRY(auto alone, timed("wait for the device", [&] { return backends_.gate.alone(stop_); }));
    KERNELGEN_TRY(auto verdict, judge_candidate());
    // Of a Python runner that copies its outputs itself, after the call; a native candidate wrote them there.
    if (runner_ && !native_ && !runner_->fetches_outputs()) copied_bytes_ = session_->layout.output_bytes;
    runner_.reset();
    KERNELGEN_TRY(auto checked, doubt(std::move(verdict)));
    return finish(std::move(checked));
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

  /// The compiler runs while the judge admits the task: neither needs the other.
  Result<Ended> compile_and_open() {
    backends_.runners.expect(kind_);
    auto compiling = std::async(std::launch::async, [this]() -> Result<CompileOutcome> {
      // A compiler disturbs what is measured on the processor, not what is measured on a device.
      std::unique_ptr<DeviceGate::Hold> shared;
      if (!on_device()) {
        KERNELGEN_TRY(shared, backends_.gate.share(stop_));
      }
      return backends_.compiler.compile({.candidate = request_.candidate, .timeout = options_.compile_timeout}, stop_);
    });
    // Without a share of the device: this may wait for an evaluation of the same task that waits to have it alone.
    auto opened = timed(
        "admit", [&] { return backends_.judges.open(judge_task(request_.task, options_, backends_.gpu), stop_); });
    auto compiled = timed("compile", [&] { return compiling.get(); });
    if (!opened) return std::move(opened).error();
    if (!compiled) return std::move(compiled).error();
    session_ = *std::move(opened);
    record_.task = session_->description;
    record_.tolerance = session_->admission.tolerance;
    record_.labels = session_->admission.labels;
    if (backends_.gpu && backends_.gpu->vendor == "fake") record_.labels.push_back("fake device: a time is no result");
    if (auto* failed = std::get_if<CompileFailed>(&*compiled)) {
      record_.compile = std::move(failed->report);
      return Ended(std::move(failed->outcome));
    }
    auto& success = std::get<Compiled>(*compiled);
    record_.compile = std::move(success.report);
    artifact_ = std::move(success.artifact);
    return Ended();
  }

  /// The steps in order; the first that ends the evaluation gives the verdict.
  Result<Outcome> judge_candidate() {
    using Step = Result<Ended> (Evaluation::*)();
    static constexpr std::pair<std::string_view, Step> k_steps[] = {
        {"baseline", &Evaluation::measure_baseline},
        {"load", &Evaluation::load},
        {"weights", &Evaluation::check_weights},
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
    KERNELGEN_CHECK(use_weights(1));
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

  Result<Baseline> baseline(CallMode mode) {
    return judge().baseline(mode, k_min_baseline_samples, k_max_baseline_samples, k_baseline_budget);
  }

  Result<Ended> load() {
    KERNELGEN_TRY(runner_, backends_.runners.take(kind_, stop_));
    record_.environment.isolation = runner_->isolation();
    for (int i = 0; i < k_echoes; ++i) {
      const auto echo = runner_->echo(options_.call_timeout);
      if (const auto* reply = std::get_if<RunnerReply>(&echo)) echoes_ns_.push_back(reply->host_ns);
    }
    KERNELGEN_TRY(auto code, backends_.memory.open_file(artifact_.path));
    const auto& description = native_ ? session_->layout.native_job : session_->layout.python_job;
    KERNELGEN_TRY(auto job, backends_.memory.publish("kernelgen-job", description));
    return ended_by(runner_->load({.code = native_ ? CodeKind::SharedObject : CodeKind::PythonSource,
                                   .description_fd = job->fd(),
                                   .exchange_fd = session_->exchange_fd,
                                   .code_fd = code->fd(),
                                   .device_fd = session_->device_fd,
                                   .builds_key = builds_key(),
                                   .memory_limit = options_.memory_limit,
                                   .exchange_bytes = session_->layout.bytes,
                                   .outputs = session_->layout.outputs},
                                  options_.call_timeout),
                    RunnerStep::Load);
  }

  /// The very same text, built by the same versions for the same device.
  [[nodiscard]] std::string builds_key() const {
    const auto& environment = record_.environment;
    return sha256_hex(fmt::format("{}\n{}\n{}\n{}\n{}\n", request_.candidate.id, environment.python, environment.torch,
                                  environment.triton, environment.device));
  }

  /// ModelNew draws its own weights: both instances are built and compared before anything is called.
  Result<Ended> check_weights() {
    if (native_) return Ended();
    for (int set : {1, 2}) {
      KERNELGEN_TRY(auto seed, judge().use_weights(set));
      const auto constructed = runner_->construct(set, seed, options_.call_timeout);
      KERNELGEN_TRY(auto ended, ended_by(constructed, RunnerStep::Construct));
      if (ended) return ended;
      const auto& reply = std::get<RunnerReply>(constructed);
      record_prepare_time(reply);
      KERNELGEN_TRY(ended, match_state(set, reply.arg[0]));
      if (ended) return ended;
    }
    if (record_.weights->unmapped.empty()) return Ended();
    return Ended(Outcome{OutcomeKind::WeightSync, "",
                         fmt::format("{} of the reference's tensors are not in ModelNew under the same seed: {}",
                                     record_.weights->unmapped.size(), fmt::join(record_.weights->unmapped, ", "))});
  }

  Result<Ended> match_state(int set, std::uint64_t bytes) {
    const auto limit = options_.memory_limit;
    if (bytes > limit)
      return Ended(Outcome{OutcomeKind::OutOfMemory, "",
                           fmt::format("its weights take {} bytes, more than the limit of {}", bytes, limit)});
    KERNELGEN_TRY(auto state, backends_.memory.allocate("kernelgen-state", bytes));
    KERNELGEN_TRY(auto ended,
                  ended_by(runner_->export_state(set, state->fd(), bytes, options_.call_timeout), RunnerStep::Export));
    if (ended) return ended;
    KERNELGEN_TRY(record_.weights, judge().match_state(set, state->memory()));
    return Ended();
  }

  /// Makes a weight set current on both sides. Native candidates see only one set at a time: it lies in the exchange
  /// buffers that they may point into.
  Result<Ended> switch_weights(int set) {
    if (native_ && prepared_set_ != 0) {
      KERNELGEN_TRY(auto ended, ended_by(runner_->destroy(prepared_set_, options_.call_timeout), RunnerStep::Destroy));
      if (ended) return ended;
    }
    KERNELGEN_CHECK(use_weights(set));
    if (!native_) return Ended();
    const auto prepared = runner_->prepare(set, options_.call_timeout);
    KERNELGEN_TRY(auto ended, ended_by(prepared, RunnerStep::Prepare));
    if (ended) return ended;
    prepared_set_ = set;
    record_prepare_time(std::get<RunnerReply>(prepared));
    return Ended();
  }

  Result<Ended> check_first_weights() {
    KERNELGEN_TRY(auto ended, switch_weights(1));
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
      if (distribution == k_own) continue;
      KERNELGEN_TRY(auto ended, call(distribution, Freshness::New));
      if (ended && ended->kind != OutcomeKind::Accuracy) return ended;
    }
    const auto verdict = verdict_of_cases(record_.cases);
    return verdict.correct() ? Ended() : Ended(verdict);
  }

  Result<Ended> check_second_weights() {
    KERNELGEN_TRY(auto ended, switch_weights(2));
    if (ended) return ended;
    call_ = 0;
    for (int i = 0; i < k_own_sets_second_weights; ++i) {
      KERNELGEN_TRY(ended, check_own(Freshness::New));
      if (ended) return ended;
    }
    return Ended();
  }

  Result<Ended> check_own(Freshness freshness) {
    KERNELGEN_TRY(auto ended, call(std::string(k_own), freshness));
    if (!ended || ended->kind != OutcomeKind::Accuracy) return ended;
    std::vector<bool> right;
    if (freshness == Freshness::Repeat) right.push_back(true);
    right.push_back(false);
    for (int i = 0; i < k_repeats_of_failure; ++i) {
      KERNELGEN_TRY(auto again, call(std::string(k_own), Freshness::Repeat));
      if (again && again->kind != OutcomeKind::Accuracy) break;
      right.push_back(!again);
    }
    return Ended(explain_repeats(*std::move(ended), right));
  }

  /// One staged, run and fully compared call.
  Result<Ended> call(const std::string& distribution, Freshness freshness) {
    KERNELGEN_TRY(auto staged, judge().stage(distribution, freshness, CallMode::Eager, ReferenceTurn::Before));
    const auto answer =
        runner_->run(weight_set_, staged.forward_seed, Allocations::Poisoned, CallMode::Eager, options_.call_timeout);
    CaseResult result{.distribution = distribution, .seed = staged.seed, .weight_set = weight_set_, .call = ++call_};
    KERNELGEN_TRY(auto ended, ended_by(answer, RunnerStep::Run));
    if (ended) {
      result.outcome = *ended;
    } else {
      const auto& reply = std::get<RunnerReply>(answer);
      if (record_.timing && record_.timing->first_call_ns == 0)
        record_.timing->first_call_ns = reply.end_ns - reply.start_ns;
      KERNELGEN_TRY(auto checked, judge().check(CheckMode::Full));
      result.outcome = std::move(checked.outcome);
      result.outputs = std::move(checked.outputs);
      if (!result.outcome.correct()) ended = result.outcome;
    }
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
    KERNELGEN_TRY(const auto refused, try_replay());
    auto mode = CallMode::Graph;
    if (refused) {
      record_.timing->speedup_device_reason = "the candidate cannot be replayed as a graph: " + *refused;
      if (lost_) return Ended();
      mode = CallMode::Eager;
    }
    auto options = options_.measure;
    options.full_comparisons /= k_replay_share;
    KERNELGEN_TRY(auto samples, sample(options, CallMode::Graph, mode));
    report_replays(*record_.timing, samples);
    return std::move(samples.ended);
  }

  /// Captures the candidate, off the clock, and checks replays. Why there can be none, if so: that it was right when it
  /// was called is known by now.
  Result<std::optional<std::string>> try_replay() {
    // What a capture misses runs while it is captured, so that the first replay looks right.
    for (int i = 0; i < k_tried_replays; ++i) {
      KERNELGEN_TRY(auto refused, replay_once());
      if (refused) return refused;
    }
    return std::optional<std::string>();
  }

  Result<std::optional<std::string>> replay_once() {
    using Refused = std::optional<std::string>;
    KERNELGEN_TRY(auto staged,
                  judge().stage(std::string(k_own), Freshness::New, CallMode::Graph, ReferenceTurn::Before));
    const auto answer = run(staged, CallMode::Graph);
    if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
    if (const auto* death = std::get_if<RunnerDeath>(&answer)) {
      lost_ = true;
      return Refused(outcome_of_death(*death, RunnerStep::Run, options_.call_timeout).message);
    }
    const auto& reply = std::get<RunnerReply>(answer);
    lost_ = reply.status == RunnerStatus::DeviceFault;
    if (reply.status != RunnerStatus::Ok) return Refused(reply.text);
    KERNELGEN_TRY(const auto checked, judge().check(CheckMode::Full));
    if (checked.outcome.correct()) return Refused();
    return Refused(
        "its replay gives other outputs than its calls; what it starts on the default stream is not captured");
  }

  Result<PairSamples> sample(const MeasureOptions& options, CallMode reference, CallMode candidate) {
    int number = 0;
    const auto next = [&] { return timed_pair(++number, reference, candidate); };
    return sample_pairs(options, next, {.now = backends_.now, .waiting = backends_.waiting}, stop_);
  }

  RunnerAnswer run(const StagedCase& staged, CallMode mode) {
    return runner_->run(weight_set_, staged.forward_seed, Allocations::Plain, mode, options_.call_timeout);
  }

  Result<std::variant<TimedPair, Outcome>> timed_pair(int number, CallMode reference, CallMode candidate) {
    using Answer = std::variant<TimedPair, Outcome>;
    // There and back: ABBA takes out what being second costs.
    const auto turn = number % 2 == 0 ? ReferenceTurn::After : ReferenceTurn::Before;
    KERNELGEN_TRY(auto staged, judge().stage(std::string(k_own), Freshness::Canary, reference, turn));
    const auto answer = run(staged, candidate);
    KERNELGEN_TRY(auto ended, ended_by(answer, RunnerStep::Run));
    if (ended) return Answer(*std::move(ended));
    const auto& reply = std::get<RunnerReply>(answer);
    // Decided only now, when the answer is there: the candidate cannot know which calls count.
    const bool full =
        on_device() || session_->layout.output_bytes <= k_always_full_output_bytes || coin_(entropy_) == 0;
    KERNELGEN_TRY(auto checked, judge().check(full ? CheckMode::Full : CheckMode::Canary));
    if (!checked.outcome.correct()) {
      checked.outcome.message = fmt::format("timed call {}: {}", number, checked.outcome.message);
      return Answer(std::move(checked.outcome));
    }
    // One of the two is zero.
    return Answer(TimedPair{.reference_ns = staged.reference_ns + checked.reference_ns,
                            .candidate_ns = std::max<std::int64_t>(call_ns(reply), 1),
                            .host_ns = reply.host_ns,
                            .late_ns = on_device() ? reply.late_ns() : 0,
                            .fresh = staged.fresh,
                            .full = full,
                            .throttled = staged.throttled || checked.throttled});
  }

  [[nodiscard]] bool on_device() const { return backends_.gpu.has_value(); }

  /// What a call took by the clock that counts here.
  [[nodiscard]] std::int64_t call_ns(const RunnerReply& reply) const {
    return on_device() ? reply.device_ns() : reply.end_ns - reply.start_ns;
  }

  /// With the runner gone: do the clocks and baselines of a correct candidate add up?
  Result<Outcome> doubt(Outcome verdict) {
    if (!verdict.correct() || !record_.timing || record_.timing->candidate_ns.empty()) return verdict;
    auto& timing = *record_.timing;
    if (baseline_disturbed(timing.clean_before_ns, timing.reference_ns)) {
      KERNELGEN_TRY(auto after, baseline(CallMode::Eager));
      session_->clean->calls_ns = after.samples_ns;
      timing.clean_after_ns = std::move(after.samples_ns);
    }
    const auto allowance = clock_allowance();
    const auto loose_ns = allowance.in_total(timing.candidate_median_ns) - allowance.exchange_ns;
    if (loose_ns > k_loose_share * timing.candidate_median_ns)
      record_.labels.push_back(
          fmt::format("loose clock: up to {:.0f} us of each call rest on the runner's word", loose_ns / 1e3));
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

  [[nodiscard]] ClockAllowance clock_allowance() const {
    ClockAllowance allowance{.exchange_ns = median(echoes_ns_),
                             .waking_ns = native_ ? k_native_waking_ns : k_python_waking_ns,
                             .copied_bytes = static_cast<double>(copied_bytes_)};
    if (!on_device()) return allowance;
    allowance.waking_ns += k_device_waking_ns;
    const auto bandwidth = backends_.gpu->measured_bytes_per_second.value_or(0);
    // Read and written, at three quarters of what the device can do.
    if (bandwidth > 0) allowance.bytes_per_ns = bandwidth / 1e9 * 3 / 8;
    return allowance;
  }

  /// What memory alone takes. Written outputs may stay in the cache; inputs were put out of it.
  [[nodiscard]] MemoryFloor memory_floor() const {
    const auto cached = std::min(session_->layout.output_bytes, backends_.gpu->l2_bytes);
    return {.bytes = static_cast<double>(session_->admission.sensitive_bytes.value_or(0) +
                                         session_->layout.output_bytes - cached),
            .bytes_per_second = backends_.gpu->measured_bytes_per_second.value_or(0)};
  }

  Result<void> use_weights(int set) {
    KERNELGEN_TRY([[maybe_unused]] auto seed, judge().use_weights(set));
    weight_set_ = set;
    return {};
  }

  void record_prepare_time(const RunnerReply& reply) {
    if (record_.timing && record_.timing->prepare_ns == 0) record_.timing->prepare_ns = reply.end_ns - reply.start_ns;
  }

  Result<Ended> ended_by(const RunnerAnswer& answer, RunnerStep step) const {
    if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
    if (const auto* death = std::get_if<RunnerDeath>(&answer))
      return Ended(outcome_of_death(*death, step, options_.call_timeout));
    auto outcome = outcome_of_reply(std::get<RunnerReply>(answer), step);
    return outcome.correct() ? Ended() : Ended(std::move(outcome));
  }

  Judge& judge() { return *session_->judge; }

  const EvaluationRequest& request_;
  const EvaluationOptions& options_;
  EvaluationRecord record_;
  EvaluationBackends backends_;
  const ProgressCallback& progress_;
  std::stop_token stop_;
  const bool native_;
  const RunnerKind kind_;

  std::unique_ptr<JudgeSession> session_;
  Artifact artifact_;
  std::unique_ptr<Runner> runner_;
  int prepared_set_ = 0;
  /// The runner cannot be used any more, and that says nothing about the candidate.
  bool lost_ = false;
  int weight_set_ = 1;
  int call_ = 0;
  std::vector<std::int64_t> echoes_ns_;
  std::uint64_t copied_bytes_ = 0;
  std::random_device entropy_;
  std::uniform_int_distribution<int> coin_{0, 1};
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
