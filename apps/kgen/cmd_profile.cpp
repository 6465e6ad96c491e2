#include <filesystem>
#include <optional>
#include <ostream>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/metrics.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/profile/report_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "option_hints.hpp"
#include "render_profile.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_max_report_bytes = 256u << 20;
constexpr double k_default_timeout_s = 180;

struct ProfileOptions {
  std::string code;
  std::string problem;
  std::optional<Target> target;
  std::string set = "brief";
  PrecisionClass precision = PrecisionClass::Strict;
  std::string device;
  std::string cache_dir;
  std::string python;
  std::vector<std::string> shrink;
  std::vector<std::string> reports;
  double timeout_seconds = k_default_timeout_s;
  bool timeline = false;
  bool json = false;
};

Result<std::optional<Candidate>> read_candidate(const ProfileOptions& options) {
  if (options.code.empty()) return std::optional<Candidate>();
  KERNELGEN_TRY(auto source, read_code("--code", options.code));
  KERNELGEN_TRY(const auto target, choose_target(options.target, options.code, source));
  return std::optional(make_candidate(target, guess_language(options.code, target), std::move(source)));
}

/// The GPU to profile on; nothing for the CPU.
Result<std::optional<GpuFacts>> choose_device(const ProfileOptions& options, const std::optional<Candidate>& candidate,
                                              const Installation& installation, Context& context) {
  const bool needs_gpu = candidate && candidate->target != Target::Cpp && candidate->target != Target::Torch;
  if (options.device == "cpu" || (candidate && candidate->target == Target::Cpp)) {
    if (needs_gpu) return Error{ErrorCode::InvalidArgument, "this candidate runs on a GPU, not on the CPU"};
    if (!options.timeline)
      return Error{ErrorCode::InvalidArgument, "the CPU has no counters; --timeline shows where its time goes"};
    return std::optional<GpuFacts>();
  }
  KERNELGEN_TRY(const auto catalog, read_gpu_catalog(installation.devices_dir));
  KERNELGEN_TRY(
      const auto reading,
      read_gpus({.program = installation.gpu_probe, .environment = context.environment.clean, .cache_dir = {}}, catalog,
                context.processes, context.stop));
  const auto vendor = candidate ? traits_of(candidate->target).gpu_vendor : "";
  auto gpu = choose_gpu(gpus_for(reading, vendor), catalog, options.device);
  if (gpu && platform_of(gpu->vendor).counters != CounterProgram::None) return std::optional(*std::move(gpu));
  if (gpu) return Error{ErrorCode::Unsupported, "there is no profiler for " + gpu->name};
  const bool may_be_cpu = options.device.empty() && !needs_gpu && gpu.error().code == ErrorCode::MissingDevice;
  if (may_be_cpu && options.timeline) return std::optional<GpuFacts>();
  auto error = std::move(gpu).error();
  if (may_be_cpu) error.message += "; --timeline shows where the time goes on the CPU";
  return error;
}

/// Builds a native candidate and returns the path of its shared object.
Result<std::string> compile(const Candidate& candidate, const std::optional<GpuFacts>& gpu,
                            const std::string& cache_dir, const Installation& installation, Context& context) {
  KERNELGEN_TRY(const auto compiler, make_local_compiler(gpu, cache_dir, installation, context));
  KERNELGEN_TRY(const auto outcome, compiler->compile({.candidate = candidate, .extra_flags = {}}, context.stop));
  if (const auto* done = std::get_if<Compiled>(&outcome)) return done->artifact.path;
  const auto& why = std::get<CompileFailed>(outcome).outcome;
  return Error{ErrorCode::InvalidArgument, "it does not compile: " + why.to_class() + ": " + why.message};
}

Result<ProfileRequest> make_request(const ProfileOptions& options, Context& context) {
  ProfileRequest request;
  EvaluationFlags flags;
  flags.options.precision = options.precision;
  flags.shrink = options.shrink;
  KERNELGEN_TRY(const auto evaluation, evaluation_options(flags));
  request.precision = evaluation.precision;
  request.shrink = evaluation.shrink;
  KERNELGEN_TRY(request.task, read_problem(options.problem, context.environment));
  KERNELGEN_TRY(request.candidate, read_candidate(options));
  request.counters = options.timeline ? Counters::None : Counters::Read;
  request.metric_set = options.set;
  return request;
}

