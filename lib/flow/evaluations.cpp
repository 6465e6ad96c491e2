#include "flow/evaluations.hpp"

#include <condition_variable>
#include <mutex>

#include <fmt/format.h>

#include "flow/guarded.hpp"
#include "flow/steps.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// A suspicion may come from the machine; it is asked again before a model is blamed.
constexpr int k_suspect_evaluations = 3;
/// A candidate may have taken the worker down with it; the second time it stays unjudged.
constexpr int k_failed_evaluations = 2;

/// Ends early when everything has to stop.
void sleep(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any nobody;
  nobody.wait_for(lock, stop, duration, [&] { return stop.stop_requested(); });
}

/// A resumed run judges it anew.
Error interrupted() { return {ErrorCode::Cancelled, "interrupted between two evaluations"}; }

}  // namespace

Result<EvaluationRecord> Evaluations::evaluate(const Candidate& candidate, const ProgressCallback& progress,
                                               const std::stop_token& stop) {
  int suspects = 0, failures = 0;
  bool failed = false;
  auto pause = request_.busy_pauses.begin();
  while (true) {
    // One worker judges all. Who was with it when it died is asked about alone, so that the guilty harms nobody again.
    auto turn = failed ? turns_.alone(stop) : turns_.beside(stop);
    if (!turn) return interrupted();
    auto record = guarded<EvaluationRecord>("the benchmarker", [&] {
      return backends_.benchmarker.evaluate({request_.task, candidate, request_.evaluation}, progress, stop);
    });
    const bool had_company = turn->had_company();
    turn.reset();
    bool again = false;
    if (!record) {
      failed = true;
      // Beside others it may have been one of them.
      if (!had_company) ++failures;
      again = !ends_run(record.error().code) && failures < k_failed_evaluations;
    } else if (record->outcome.is_busy_machine()) {
      if (pause == request_.busy_pauses.end())
        return Error{ErrorCode::Pending, "the machine is too busy to time a kernel: " + record->outcome.message +
                                             "; the same command goes on from here"};
      progress({std::string(k_pause_phase),
                fmt::format("{:.0f} s; {}", std::chrono::duration<double>(*pause).count(), record->outcome.message)});
      sleep(*pause++, stop);
      again = true;
    } else {
      again = record->outcome.kind == OutcomeKind::Suspect && ++suspects < k_suspect_evaluations;
    }
    if (!again) return record;
    if (stop.stop_requested()) return interrupted();
  }
}

Result<Profile> Evaluations::profile(const ProfileRequest& request, const std::stop_token& stop) {
  if (backends_.profiler == nullptr) return unavailable_profile("there is no profiler for it here");
  const auto turn = turns_.alone(stop);
  if (!turn) return interrupted();
  return guarded<Profile>("the profiler", [&] { return backends_.profiler->profile(request, stop); });
}

}  // namespace v0
}  // namespace kernelgen
