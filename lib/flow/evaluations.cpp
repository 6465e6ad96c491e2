#include "flow/evaluations.hpp"

#include "flow/guarded.hpp"
#include "flow/steps.hpp"
#include "support/sleep.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A suspicion may come from the machine: the candidate is judged again before the verdict counts.
constexpr int k_suspect_evaluations = 3;
/// A candidate may have killed the worker. After so many failures it stays without a verdict.
constexpr int k_failed_evaluations = 2;

/// The error of a run that was interrupted between two evaluations. A resumed run judges the candidate again.
Error interrupted() { return {ErrorCode::Cancelled, "interrupted between two evaluations"}; }

}  // namespace

Result<EvaluationRecord> Evaluations::evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                               const PauseCallback& on_pause, const std::stop_token& stop) {
  int suspects = 0, failures = 0;
  std::optional<Error> failure;
  auto pause = request_.busy_pauses.begin();
  while (true) {
    // One worker judges all candidates. A candidate that was being judged when the worker died is judged again
    // exclusively, so that the one that killed the worker affects no other this time.
    auto lock = failure ? device_lock_.lock_exclusive(stop) : device_lock_.lock_shared(stop);
    if (!lock) return interrupted();
    auto record = guarded<EvaluationRecord>("the benchmarker",
                                            [&] { return backends_.benchmarker.evaluate(request, progress, stop); });
    const bool overlapped = lock->overlapped();
    lock.reset();
    bool again = false;
    if (!record) {
      failure = record.error();
      // Another candidate may have been the cause where several were judged.
      if (!overlapped) ++failures;
      again = !ends_run(record.error().code) && failures < k_failed_evaluations;
    } else if (record->outcome.could_not_be_measured()) {
      if (pause == request_.busy_pauses.end()) {
        // Processes that hold memory may stay, and the candidate may need less; other work on the machine will end.
        if (!record->outcome.is_busy_machine()) return record;
        return Error{ErrorCode::Pending, "the machine is too busy to time a kernel: " + record->outcome.message};
      }
      if (on_pause) on_pause(record->outcome.detail + ": " + record->outcome.message, *pause);
      static_cast<void>(sleep_for(*pause++, stop));
      again = true;
    } else {
      again = record->outcome.kind == OutcomeKind::Suspect && ++suspects < k_suspect_evaluations;
    }
    if (!again) {
      // A record says that its candidate was judged more than once.
      if (record && failure) record->labels.push_back("second try: " + failure->to_line());
      return record;
    }
    if (stop.stop_requested()) return interrupted();
  }
}

Result<Profile> Evaluations::profile(const ProfileRequest& request, const std::stop_token& stop) {
  if (backends_.profiler == nullptr) return unavailable_profile("there is no profiler for it here");
  auto& profiler = *backends_.profiler;
  const auto take = [&] { return guarded<Profile>("the profiler", [&] { return profiler.profile(request, stop); }); };
  if (!profiler.needs_devices()) return take();
  const auto lock = device_lock_.lock_exclusive(stop);
  return lock ? take() : Result<Profile>(interrupted());
}

}  // namespace v0
}  // namespace kernelgen
