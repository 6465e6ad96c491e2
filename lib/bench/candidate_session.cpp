#include "bench/candidate_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "device/processors.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// On a processor, comparing larger outputs in full costs more than the calls themselves; then every second call is
/// compared in full, chosen at random.
constexpr std::uint64_t k_always_full_output_bytes = 64u << 20;
/// Reference calls up to this length are prepared ahead: the messages that this saves in a hundred pairs cost more than
/// one wasted call.
constexpr std::int64_t k_short_call_ns = 5'000'000;
/// Every fourth rehearsal is of a longer series. Where calls are long, little depends on them, so fewer will do.
constexpr int k_rehearsals = 12, k_fewest_rehearsals = 4, k_rehearsed_series = 128;
constexpr std::chrono::milliseconds k_rehearsal_time{150};
/// Rehearsals of separate calls, for each of these shares of the reference's time: 1/16, 1/4, all of it. Longer calls
/// than this are not timed in series.
constexpr int k_separate_rehearsals = 6;
constexpr std::array<std::int64_t, 3> k_separate_shares{16, 4, 1};
constexpr std::int64_t k_longest_in_series_ns = 1'000'000;
constexpr int k_tried_replays = 2;
/// Replayed series of each length, of nothing and of a candidate's calls. The first of them are captured, which takes
/// longer.
constexpr int k_replayed_series = 4;
/// Lengths beside that of all slots. Each call needs an answer of the reference, so long calls have short series.
constexpr std::array<int, 3> k_short_series{3, 8, 32};
/// Calls that a runner makes for each one of its first replayed series: to warm up, to check the capture, and the
/// replay.
constexpr int k_calls_for_a_series = 4;
/// Instances of ModelNew for these weight sets are made at the beginning, and matched with the reference.
constexpr int k_kept_sets = 2;
/// At most five copies of the weights of a ModelNew are made at a time: its instances, one that is handed over, and
/// those that the judge keeps for both sets. The rest is for comparing them.
constexpr std::uint64_t k_state_copies = 6;

}  // namespace

CandidateSession::CandidateSession(RunnerKind kind, const EvaluationOptions& options,
                                   const EvaluationBackends& backends, JudgeSession& task, std::stop_token stop)
    : kind_(kind),
      options_(options),
      backends_(backends),
      task_(task),
      stop_(std::move(stop)),
      build_time_left_(options.build_timeout) {}

Result<std::string> CandidateSession::start() {
  KERNELGEN_TRY(runner_, backends_.device.runners->take(kind_, stop_));
  return runner_->isolation();
}

Result<EarlyVerdict> CandidateSession::load(const Artifact& artifact, std::string builds_key) {
  KERNELGEN_TRY(auto code, backends_.memory.open_file(artifact.path));
  return verdict_of_answer(runner_->load({.kind = is_native() ? CodeKind::SharedObject : CodeKind::PythonSource,
                                          .fd = code->fd(),
                                          .builds_key = std::move(builds_key),
                                          .memory_limit = options_.memory_limit},
                                         building_limits()),
                           RunnerStep::Load);
}

Result<EarlyVerdict> CandidateSession::open_job() {
  const auto& description = is_native() ? task_.layout.native_job : task_.layout.python_job;
  KERNELGEN_TRY(auto job, backends_.memory.publish("kernelgen-job", description));
  const auto answer =
      runner_->open({.description_fd = job->fd(),
                     .exchange_fd = task_.exchange_fd,
                     .device_fd = task_.device_fd,
                     .processors = on_device() ? 0 : processors_for(options_.threads),
                     .spreads_threads = !on_device() && options_.mode != EvaluationMode::CorrectnessOnly,
                     .exchange_bytes = task_.layout.bytes,
                     .outputs = task_.layout.outputs,
                     .slots = task_.layout.slots,
                     .slot_bytes = task_.layout.slot_bytes},
                    options_.call_timeout);
  // No candidate is loaded yet, so a refusal says something about the machine.
  const auto* reply = std::get_if<RunnerReply>(&answer);
  if (reply != nullptr && reply->status != RunnerStatus::Ok && reply->status != RunnerStatus::OutOfMemory)
    return Error{on_device() ? ErrorCode::MissingDevice : ErrorCode::Unavailable,
                 fmt::format("a runner cannot use the memory that the judge shares with it: {}", reply->text),
                 {}};
  return verdict_of_answer(answer, RunnerStep::Load);
}

