#include "bench/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <kernelgen/platform/platform.hpp>

#include "bench/statistics.hpp"
#include "exec/exit_status.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

std::string_view name_of(RunnerStep step) {
  switch (step) {
    case RunnerStep::Load:
      return "loading it";
    case RunnerStep::Construct:
      return "constructing ModelNew";
    case RunnerStep::Export:
      return "exporting its weights";
    case RunnerStep::Prepare:
      return "kgen_prepare";
    case RunnerStep::Run:
      return "a call";
    case RunnerStep::Destroy:
      return "kgen_destroy";
    case RunnerStep::CompileFor:
      return "compiling it for another architecture";
  }
  return "a step";
}

/// The function of a native candidate that a step calls; empty: none.
std::string_view function_of(RunnerStep step) {
  switch (step) {
    case RunnerStep::Prepare:
      return "kgen_prepare";
    case RunnerStep::Run:
      return "kgen_run";
    case RunnerStep::Destroy:
      return "kgen_destroy";
    case RunnerStep::Load:
    case RunnerStep::Construct:
    case RunnerStep::Export:
    case RunnerStep::CompileFor:
      break;
  }
  return "";
}

/// The class of a device fault in records, from the driver's message.
std::string fault_name(std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> k_faults[] = {
      {"a kernel reported ", "reported"},
      {"illegal memory access", "illegal_address"},
      {"misaligned address", "misaligned_address"},
      {"illegal instruction", "illegal_instruction"},
      {"launch timed out", "launch_timeout"},
      {"device-side assert", "assert"},
      {"hardware stack error", "stack_overflow"},
      {"invalid program counter", "invalid_pc"},
      {"unspecified launch failure", "launch_failure"},
      {"data race", "data_race"},
      {"ECC error", "ecc"},
      // The words of ROCm's runtime; a memory error of the device's own is a reason of the second.
      {"ECC failure", "ecc"},
      {"Memory access fault by GPU", "illegal_address"},
      {"MEMORY_APERTURE_VIOLATION", "illegal_address"},
      {"MEMORY_FAULT", "illegal_address"},
      {"ILLEGAL_INSTRUCTION", "illegal_instruction"},
      {"Device-side assertion", "assert"},
      {"GPU Hang", "launch_timeout"},
      {"HSA_STATUS_ERROR_EXCEPTION", "launch_failure"}};
  for (const auto& [words, name] : k_faults)
    if (text.find(words) != text.npos) return std::string(name);
  return "other";
}

/// The resource that a message misses. Triton: "out of resource: shared memory, Required: 102400, Hardware limit:
/// 101376".
std::optional<std::string> lacking_resource(std::string_view text) {
  if (text.find("out of resource: shared memory") != text.npos) return "shared_memory";
  if (text.find("out of resource: tensor memory") != text.npos) return "tensor_memory";
  if (text.find("out of resource: threads") != text.npos) return "threads";
  if (text.find("out of resource") != text.npos || text.find("too many resources requested") != text.npos)
    return "registers";
  return std::nullopt;
}

std::string with_text(std::string message, const std::string& text) {
  if (!text.empty()) message += ": " + text;
  return message;
}

/// The reference alone differs from the interleaved one only if their ratio is above this; smaller differences are
/// drift.
constexpr double k_disturbed_ratio = 1.03;

/// An interval is wide if its ends have a larger ratio.
constexpr double k_imprecise_ratio = 1.5;

/// Outputs with at most this relative rms error were probably computed with the right weights, if imprecisely.
constexpr double k_near_truth = 0.01;

/// Errors of the clock below this share of a call are ignored.
constexpr double k_clock_share = 0.05;

/// Calls on new inputs may be slower than calls on known ones by this ratio, because they miss caches; and so much more
/// as the reference's are.
constexpr double k_memory_ratio = 1.1;
/// Calls on new inputs must rank above the others by so many deviations, which chance does once in 700 measurements.
constexpr double k_memory_deviations = 3;

/// A driver may take this long between the end of a stream and the end of all work.
constexpr double k_off_stream_ns = 30e3;
/// A call that takes less than this share of the memory's time cannot have read its inputs.
constexpr double k_bandwidth_share = 0.9;

