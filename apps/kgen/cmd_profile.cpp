#include <filesystem>
#include <optional>
#include <ostream>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/profile/findings.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/profile/report_reader.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "profiling.hpp"
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
  std::string target;
  std::string set = "brief";
  std::string precision{to_string(PrecisionClass::Strict)};
  std::string device;
  std::string cache_dir;
  std::vector<std::string> shrink;
  std::vector<std::string> reports;
  double timeout_seconds = k_default_timeout_s;
  bool timeline = false;
  bool json = false;
};

Result<std::optional<Candidate>> read_candidate(const ProfileOptions& options) {
  if (options.code.empty()) return std::optional<Candidate>();
  KERNELGEN_TRY(auto source, read_file(options.code, k_max_source_bytes));
  KERNELGEN_TRY(const auto target, choose_built_target(options.target, options.code, source));
  return std::optional(make_candidate(target, std::move(source)));
}

/// Nothing is the CPU.
Result<std::optional<GpuFacts>> choose_device(const ProfileOptions& options, const std::optional<Candidate>& candidate,
                                              const Installation& installation, Context& context) {
  const bool needs_gpu = candidate && (candidate->target == Target::Cuda || candidate->target == Target::Triton);
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
  auto gpu = choose_gpu(reading, catalog, options.device);
  if (gpu && gpu->vendor == "nvidia") return std::optional(*std::move(gpu));
  if (gpu) return Error{ErrorCode::Unsupported, gpu->name + " is no NVIDIA GPU; there is no profiler for it yet"};
  const bool may_be_cpu = options.device.empty() && !needs_gpu && gpu.error().code == ErrorCode::MissingDevice;
  if (may_be_cpu && options.timeline) return std::optional<GpuFacts>();
  auto error = std::move(gpu).error();
  if (may_be_cpu) error.message += "; --timeline shows where the time goes on the CPU";
  return error;
}

/// The shared object of a native candidate.
Result<std::string> compile(const Candidate& candidate, const std::optional<GpuFacts>& gpu,
                            const std::string& cache_dir, const Installation& installation, Context& context) {
  KERNELGEN_TRY(const auto compiler, make_profile_compiler(gpu, cache_dir, installation, context));
  KERNELGEN_TRY(const auto outcome, compiler->compile({.candidate = candidate, .extra_flags = {}}, context.stop));
  if (const auto* done = std::get_if<Compiled>(&outcome)) return done->artifact.path;
  const auto& why = std::get<CompileFailed>(outcome).outcome;
  return Error{ErrorCode::InvalidArgument, "it does not compile: " + why.to_class() + ": " + why.message};
}

Result<ProfileRequest> make_request(const ProfileOptions& options, Context& context) {
  ProfileRequest request;
  const EvaluationFlags flags{.precision = options.precision, .shrink = options.shrink};
  KERNELGEN_TRY(const auto evaluation, evaluation_options(flags));
  request.precision = evaluation.precision;
  request.shrink = evaluation.shrink;
  KERNELGEN_TRY(request.task,
                load_task_source(options.problem, {.kernelbench_dir = context.environment.kernelbench_dir}));
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
  const auto tell = [&](const std::string& what, const ProfileUnavailable& why) {
    context.err << "kgen: " << what << ": " << why.reason << (why.remedy.empty() ? "" : "; ") << why.remedy << '\n';
  };
  if (profile.unavailable) {
    tell("it cannot be profiled", *profile.unavailable);
    return ExitCode::NotCorrect;
  }
  if (!profile.no_counters) return ExitCode::Success;
  tell("no counters", *profile.no_counters);
  return ExitCode::MachineLacks;
}

/// What another profiler wrote, on this machine or elsewhere.
Result<ExitCode> read_reports(const ProfileOptions& options, Context& context) {
  std::vector<std::string> texts;
  for (const auto& path : options.reports) {
    KERNELGEN_TRY(auto text, read_file(path, k_max_report_bytes));
    texts.push_back(std::move(text));
  }
  KERNELGEN_TRY(const auto profile, read_profile_reports(texts));
  std::optional<GpuFacts> gpu;
  if (profile.source.rfind("rocprof", 0) == 0) gpu.emplace().vendor = "amd";
  return show(profile, gpu, options, context);
}

Result<ExitCode> run(const ProfileOptions& options, Context& context) {
  if (!options.reports.empty()) return read_reports(options, context);
  if (options.problem.empty())
    return Error{ErrorCode::InvalidArgument,
                 "--problem is needed: the task whose module, or whose kernel, is profiled"};
  KERNELGEN_TRY(auto request, make_request(options, context));
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_TRY(const auto gpu, choose_device(options, request.candidate, installation, context));
  if (gpu) request.device_uuid = gpu->uuid;
  const auto timeout = std::chrono::milliseconds(static_cast<std::int64_t>(options.timeout_seconds * 1000));
  KERNELGEN_TRY(const auto made, make_profiler(timeout, installation, context));
  if (request.candidate && is_native(request.candidate->target)) {
    KERNELGEN_TRY(request.artifact, compile(*request.candidate, gpu, options.cache_dir, installation, context));
  }
  KERNELGEN_TRY(const auto profile, made->profile(request, context.stop));
  return show(profile, gpu, options, context);
}

void bind_options(CLI::App& command, ProfileOptions& options) {
  command.add_option("--code", options.code, "The kernel: a source file; without it, the task's own module")
      ->type_name("FILE");
  command.add_option("--problem,--task", options.problem, "The task: a file, or level3/40 with KERNELBENCH_DIR")
      ->type_name("TASK");
  command
      .add_option("--report", options.reports,
                  "Profile nothing; read what ncu, rocprof, rocprofv2 or rocprofv3 wrote as CSV. Once for each pass")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.get_option("--report")->excludes("--problem")->excludes("--code");
  command.add_option("--target", options.target, "As for eval; guessed from the file when not given")
      ->type_name("NAME");
  command.add_option("--set", options.set, "Which counters: brief, full, or a stage such as block_tiling")
      ->type_name("SET")
      ->capture_default_str();
  auto* timeline = command.add_flag("--timeline", options.timeline, "Kernels and times only: no counters, no ncu");
  command.get_option("--set")->excludes(timeline);
  command.add_option("--device", options.device, "cpu, or a GPU by index, UUID or name; default: the first GPU")
      ->type_name("NAME");
  command.add_option("--precision", options.precision, "strict, default, tf32, fp16 or bf16")
      ->type_name("CLASS")
      ->capture_default_str();
  command.add_option("--shrink", options.shrink, "Replace a constant of the task file; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  constexpr double k_day = 86400;
  command.add_option("--timeout", options.timeout_seconds, "Limit of each of its two runs, in seconds")
      ->type_name("S")
      ->check(quiet(CLI::Range(1.0, k_day)))
      ->capture_default_str();
  command.add_option("--cache-dir", options.cache_dir, "Compiled kernels; XDG_CACHE_HOME/kernelgen")->type_name("DIR");
  command.add_flag("--json", options.json, "Print the profile as JSON");
}

}  // namespace

void add_profile_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("profile", "Where the time of a kernel goes, and what it waits for");
  const auto options = std::make_shared<ProfileOptions>();
  bind_options(*command, *options);
  command->callback([options, &context, &action] { action = [options, &context] { return run(*options, context); }; });
}

}  // namespace kernelgen::cli