Result<EarlyVerdict> CandidateSession::rehearse(std::int64_t reference_ns) {
  std::vector<Rehearsal> rehearsals;
  // Nothing is checked, so the judge would call a long reference for nothing.
  const CallRequest single{.distribution = std::string(k_own_distribution),
                           .freshness = Freshness::Canary,
                           .order = reference_ns > k_short_call_ns ? ReferenceOrder::Never : ReferenceOrder::Before};
  const auto start = backends_.now();
  for (int i = 1; i <= k_rehearsals; ++i) {
    if (i > k_fewest_rehearsals && backends_.now() - start > k_rehearsal_time) break;
    auto request = single;
    if (i % k_fewest_rehearsals == 0) request.calls = std::min(max_series(), k_rehearsed_series);
    KERNELGEN_TRY(auto ended, rehearse_once(request, 0, rehearsals));
    if (ended) return ended;
  }
  if (max_series() > 1) {
    const auto longest_ns = std::clamp<std::int64_t>(reference_ns, k_separate_shares.front(), k_longest_in_series_ns);
    for (int i = 0; i < k_separate_rehearsals; ++i) {
      for (const auto share : k_separate_shares) {
        KERNELGEN_TRY(auto ended, rehearse_once(single, longest_ns / share, rehearsals));
        if (ended) return ended;
      }
    }
  }
  clock_allowance_ = clock_allowance_from(rehearsals, max_series() > 1);
  return EarlyVerdict();
}

Result<EarlyVerdict> CandidateSession::rehearse_once(const CallRequest& request, std::int64_t work_ns,
                                                     std::vector<Rehearsal>& rehearsals) {
  KERNELGEN_TRY(const auto prepared, prepare(request));
  [[maybe_unused]] const auto before = runner_->take_overrun_ns();
  const auto rehearsed =
      runner_->rehearse(prepared.series, CallMode::Eager, std::chrono::nanoseconds(work_ns), options_.call_timeout);
  KERNELGEN_TRY(auto ended, verdict_of_answer(rehearsed, RunnerStep::Load));
  if (ended) return ended;
  const auto& reply = std::get<RunnerReply>(rehearsed);
  rehearsals.push_back(
      {.calls = prepared.series.calls,
       .overhead_ns = reply.host_ns + runner_->take_overrun_ns() - std::max<std::int64_t>(call_ns(reply), 0),
       .waited_ns = reply.waited_ns,
       .call_ns = work_ns});
  return EarlyVerdict();
}

Result<EarlyVerdict> CandidateSession::rehearse_replayed_series() {
  if (!on_device() || task_.layout.slots == 1) return EarlyVerdict();
  std::set<int> lengths{task_.layout.slots};
  for (const int calls : k_short_series)
    if (calls < task_.layout.slots) lengths.insert(calls);
  std::vector<ReplayedRehearsal> rehearsals;
  for (const int calls : lengths) {
    auto& rehearsal = rehearsals.emplace_back(ReplayedRehearsal{calls, {}});
    for (int i = 0; i < k_replayed_series; ++i) {
      auto request = replayed_series(calls, i == 0);
      request.order = ReferenceOrder::Never;
      KERNELGEN_TRY(const auto prepared, prepare(request));
      [[maybe_unused]] const auto before = runner_->take_overrun_ns();
      const auto rehearsed =
          runner_->rehearse(prepared.series, CallMode::Graph, std::chrono::nanoseconds::zero(), options_.call_timeout);
      const auto* reply = std::get_if<RunnerReply>(&rehearsed);
      if (reply != nullptr && reply->status == RunnerStatus::NotCapturable) return EarlyVerdict();
      KERNELGEN_TRY(auto ended, verdict_of_answer(rehearsed, RunnerStep::Load));
      if (ended) return ended;
      if (i > 0) rehearsal.overheads_ns.push_back(reply->host_ns + runner_->take_overrun_ns());
    }
  }
  replayed_rehearsals_ = std::move(rehearsals);
  return EarlyVerdict();
}