/// The overhead that is allowed for a series is that of this share of the rehearsals. A series that takes longer counts
/// as longer, which is little for each call and moves no median.
constexpr double k_rehearsal_share = 0.8;
/// For single calls it exceeds the largest of the rehearsals by this share of their range: rehearsals are few.
constexpr double k_rehearsal_margin = 0.25;
/// What a false clock may hide in each call: this share of it, or this time, whichever is larger.
constexpr double k_hidden_share = 0.05;
constexpr double k_hidden_ns = 1e3;
/// A short series may be off by this share of a call's time, beside what a false clock hides.
constexpr double k_series_error = 0.01;

/// On an idle machine of two cores the reference waited for a processor in 1 to 4 % of its time. With one busy process
/// it was 22 to 46 %, and scores were off by a third to a factor of five.
constexpr double k_max_contention = 0.15;

/// A reference that is slower beside the candidate by no more than this factor is discounted. Its caches are shared,
/// and so is the machine with what else runs there: 1.06 was seen beside an honest kernel.
constexpr double k_most_discounted = 1.15;

constexpr std::string_view k_disturbed = "reference disturbed";
/// The same in records of earlier versions.
constexpr std::string_view k_former_disturbed = "baseline disturbed";

}  // namespace

Outcome outcome_of_build_timeout(std::string_view what, std::chrono::milliseconds limit) {
  return {OutcomeKind::Timeout, std::string(k_build_timeout),
          fmt::format("the compilers that it started in {} did not end within the {:.1f} s that building may take, or "
                      "used no processor for longer than a call may take",
                      what, std::chrono::duration<double>(limit).count())};
}

Outcome outcome_of_death(const RunnerDeath& death, RunnerStep step, const EvaluationOptions& options) {
  if (death.timed_out && death.was_building) return outcome_of_build_timeout(name_of(step), options.build_timeout);
  if (death.timed_out)
    return {OutcomeKind::Timeout, "",
            fmt::format("{} did not end within {:.1f} s", name_of(step),
                        std::chrono::duration<double>(options.call_timeout).count())};
  if (death.left_processes)
    return {OutcomeKind::Cheat, "process", "processes that it had started were still there after a call"};
  if (death.has_foreign_memory)
    return {OutcomeKind::Cheat, "memory", death.text + "; outputs must lie in memory that its process has to itself"};
  if (death.has_device_fault)
    return {OutcomeKind::DeviceFault, fault_name(death.text),
            with_text(fmt::format("the device stopped it in {}", name_of(step)), death.text)};
  if (death.allocation_failed)
    return {OutcomeKind::OutOfMemory, "",
            with_text(fmt::format("it ran out of memory in {}", name_of(step)), death.text)};
  if (death.signal == SIGSYS)
    return {
        OutcomeKind::Cheat, "process",
        fmt::format("it started a process in {}; only a Python candidate may, and no later than in its first call on "
                    "each set of weights, in which torch.compile compiles",
                    name_of(step))};
  const auto end = death.signal      ? ExitStatus{{}, death.signal}.to_line()
                   : death.exit_code ? fmt::format("exit {}", *death.exit_code)
                                     : std::string("connection closed");
  return {OutcomeKind::Crash, end,
          with_text(fmt::format("its process ended in {} ({})", name_of(step), end), death.text)};
}

