// A custom Benchmarker: this one wraps another one and caches its records.

#include <iostream>
#include <map>
#include <mutex>

#include <kernelgen/bench/fake_benchmarker.hpp>

using namespace kernelgen;

/// Caches records by task and candidate. Errors are not cached: the next call may work.
class RememberingBenchmarker final : public Benchmarker {
 public:
  explicit RememberingBenchmarker(Benchmarker& inner) : inner_(inner) {}

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    const std::scoped_lock lock(mutex_);
    const auto key = request.task.content_id + request.candidate.id;
    if (const auto known = records_.find(key); known != records_.end()) return known->second;
    auto record = inner_.evaluate(request, progress, std::move(stop));
    if (record) records_.emplace(key, *record);
    return record;
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    return inner_.describe(task, options, std::move(stop));
  }

 private:
  Benchmarker& inner_;
  std::mutex mutex_;
  std::map<std::string, EvaluationRecord> records_;
};

int main() {
  FakeBenchmarker inner([](const EvaluationRequest&) { return EvaluationRecord{}; });
  RememberingBenchmarker benchmarker(inner);
  EvaluationRequest request;
  request.candidate = make_candidate(Target::Cpp, "// the same kernel");
  for (int round = 0; round < 3; ++round) {
    const auto record = benchmarker.evaluate(request, {}, {});
    if (!record) {
      std::cerr << record.error().to_line() << '\n';
      return 1;
    }
    std::cout << record->outcome.to_class() << '\n';
  }
  std::cout << "asked " << inner.requests().size() << " time(s)\n";
  return inner.requests().size() == 1 ? 0 : 1;
}
