#include <kernelgen/bench/remote_profiler.hpp>

#include <utility>

#include "bench/profiling.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

class RemoteProfiler final : public Profiler {
 public:
  RemoteProfiler(ProfilingBenchmarker& workers, EvaluationOptions options)
      : workers_(workers), options_(std::move(options)) {}

  Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) override {
    if (!request.candidate)
      return Error{ErrorCode::InvalidArgument, "a profile that is taken elsewhere needs a candidate"};
    RemoteProfileRequest asked{{request.task, *request.candidate, options_}, request.counters, request.metric_set};
    asked.what.options.precision = request.precision;
    asked.what.options.shrink = request.shrink;
    auto profile = workers_.profile(asked, std::move(stop));
    if (profile || profile.error().code != ErrorCode::Unsupported) return profile;
    return unavailable_profile("the worker takes no profiles: " + profile.error().message,
                               "install this version of kernelgen where the worker runs");
  }

  /// The worker keeps the device for it.
  [[nodiscard]] bool needs_devices() const override { return false; }

 private:
  ProfilingBenchmarker& workers_;
  const EvaluationOptions options_;
};

}  // namespace

Result<std::unique_ptr<Profiler>> make_remote_profiler(Benchmarker& benchmarker, EvaluationOptions options) {
  auto* workers = dynamic_cast<ProfilingBenchmarker*>(&benchmarker);
  if (workers == nullptr)
    return Error{ErrorCode::InvalidArgument, "a profile that is taken elsewhere needs a benchmarker with workers"};
  return std::unique_ptr<Profiler>(std::make_unique<RemoteProfiler>(*workers, std::move(options)));
}

}  // namespace v0
}  // namespace kernelgen