Outcome outcome_of_reply(const RunnerReply& reply, RunnerStep step) {
  const auto said = [&](OutcomeKind kind, std::string detail = "") {
    return Outcome{kind, std::move(detail), with_text(fmt::format("{} failed", name_of(step)), reply.text)};
  };
  switch (reply.status) {
    case RunnerStatus::Ok:
      return {OutcomeKind::Correct, "", ""};
    case RunnerStatus::Syntax:
      return said(OutcomeKind::Syntax);
    case RunnerStatus::Import:
      return said(OutcomeKind::Import);
    case RunnerStatus::Interface:
      return said(OutcomeKind::Interface);
    case RunnerStatus::Failed:
      if (reply.returned == 0 || function_of(step).empty()) return said(OutcomeKind::Launch, "error");
      return {OutcomeKind::Launch, "error",
              with_text(fmt::format("the candidate's {} returned the error {}", function_of(step), reply.returned),
                        reply.text)};
    case RunnerStatus::Exception:
      if (const auto resource = lacking_resource(reply.text)) return said(OutcomeKind::Resource, *resource);
      // Of what fails in its own passes, Triton's exception says no more than that.
      for (const std::string_view words : {"CompilationError", "PassManager::run failed"})
        if (reply.text.find(words) != std::string::npos) return said(OutcomeKind::Compile, "triton");
      return said(OutcomeKind::Launch, "exception");
    case RunnerStatus::OutOfMemory:
      return said(OutcomeKind::OutOfMemory);
    case RunnerStatus::Structure:
      return said(OutcomeKind::Accuracy, "structure");
    case RunnerStatus::Workspace:
      return said(OutcomeKind::Resource, "workspace");
    case RunnerStatus::DeviceFault:
      return said(OutcomeKind::DeviceFault, fault_name(reply.text));
    case RunnerStatus::NotCapturable:
      return said(OutcomeKind::Launch, "not_capturable");
    case RunnerStatus::Protocol:
      break;
  }
  return {OutcomeKind::Cheat, "protocol", with_text("its process sent records that no runner sends", reply.text)};
}

Outcome classify_repeats(Outcome failure, const std::vector<bool>& right) {
  const auto changes = std::count_if(right.begin() + (right.empty() ? 0 : 1), right.end(),
                                     [previous = right.empty() || right.front()](bool now) mutable {
                                       const bool changed = now != previous;
                                       previous = now;
                                       return changed;
                                     });
  if (changes == 0) return failure;
  const auto wrong = std::count(right.begin(), right.end(), false);
  if (changes == 1) {
    failure.message += right.front() ? "; right on the first call, wrong on a later one with the same inputs"
                                     : "; wrong on the first call, right on a later one with the same inputs";
    return failure;
  }
  if (changes == 2) {
    failure.message += fmt::format(
        "; {} of {} calls with the same inputs were wrong, one after the other: state that "
        "one call leaves to the next, or a rare race",
        wrong, right.size());
    return failure;
  }
  return {OutcomeKind::Race, "",
          fmt::format("{} of {} calls with the same inputs were wrong, in no order: {}", wrong, right.size(),
                      failure.message)};
}

namespace {

bool has_failed(const CaseResult& result) { return !result.outcome.correct(); }

/// True if what was wrong in a call was near the truth, where that is known.
bool is_near_truth(const CaseResult& result) {
  bool near = false;
  for (const auto& output : result.outputs) {
    if (output.max_error_ratio <= 1 && !output.rms_error_vs_float64) continue;
    if (output.rms_error_vs_float64.value_or(1.0) > k_near_truth) return false;
    near = true;
  }
  return near;
}

}  // namespace

Outcome explain_by_weights(Outcome verdict, const std::optional<WeightReport>& weights,
                           std::span<const CaseResult> cases) {
  const bool differs =
      verdict.kind == OutcomeKind::Accuracy && (verdict.detail == "mismatch" || verdict.detail == "nan");
  if (!differs || !weights || weights->unmapped.empty()) return verdict;
  const auto failed = std::find_if(cases.begin(), cases.end(), has_failed);
  // Right under every weight set, and wrong in a later call.
  if (!cases.empty() && failed == cases.end()) return verdict;
  const bool near = failed != cases.end() && is_near_truth(*failed);
  return {
      OutcomeKind::WeightSync, "",
      fmt::format("{} of the reference's tensors are not in ModelNew under the same seed: {}; and {}{}",
                  weights->unmapped.size(), fmt::join(weights->unmapped, ", "), verdict.message,
                  near ? "; as a whole its outputs are near, so these weights may be there in another form (folded, "
                         "rounded), which is allowed, and too little precision be the reason"
                       : "")};
}

std::optional<std::string> imprecision_label(const Ratio& speedup, std::size_t pairs) {
  if (speedup.high <= k_imprecise_ratio * speedup.low) return std::nullopt;
  return fmt::format(
      "imprecise time: the speed-up of {:.3g} may be anything from {:.3g} to {:.3g} (pairs of times: {}); a longer "
      "limit of all timed calls, or a quieter machine, narrows that",
      speedup.value, speedup.low, speedup.high, pairs);
}

