#pragma once

/// \file
/// FakeBenchmarker: a Benchmarker without a worker, for tests of code that uses one.

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/api.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// Answers evaluations from a function and records the requests. Thread-safe; calls run one at a time.
class FakeBenchmarker final : public Benchmarker {
 public:
  /// Gives the record or error of a request.
  using Answer = std::function<Result<EvaluationRecord>(const EvaluationRequest&)>;

  /// `answer` gives the record or error of each request. A thrown exception passes through.
  explicit FakeBenchmarker(Answer answer) : answer_(std::move(answer)) {}

  /// Reports `progress_steps` and answers; Cancelled if the token was triggered before.
  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    const std::scoped_lock lock(mutex_);
    requests_.push_back(request);
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    for (const auto& step : progress_steps)
      if (progress) progress(step);
    auto record = answer_(request);
    if (record) {
      record->task_name = request.task.name;
      record->candidate_id = request.candidate.id;
      record->target = request.candidate.target;
      record->language = request.candidate.language;
      record->mode = request.options.mode;
      record->precision = request.options.precision;
    }
    return record;
  }

  /// A description that has the task's name, `facts` and `reference_time`.
  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    TaskDescription description;
    description.name = task.name;
    description.content_id = task.content_id;
    description.precision = options.precision;
    description.facts = facts;
    description.reference_time = reference_time;
    return description;
  }

  /// The requests so far, oldest first.
  [[nodiscard]] std::vector<EvaluationRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

  /// Reported by every evaluation. Set before the first call.
  std::vector<EvaluationProgress> progress_steps{{"compile", ""}, {"admit", ""}, {"correctness", ""}, {"timing", ""}};

  /// The facts of every description; unknown by default.
  std::optional<TaskFacts> facts;
  /// The reference's time in every description; unknown by default.
  std::optional<ReferenceTime> reference_time;

 private:
  mutable std::mutex mutex_;
  Answer answer_;
  std::vector<EvaluationRequest> requests_;
};

}  // namespace v0
}  // namespace kernelgen