Result<PreparedCall> CandidateSession::prepare(CallRequest request) {
  request.gives_draws = is_native();
  return judge().prepare_call(request);
}

CallRequest CandidateSession::replayed_series(int calls, bool is_new) {
  return {.distribution = std::string(k_own_distribution),
          .freshness = is_new ? Freshness::Canary : Freshness::Repeat,
          .mode = CallMode::Graph,
          .calls = calls};
}

int CandidateSession::plan_series() {
  const double call_ns =
      static_cast<double>(least_host_ns_) - clock_allowance_.overhead_ns + clock_allowance_.looseness_ns / 2;
  return series_ = calls_of_series(clock_allowance_, std::max(call_ns, 0.0), max_series());
}

CallRequest CandidateSession::timed_call(int number, CallMode mode, int calls) const {
  // The order alternates (ABBA), which cancels the cost of being called second.
  return {.distribution = std::string(k_own_distribution),
          .freshness = Freshness::Canary,
          .mode = mode,
          .order = number % 2 == 0 ? ReferenceOrder::After : ReferenceOrder::Before,
          .calls = calls,
          .gives_draws = is_native()};
}

Result<EarlyVerdict> CandidateSession::match_weights(std::optional<WeightReport>& report) {
  if (is_native()) return EarlyVerdict();
  StateTransfer match{.most_bytes =
                          std::min(options_.memory_limit, backends_.memory.available_bytes() / k_state_copies)};
  for (int set = 1; set <= k_kept_sets; ++set) {
    KERNELGEN_TRY(auto ended, construct_and_match(set, match));
    if (ended) return ended;
  }
  if (match.found.missed_constants) {
    constants_ = ConstantWeights::Everywhere;
    KERNELGEN_TRY(auto ended, construct_and_match(k_kept_sets, match));
    if (ended) return ended;
  }
  report = std::move(match.found.report);
  return EarlyVerdict();
}

Result<EarlyVerdict> CandidateSession::construct(int set, const WeightDraw& draw, std::uint64_t& state_bytes) {
  const auto constructed = runner_->construct(set, draw, constants_, building_limits());
  KERNELGEN_TRY(auto ended, verdict_of_answer(constructed, RunnerStep::Construct));
  if (ended) return ended;
  const auto& reply = std::get<RunnerReply>(constructed);
  note_prepare_time(reply);
  state_bytes = reply.arg[0];
  return EarlyVerdict();
}

Result<EarlyVerdict> CandidateSession::construct_and_match(int set, StateTransfer& match) {
  KERNELGEN_TRY(const auto draw, judge().use_weights(set));
  std::uint64_t bytes = 0;
  KERNELGEN_TRY(auto ended, construct(set, draw, bytes));
  if (ended) return ended;
  if (bytes > match.most_bytes)
    return EarlyVerdict(Outcome{
        OutcomeKind::OutOfMemory, "",
        fmt::format("its weights take {} bytes; they may take {}: the memory limit, or a sixth of the machine's "
                    "free memory where that is less",
                    bytes, match.most_bytes)});
  KERNELGEN_TRY(auto state, backends_.memory.allocate("kernelgen-state", bytes));
  KERNELGEN_TRY(ended, verdict_of_answer(runner_->export_state(set, state->fd(), bytes, options_.call_timeout),
                                         RunnerStep::Export));
  if (ended) return ended;
  KERNELGEN_TRY(auto found, judge().match_state(set, state->memory()));
  if (auto* forged = std::get_if<Outcome>(&found)) return EarlyVerdict(std::move(*forged));
  match.found = std::get<WeightMatch>(std::move(found));
  return EarlyVerdict();
}