Outcome withdraw_unreliable_verdict(Outcome verdict, const std::vector<std::string>& labels) {
  const bool differs = verdict.kind == OutcomeKind::WeightSync ||
                       ((verdict.kind == OutcomeKind::Accuracy || verdict.kind == OutcomeKind::OffDistribution) &&
                        verdict.detail == "mismatch");
  if (!differs) return verdict;
  const auto label = std::find_if(labels.begin(), labels.end(), [](const std::string& one) {
    return one.starts_with("stochastic:") || one.starts_with("nondeterministic:") ||
           one.starts_with("ill-conditioned:");
  });
  if (label == labels.end()) return verdict;
  return {
      OutcomeKind::NotScored, "",
      fmt::format("the task cannot tell right from wrong ({}), so this is no verdict: {}", *label, verdict.message)};
}

Outcome verdict_of_cases(const std::vector<CaseResult>& cases) {
  const auto own = std::find_if(cases.begin(), cases.end(), [](const CaseResult& result) {
    return has_failed(result) && (result.distribution == "own" || result.outcome.kind != OutcomeKind::Accuracy);
  });
  if (own != cases.end()) return own->outcome;
  const auto off = std::find_if(cases.begin(), cases.end(), has_failed);
  if (off == cases.end()) return {OutcomeKind::Correct, "", ""};
  return {OutcomeKind::OffDistribution, off->outcome.detail,
          fmt::format("right on the task's own inputs, wrong on inputs changed by \"{}\": {}", off->distribution,
                      off->outcome.message)};
}

std::optional<Outcome> check_plausibility_of_device_time(const TimingReport& timing) {
  const double off_stream_ns = median(timing.off_stream_ns);
  const double call_ns = median(timing.candidate_ns);
  if (off_stream_ns > std::max(k_off_stream_ns, k_clock_share * call_ns))
    return Outcome{OutcomeKind::Cheat, "side_stream",
                   fmt::format("work on other streams continued for {:.0f} us after the timed stream had finished",
                               off_stream_ns / 1e3)};
  const auto floor = timing.memory_floor.value_or(MemoryFloor{});
  if (floor.bytes_per_second <= 0) return std::nullopt;
  const double least_ns = k_bandwidth_share * floor.bytes() / floor.bytes_per_second * 1e9;
  const double replay_ns = timing.candidate_graph_ns.empty() ? call_ns : median(timing.candidate_graph_ns);
  const double fastest_ns = std::min(call_ns, replay_ns);
  if (fastest_ns >= least_ns) return std::nullopt;
  return Outcome{OutcomeKind::Suspect, "faster than memory",
                 fmt::format("its call takes {:.1f} us, less than the {:.1f} us that reading and writing the {:.3g} GB "
                             "of a right kernel takes "
                             "at the device's bandwidth",
                             fastest_ns / 1e3, floor.bytes() / floor.bytes_per_second * 1e6, floor.bytes() / 1e9)};
}

bool is_disturbance(const Outcome& outcome) {
  return outcome.could_not_be_measured() || (outcome.kind == OutcomeKind::Suspect &&
                                             (outcome.detail == k_disturbed || outcome.detail == k_former_disturbed));
}

bool is_busy_device(const TimingReport& timing) { return timing.device_contention.value_or(0) > k_max_contention; }

bool is_disturbance_of_device(const Outcome& outcome, const std::optional<TimingReport>& timing) {
  if (outcome.kind != OutcomeKind::Suspect) return false;
  return outcome.detail == k_memory_in_use || (outcome.detail == k_busy_machine && timing && is_busy_device(*timing));
}

bool is_reference_disturbed(const std::vector<std::int64_t>& alone_ns,
                            const std::vector<std::int64_t>& interleaved_ns) {
  if (alone_ns.empty() || interleaved_ns.empty()) return false;
  return median(interleaved_ns) > k_disturbed_ratio * median(alone_ns) &&
         median_interval(interleaved_ns).low > k_disturbed_ratio * median_interval(alone_ns).high;
}