Result<ExitCode> show(const Profile& profile, const std::optional<GpuFacts>& gpu, const ProfileOptions& options,
                      Context& context) {
  const auto findings = find_bottlenecks(profile, gpu);
  const auto& terminal = context.out_terminal;
  if (options.json)
    context.out << profile_to_json(profile, findings);
  else if (!profile.unavailable)
    context.out << render_profile(profile, findings,
                                  {.width = terminal.interactive ? terminal.width : 0, .color = terminal.color});
  const auto report = [&](const std::string& what, const ProfileUnavailable& why) {
    context.err << "kgen: " << what << ": " << why.reason << (why.remedy.empty() ? "" : "; ")
                << add_option_hints(why.remedy) << '\n';
  };
  if (profile.unavailable) {
    report("it cannot be profiled", *profile.unavailable);
    return ExitCode::NotCorrect;
  }
  if (!profile.no_counters) return ExitCode::Success;
  report("no counters", *profile.no_counters);
  return ExitCode::MachineLacks;
}

/// Shows the profile that another profiler wrote, on this machine or on another one.
Result<ExitCode> read_reports(const ProfileOptions& options, Context& context) {
  std::vector<std::string> texts;
  for (const auto& path : options.reports) {
    KERNELGEN_TRY(auto text, read_file(path, k_max_report_bytes).context("--report"));
    texts.push_back(std::move(text));
  }
  KERNELGEN_TRY(auto profile, read_profile_reports(texts));
  const auto installation = context.find_installation();
  const auto catalog = installation ? read_gpu_catalog(installation->devices_dir) : installation.error();
  const auto gpu = reported_gpu(profile, catalog ? *catalog : GpuCatalog{});
  if (gpu) add_derived_metrics(profile, *gpu);
  return show(profile, gpu, options, context);
}

Result<ExitCode> run(const ProfileOptions& options, Context& context) {
  if (!options.reports.empty()) return read_reports(options, context);
  if (options.problem.empty()) return Error{ErrorCode::InvalidArgument, "--problem is needed: the task to profile"};
  KERNELGEN_TRY(auto request, make_request(options, context));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto gpu, choose_device(options, request.candidate, installation, context));
  request.gpu = gpu;
  KERNELGEN_TRY(const auto made,
                make_profiler(options.python, to_milliseconds(options.timeout_seconds), installation, context));
  if (request.candidate && is_native(request.candidate->target)) {
    KERNELGEN_TRY(request.artifact, compile(*request.candidate, gpu, options.cache_dir, installation, context));
  }
  KERNELGEN_TRY(const auto profile, made->profile(request, context.stop));
  return show(profile, gpu, options, context);
}

std::vector<Option> describe_options(ProfileOptions& options, const Environment& environment) {
  auto problem = task_option(options.problem);
  problem.excludes = {"--report"};
  return {{.name = "--code",
           .value_name = "FILE",
           .help = "The kernel: a source file; without it, the task's own module",
           .value = values::file(options.code),
           .excludes = {"--report"}},
          std::move(problem),
          {.name = "--report",
           .value_name = "FILE",
           .help = "Profile nothing; read what ncu, rocprof, rocprofv2 or rocprofv3 wrote. Once for each pass",
           .value = values::files(options.reports),
           .is_repeatable = true},
          {.name = "--target",
           .value_name = "NAME",
           .help = "As for eval; guessed from the file when not given",
           .value = target_value(options.target),
           .task_file = TaskFileRule::Allowed},
          {.name = "--set",
           .value_name = "SET",
           .help = "Which counters: brief, full, or a stage such as block_tiling",
           .value = values::text(options.set),
           .excludes = {"--timeline"}},
          {.name = "--timeline",
           .help = "Kernels and times only: no counters, no ncu or rocprofv3",
           .value = values::flag(options.timeline)},
          {.name = "--device",
           .value_name = "NAME",
           .help = "cpu, or a GPU by index (0, amd:0), UUID or name; default: the first GPU",
           .value = values::text(options.device),
           .is_shared = true},
          precision_option(options.precision),
          shrink_option(options.shrink, "Replace a constant of the task file; may be repeated"),
          {.name = "--timeout",
           .value_name = "S",
           .help = "Limit of each of its runs, in seconds",
           .value = values::seconds(options.timeout_seconds, 1),
           .task_file = TaskFileRule::Allowed},
          python_option(options.python, environment),
          cache_dir_option(options.cache_dir, "Compiled kernels; XDG_CACHE_HOME/kernelgen"),
          {.name = "--json", .help = "Print the profile as JSON", .value = values::flag(options.json)}};
}

}  // namespace

Command make_profile_command(Context& context) {
  const auto options = std::make_shared<ProfileOptions>();
  return {.name = "profile",
          .summary = "Where the time of a kernel goes, and what it waits for",
          .options = describe_options(*options, context.environment),
          .run = [options, &context] { return run(*options, context); },
          .task_option = "--problem"};
}

}  // namespace kernelgen::cli