Result<EarlyVerdict> CandidateSession::switch_weights(int set) {
  if (prepared_set_ != 0) {
    KERNELGEN_TRY(auto ended,
                  verdict_of_answer(runner_->destroy(prepared_set_, options_.call_timeout), RunnerStep::Destroy));
    if (ended) return ended;
  }
  KERNELGEN_TRY(const auto draw, judge().use_weights(set));
  weight_set_ = prepared_set_ = set;
  call_ = 0;
  if (!is_native()) {
    if (set <= k_kept_sets) return EarlyVerdict();
    std::uint64_t bytes = 0;
    return construct(set, draw, bytes);
  }
  const auto prepared = runner_->prepare(set, options_.call_timeout);
  KERNELGEN_TRY(auto ended, verdict_of_answer(prepared, RunnerStep::Prepare));
  if (ended) return ended;
  note_prepare_time(std::get<RunnerReply>(prepared));
  return EarlyVerdict();
}

Result<CaseResult> CandidateSession::call(const std::string& distribution, Freshness freshness) {
  return call_and_compare({.distribution = distribution, .freshness = freshness}, Allocations::Poisoned,
                          CallMode::Eager);
}

Result<CaseResult> CandidateSession::call_as_timed(const std::string& distribution, CallMode mode) {
  return call_and_compare({.distribution = distribution, .freshness = Freshness::New, .calls = series_},
                          Allocations::Plain, mode);
}

Result<CaseResult> CandidateSession::call_and_compare(const CallRequest& request, Allocations allocations,
                                                      CallMode mode) {
  KERNELGEN_TRY(auto prepared, prepare(request));
  const auto answer = run(prepared, allocations, mode);
  CaseResult result{
      .distribution = request.distribution, .seed = prepared.seed, .weight_set = weight_set_, .call = ++call_};
  KERNELGEN_TRY(auto ended, verdict_of_answer(answer, RunnerStep::Run));
  if (ended) {
    result.outcome = *std::move(ended);
    return result;
  }
  const auto& reply = std::get<RunnerReply>(answer);
  if (first_call_ns_ == 0) first_call_ns_ = reply.end_ns - reply.start_ns;
  if (prepared.series.calls == 1)
    least_host_ns_ = least_host_ns_ == 0 ? reply.host_ns : std::min(least_host_ns_, reply.host_ns);
  KERNELGEN_TRY(auto checked, judge().check(CheckMode::Full, std::nullopt));
  result.outcome = std::move(checked.outcome);
  result.outputs = std::move(checked.outputs);
  return result;
}

Result<std::variant<TimedPair, Outcome>> CandidateSession::timed_pair(int number, CallMode reference,
                                                                      CallMode candidate) {
  // What it did before there were these inputs is no part of the call.
  if (number == 1) [[maybe_unused]]
    auto before = runner_->take_overrun_ns();
  return time_pair(number, reference, candidate, series_);
}

Result<std::variant<TimedPair, Outcome>> CandidateSession::separate_pair(int number) {
  return time_pair(number, CallMode::Eager, CallMode::Eager, 1);
}