double slowdown_beside_candidate(const TimingReport& timing) {
  const auto& before = timing.reference_alone_before_ns;
  const auto& after = timing.reference_alone_after_ns;
  if (!is_reference_disturbed(before, timing.reference_ns)) return 1;
  if (after.empty()) return median(timing.reference_ns) / median(before);
  if (!is_reference_disturbed(after, timing.reference_ns)) return 1;
  return median(timing.reference_ns) / std::min(median(before), median(after));
}

namespace {

/// Checks for a candidate that caches answers: it is fast on inputs that it has mostly seen, and slow on new ones.
std::optional<Outcome> check_plausibility_of_known_inputs(const TimingReport& timing) {
  std::vector<std::int64_t> fresh, known, reference_fresh, reference_known;
  for (std::size_t i = 0; i < timing.fresh.size(); ++i) {
    (timing.fresh[i] != 0 ? fresh : known).push_back(timing.candidate_ns[i]);
    (timing.fresh[i] != 0 ? reference_fresh : reference_known).push_back(timing.reference_ns[i]);
  }
  if (rank_sum_deviations(fresh, known) <= k_memory_deviations) return std::nullopt;
  const double same_for_both = std::max(1.0, median(reference_fresh) / median(reference_known));
  if (median(fresh) <= k_memory_ratio * same_for_both * median(known)) return std::nullopt;
  return Outcome{OutcomeKind::Suspect, "remembers inputs",
                 fmt::format("it took {:.3f} ms for new inputs and {:.3f} ms for inputs of which it had seen most",
                             median(fresh) / 1e6, median(known) / 1e6)};
}

}  // namespace

std::int64_t ClockAllowance::least_ns(std::int64_t host_ns, int calls) const {
  return std::max<std::int64_t>(host_ns - static_cast<std::int64_t>(overhead_ns + (calls - 1) * per_call_ns), 1);
}

std::int64_t ClockAllowance::least_separate_ns(std::int64_t host_ns) const {
  const auto host = static_cast<double>(host_ns);
  const auto next = std::find_if(separate.begin(), separate.end(),
                                 [&](const SeparateCall& one) { return host < one.call_ns + one.overhead_ns; });
  // The first of them takes no time.
  if (next == separate.begin()) return 1;
  const auto& from = *std::prev(next);
  double call_ns = host - from.overhead_ns;
  if (next != separate.end()) {
    // The overhead changes evenly from one of them to the next.
    const double rise = (next->overhead_ns - from.overhead_ns) / (next->call_ns - from.call_ns);
    call_ns = from.call_ns + (call_ns - from.call_ns) / (1 + std::max(rise, 0.0));
  }
  return std::max<std::int64_t>(std::llround(call_ns), 1);
}

double ClockAllowance::looseness_of(double call_ns, int calls) const {
  // Code of the candidate's could do without what the runner does after each further call.
  const double further_ns = per_call_ns * (calls - 1);
  return call_ns > 0 ? (looseness_ns + further_ns) / calls / call_ns : 0;
}

ClockAllowance ClockAllowance::on_idle_machine() const {
  auto idle = *this;
  idle.looseness_ns = std::min(looseness_ns, idle_looseness_ns);
  return idle;
}

namespace {

/// An overhead that honest calls seldom exceed, from those of single calls. Requires: there is one.
double allowed_overhead(std::vector<std::int64_t> single, bool in_series) {
  std::sort(single.begin(), single.end());
  const auto low = static_cast<double>(single.front());
  const auto high = static_cast<double>(single.back());
  const auto at = static_cast<std::size_t>(std::lround(k_rehearsal_share * static_cast<double>(single.size() - 1)));
  return in_series ? static_cast<double>(single[at]) : high + k_rehearsal_margin * (high - low);
}

}  // namespace

