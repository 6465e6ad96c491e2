#include <utility>
#include <variant>

#include <kernelgen/compile/local_compiler.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/metrics.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/profile/report_reader.hpp>

#include "adapters.hpp"
#include "convert.hpp"
#include "device.hpp"
#include "module.hpp"

namespace kernelgen_python {

using namespace kernelgen;

namespace {

/// The JSON of a profile, and its findings.
nb::object parts_of(const Profile& profile, const std::optional<GpuFacts>& gpu) {
  nb::list findings;
  for (const auto& finding : find_bottlenecks(profile, gpu)) {
    nb::dict one;
    one["name"] = finding.name;
    one["message"] = finding.message;
    one["weight"] = finding.weight;
    findings.append(one);
  }
  return nb::make_tuple(to_json(profile), findings);
}

/// Profiles with the rights of the caller, or in the sandbox of candidates.
class Profiling final : public Work {
 public:
  Profiling(ProfileRequest request, LocalProfilerOptions options, std::string device, std::string cache_dir,
            std::shared_ptr<KernelCompiler> compiler)
      : request_(std::move(request)),
        options_(std::move(options)),
        device_(std::move(device)),
        cache_dir_(std::move(cache_dir)),
        compiler_(std::move(compiler)) {}

  Result<void> run(CallState& state) override {
    const CallOfThread here(state);
    const auto runner = make_process_runner();
    const auto target = request_.candidate ? std::optional(request_.candidate->target) : std::nullopt;
    auto gpu = choose_device(device_, target, options_.installation, *runner, state.stop_token());
    if (!gpu) return std::move(gpu).error();
    request_.gpu = *std::move(gpu);
    if (!request_.gpu) request_.counters = Counters::None;
    if (request_.gpu && platform_of(request_.gpu->vendor).counters == CounterProgram::None)
      return Error{ErrorCode::Unsupported, "there is no profiler for " + request_.gpu->name};
    if (target && is_native(*target)) {
      if (auto built = build(*runner, state.stop_token()); !built) return built;
      if (profile_.unavailable) return {};
    }
    auto profiler = make_local_profiler(options_, *runner);
    if (!profiler) return std::move(profiler).error();
    auto profile = (*profiler)->profile(request_, state.stop_token());
    if (!profile) return std::move(profile).error();
    profile_ = *std::move(profile);
    return {};
  }
  nb::object result() override { return parts_of(profile_, request_.gpu); }

 private:
  /// Sets the artifact, or the reason why there is none.
  Result<void> build(ProcessRunner& runner, const std::stop_token& stop) {
    if (compiler_ == nullptr) {
      auto made = open_compiler({.installation = options_.installation,
                                 .cache_dir = cache_dir_,
                                 .gpu = request_.gpu,
                                 .environment = options_.environment},
                                runner);
      if (!made) return std::move(made).error();
      compiler_ = *std::move(made);
    }
    auto outcome = compiler_->compile({.candidate = *request_.candidate, .extra_flags = {}}, stop);
    if (!outcome) return std::move(outcome).error();
    if (const auto* failed = std::get_if<CompileFailed>(&*outcome))
      profile_ =
          unavailable_profile("it does not compile: " + failed->outcome.to_class() + ": " + failed->outcome.message);
    else
      request_.artifact = std::get<Compiled>(*outcome).artifact.path;
    return {};
  }

  ProfileRequest request_;
  LocalProfilerOptions options_;
  std::string device_;
  std::string cache_dir_;
  std::shared_ptr<KernelCompiler> compiler_;
  Profile profile_;
};

Call start_profile(const nb::dict& from, const nb::object& compiler, const nb::object& on_done) {
  // Precision and constants have the checks of an evaluation.
  const auto evaluation = options_of(from);
  ProfileRequest request;
  request.task = task_of(require<nb::dict>(from, "task"));
  if (const auto candidate = find<nb::dict>(from, "candidate")) request.candidate = candidate_of(*candidate);
  request.precision = evaluation.precision;
  request.shrink = evaluation.shrink;
  request.counters = require<bool>(from, "counters") ? Counters::Read : Counters::None;
  request.metric_set = require<std::string>(from, "metric_set");
  if (find_metric_set(request.metric_set) == nullptr) {
    raise({ErrorCode::InvalidArgument, "option metric_set is \"" + request.metric_set +
                                           "\"; it must be brief, full or a stage such as block_tiling"});
  }
  LocalProfilerOptions options;
  options.installation = value_of(installation_of(require<std::string>(from, "prefix")));
  options.environment = clean_environment(current_environment());
  if (const auto python = require<std::string>(from, "python"); !python.empty()) options.python = python;
  assign_limit(from, "timeout", options.timeout);
  options.sandbox = require<bool>(from, "sandboxed") ? ProfilerSandbox::Required : ProfilerSandbox::None;
  auto work = std::make_unique<Profiling>(std::move(request), std::move(options), evaluation.device,
                                          require<std::string>(from, "cache_dir"),
                                          compiler.is_none() ? nullptr : compiler_of(compiler));
  return {std::make_shared<CallState>(), std::move(work), on_done};
}

nb::object read_reports(const std::vector<nb::bytes>& reports) {
  std::vector<std::string> texts;
  for (const auto& report : reports) texts.emplace_back(report.c_str(), report.size());
  auto profile = value_of(read_profile_reports(texts));
  const auto installation = installation_of("");
  const auto catalog = installation ? read_gpu_catalog(installation->devices_dir) : installation.error();
  const auto gpu = reported_gpu(profile, catalog ? *catalog : GpuCatalog{});
  if (gpu) add_derived_metrics(profile, *gpu);
  return parts_of(profile, gpu);
}

}  // namespace

void bind_profile(nb::module_& module) {
  module.def("start_profile", &start_profile, nb::arg("request"), nb::arg("compiler").none(),
             nb::arg("on_done").none());
  module.def("read_profile_reports", &read_reports, nb::arg("reports"));
}

}  // namespace kernelgen_python