Result<std::variant<TimedPair, Outcome>> CandidateSession::time_pair(int number, CallMode reference, CallMode candidate,
                                                                     int wanted) {
  using Answer = std::variant<TimedPair, Outcome>;
  KERNELGEN_TRY(auto prepared, prepare(timed_call(number, reference, wanted)));
  const auto answer = run(prepared, Allocations::Plain, candidate);
  KERNELGEN_TRY(auto ended, verdict_of_answer(answer, RunnerStep::Run));
  if (ended) return Answer(*std::move(ended));
  const auto& reply = std::get<RunnerReply>(answer);
  const int calls = prepared.series.calls;
  const auto host_ns = reply.host_ns + runner_->take_overrun_ns();
  // A replay flushes the cache more often than a rehearsal, so the allowance says nothing about it.
  const bool is_separate = wanted < series_;
  auto least_ns = candidate == CallMode::Graph || is_separate ? 1 : clock_allowance_.least_ns(host_ns, calls);
  // Replayed series will say more. Rehearsals of single calls are few, and on some machines a right kernel's calls take
  // longer than all of them.
  if (has_replayed_series()) least_ns -= static_cast<std::int64_t>(clock_allowance_.overhead_ns);
  const auto candidate_ns = std::max(std::max(call_ns(reply), least_ns) / calls,
                                     candidate == CallMode::Graph ? least_replay_ns_ : least_call_ns_);
  // Only the timed series show how short a call is.
  if (!is_separate)
    series_ = std::max(series_, calls_of_series(clock_allowance_, static_cast<double>(candidate_ns), max_series()));
  // This is decided after the answer, so that the candidate cannot know which calls count.
  const bool cheap = on_device() || task_.layout.output_bytes <= k_always_full_output_bytes;
  const bool full = options_.measure.full_comparisons > 0 && (cheap || coin_(entropy_) == 0);
  // The call prepared after the last pair is wasted, which costs little where calls are short.
  const auto next = reference_ns_ > 0 && reference_ns_ < k_short_call_ns
                        ? std::optional(timed_call(number + 1, reference, series_))
                        : std::nullopt;
  KERNELGEN_TRY(auto checked, judge().check(full ? CheckMode::Full : CheckMode::Sample, next));
  if (!checked.outcome.correct()) {
    checked.outcome.message = fmt::format("timed call {}: {}", number, checked.outcome.message);
    return Answer(std::move(checked.outcome));
  }
  // The reference was called before or after the candidate; the other time is zero.
  reference_ns_ = prepared.reference_ns + checked.reference_ns;
  return Answer(TimedPair{.reference_ns = std::max<std::int64_t>(reference_ns_ / calls, 1),
                          .candidate_ns = candidate_ns,
                          .host_ns = std::max(host_ns / calls, candidate_ns),
                          .calls = calls,
                          .off_stream_ns = on_device() ? reply.off_stream_ns() : 0,
                          .fresh = prepared.fresh,
                          .full = full,
                          .throttled = prepared.throttled || checked.throttled,
                          .clock_mhz = prepared.clock_mhz});
}

Result<std::optional<std::string>> CandidateSession::try_replay() {
  // Work that the capture misses runs during the capture, so the first replay would look right.
  for (int i = 0; i < k_tried_replays; ++i) {
    KERNELGEN_TRY(auto refused,
                  replay_once({.distribution = std::string(k_own_distribution), .mode = CallMode::Graph}));
    if (refused) return refused;
  }
  return std::optional<std::string>();
}

Result<std::variant<ReplayedSeries, std::string>> CandidateSession::time_replayed_series(double call_ns,
                                                                                         double cached_ns) {
  const auto* chosen = &choose_replayed_series(replayed_rehearsals_, call_ns, cached_ns);
  const double limit_ns = std::chrono::duration<double, std::nano>(options_.call_timeout).count() / 2;
  if (k_calls_for_a_series * chosen->calls * call_ns > limit_ns)
    return std::variant<ReplayedSeries, std::string>(
        fmt::format("{} calls of {:.0f} ms come too near the limit of a call", chosen->calls, call_ns / 1e6));
  while (true) {
    KERNELGEN_TRY(auto found, replay_series(*chosen));
    // Fewer calls need less memory.
    const bool is_over = std::holds_alternative<ReplayedSeries>(found) || !not_replayed_ || lost_;
    if (is_over || chosen == &replayed_rehearsals_.front()) return found;
    --chosen;
  }
}