ClockAllowance clock_allowance_from(const std::vector<Rehearsal>& rehearsals, bool in_series) {
  std::vector<std::int64_t> single, longer, idle;
  std::map<std::int64_t, std::vector<std::int64_t>> separate;
  int most = 1;
  for (const auto& rehearsal : rehearsals) {
    if (rehearsal.calls == 1) separate[rehearsal.call_ns].push_back(rehearsal.overhead_ns);
    if (rehearsal.call_ns > 0) continue;
    (rehearsal.calls == 1 ? single : longer).push_back(rehearsal.overhead_ns);
    most = std::max(most, rehearsal.calls);
  }
  if (single.empty()) return {};
  ClockAllowance allowance;
  const auto least = *std::min_element(single.begin(), single.end());
  const auto low = static_cast<double>(least);
  // What was waited may have been before or after the overhead, so no more is taken off than makes it the least one.
  for (const auto& rehearsal : rehearsals)
    if (rehearsal.calls == 1 && rehearsal.call_ns == 0)
      idle.push_back(std::max(rehearsal.overhead_ns - rehearsal.waited_ns, least));
  // Of both the fastest, because what delays them is not part of a call.
  if (!longer.empty()) {
    const double further = static_cast<double>(*std::min_element(longer.begin(), longer.end())) - low;
    allowance.per_call_ns = std::max(further, 0.0) / (most - 1);
  }
  allowance.overhead_ns = allowed_overhead(single, in_series);
  allowance.looseness_ns = allowance.overhead_ns - low;
  allowance.idle_looseness_ns = allowed_overhead(idle, in_series) - low;
  if (!in_series) return allowance;
  for (auto& [call_ns, overheads] : separate)
    allowance.separate.push_back({static_cast<double>(call_ns), allowed_overhead(std::move(overheads), false)});
  return allowance;
}

int calls_of_series(const ClockAllowance& allowance, double call_ns, int most) {
  const double hidden_ns = std::max(k_hidden_share * call_ns, k_hidden_ns);
  int calls = 1;
  while (calls < most && allowance.looseness_ns > hidden_ns * calls) calls *= 2;
  return std::min(calls, most);
}

double ReplayedRehearsal::looseness_ns() const {
  const auto [low, high] = std::minmax_element(overheads_ns.begin(), overheads_ns.end());
  return static_cast<double>(*high - *low) / calls;
}

const ReplayedRehearsal& choose_replayed_series(const std::vector<ReplayedRehearsal>& rehearsals, double call_ns,
                                                double cached_ns) {
  const auto found = std::find_if(rehearsals.begin(), rehearsals.end(), [&](const ReplayedRehearsal& one) {
    return one.looseness_ns() + cached_ns <= k_series_error * call_ns;
  });
  return found == rehearsals.end() ? rehearsals.back() : *found;
}

double less_what_may_be_hidden(double call_ns) {
  return std::max(call_ns - std::max(k_hidden_share * call_ns, k_hidden_ns), 0.0);
}

std::string busy_message(std::optional<double> contention) {
  if (!contention || *contention <= k_max_contention) return "";
  return fmt::format(
      "other work kept the reference waiting for a processor in {:.0f} % of its time; repeat it when "
      "the machine is idle",
      100 * *contention);
}

std::optional<Outcome> check_plausibility_of_timing(const TimingReport& timing) {
  // This check comes first because a busy machine explains the findings of the others.
  if (auto busy = busy_message(timing.contention); !busy.empty())
    return Outcome{OutcomeKind::Suspect, std::string(k_busy_machine), std::move(busy)};
  if (is_busy_device(timing))
    return Outcome{OutcomeKind::Suspect, std::string(k_busy_machine),
                   fmt::format("other processes delayed {:.0f} % of the probes of the device; "
                               "repeat it when they have ended ({} lists them), or on another device",
                               100 * *timing.device_contention, process_programs())};
  for (std::size_t i = 0; i < timing.host_ns.size(); ++i)
    if (timing.host_ns[i] < timing.candidate_ns[i])
      return Outcome{OutcomeKind::Suspect, "clock", "the runner reported more time than the worker measured"};
  if (auto doubtful = check_plausibility_of_known_inputs(timing)) return doubtful;
  if (slowdown_beside_candidate(timing) > k_most_discounted)
    return Outcome{OutcomeKind::Suspect, std::string(k_disturbed),
                   fmt::format("the reference took {:.3f} ms beside the candidate and {:.3f} ms without it",
                               median(timing.reference_ns) / 1e6, median(timing.reference_alone_before_ns) / 1e6)};
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