Result<std::variant<ReplayedSeries, std::string>> CandidateSession::replay_series(const ReplayedRehearsal& rehearsal) {
  using Answer = std::variant<ReplayedSeries, std::string>;
  const auto most = *std::max_element(rehearsal.overheads_ns.begin(), rehearsal.overheads_ns.end());
  ReplayedSeries found{.calls = rehearsal.calls, .overhead_ns = static_cast<double>(most)};
  for (int i = 0; i < k_replayed_series; ++i) {
    KERNELGEN_TRY(auto refused, replay_once(replayed_series(rehearsal.calls, true)));
    if (refused) return Answer(*std::move(refused));
    if (i > 0) found.host_ns.push_back(replay_host_ns_);
  }
  const auto calls = static_cast<double>(found.calls);
  const auto fastest = *std::min_element(found.host_ns.begin(), found.host_ns.end());
  const double in_series_ns = std::max((static_cast<double>(fastest) - found.overhead_ns) / calls, 0.0);
  found.looseness_ns = rehearsal.looseness_ns();
  found.least_call_ns = less_what_may_be_hidden(in_series_ns + static_cast<double>(task_.launch.call_ns));
  found.least_replay_ns = less_what_may_be_hidden(in_series_ns + static_cast<double>(task_.launch.replay_ns));
  least_call_ns_ = std::max<std::int64_t>(std::llround(found.least_call_ns), 1);
  least_replay_ns_ = std::max<std::int64_t>(std::llround(found.least_replay_ns), 1);
  return Answer(std::move(found));
}

Result<std::optional<std::string>> CandidateSession::replay_once(const CallRequest& request) {
  using Refused = std::optional<std::string>;
  KERNELGEN_TRY(auto prepared, prepare(request));
  [[maybe_unused]] const auto before = runner_->take_overrun_ns();
  const auto answer = run(prepared, Allocations::Plain, CallMode::Graph);
  if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
  if (const auto* death = std::get_if<RunnerDeath>(&answer)) {
    lost_ = true;
    return Refused(outcome_of_death(*death, RunnerStep::Run, options_).message);
  }
  const auto& reply = std::get<RunnerReply>(answer);
  lost_ = reply.status == RunnerStatus::DeviceFault;
  replay_host_ns_ = reply.host_ns + runner_->take_overrun_ns();
  not_replayed_ = reply.status != RunnerStatus::Ok;
  if (reply.status != RunnerStatus::Ok) return Refused(reply.text);
  KERNELGEN_TRY(const auto checked, judge().check(CheckMode::Full, std::nullopt));
  if (checked.outcome.correct()) return Refused();
  return Refused("its replay gives other outputs than its calls; what it starts on the default stream is not captured");
}

ExaminedCall CandidateSession::examine() { return runner_->examine(weight_set_, entropy_(), options_.call_timeout); }

void CandidateSession::end() { runner_.reset(); }

RunnerAnswer CandidateSession::run(const PreparedCall& prepared, Allocations allocations, CallMode mode) {
  const bool first = called_sets_.insert(weight_set_).second;
  return runner_->run(weight_set_, prepared, allocations, mode,
                      first ? building_limits() : StepLimits{options_.call_timeout});
}

StepLimits CandidateSession::building_limits() const {
  // A native candidate was compiled before, and cannot start processes.
  if (is_native()) return {options_.call_timeout};
  return {options_.call_timeout, std::chrono::duration_cast<std::chrono::milliseconds>(build_time_left_)};
}

std::int64_t CandidateSession::call_ns(const RunnerReply& reply) const {
  return on_device() ? reply.device_ns() : reply.end_ns - reply.start_ns;
}

Result<EarlyVerdict> CandidateSession::verdict_of_answer(const RunnerAnswer& answer, RunnerStep step) {
  if (stop_.stop_requested()) return Error{ErrorCode::Cancelled, "the evaluation was cancelled"};
  if (const auto* death = std::get_if<RunnerDeath>(&answer))
    return EarlyVerdict(outcome_of_death(*death, step, options_));
  const auto& reply = std::get<RunnerReply>(answer);
  build_time_left_ -= std::min(build_time_left_, reply.build_time);
  auto outcome = outcome_of_reply(reply, step);
  return outcome.correct() ? EarlyVerdict() : EarlyVerdict(std::move(outcome));
}

void CandidateSession::note_prepare_time(const RunnerReply& reply) {
  if (prepare_ns_ == 0) prepare_ns_ = reply.end_ns - reply.start_ns;
}

}  // namespace v0
}  // namespace kernelgen
