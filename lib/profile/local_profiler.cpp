#include <kernelgen/platform/platform.hpp>
#include <kernelgen/profile/metrics.hpp>
#include <kernelgen/profile/profiler.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "exec/sandbox.hpp"
#include "profile/call_job.hpp"
#include "profile/counter_run.hpp"
#include "profile/ncu_command.hpp"
#include "profile/rocprof_command.hpp"
#include "profile/timeline.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_timeline_bytes = 64u << 20;

enum class Mode { Timeline, Counters };

class LocalProfiler final : public Profiler {
 public:
  LocalProfiler(LocalProfilerOptions options, ProcessRunner& runner) : options_(std::move(options)), runner_(runner) {}

  Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) override {
    const auto* set = find_metric_set(request.metric_set);
    if (set == nullptr && request.counters == Counters::Read)
      return Error{ErrorCode::InvalidArgument,
                   "unknown set of metrics " + request.metric_set + "; there are " + sets()};
    KERNELGEN_TRY(const auto directory, TemporaryDirectory::create(options_.scratch_dir, "kgen-profile-"));
    // The process may write there; the sandbox's own report lies beside it.
    const auto scratch = directory.path() / "work";
    KERNELGEN_CHECK(make_directories(scratch));
    KERNELGEN_TRY(auto profile, timeline(request, scratch, stop));
    if (profile.unavailable || request.counters == Counters::None) return profile;
    profile.metric_set = request.metric_set;
    if (!request.gpu) {
      profile.no_counters = ProfileUnavailable{"a CPU has no counters that this profiler reads", ""};
      return profile;
    }
    auto read = read_counters(request, *set, scratch, profile, stop);
    // A sandbox that is too narrow for the counter program says nothing about the module.
    if (!read && is_sandboxed() && read.error().code == ErrorCode::Unavailable)
      profile.no_counters = ProfileUnavailable{read.error().message, ""};
    else
      KERNELGEN_CHECK(std::move(read));
    if (!profile.no_counters) add_derived_metrics(profile, *request.gpu);
    return profile;
  }

 private:
  static std::string sets() {
    std::vector<std::string_view> names;
    for (const auto& set : metric_sets()) names.push_back(set.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  /// Writes the input of the process; returns the path of that file.
  [[nodiscard]] Result<fs::path> write_job(const ProfileRequest& request, Mode mode, const fs::path& scratch) const {
    const bool is_timeline = mode == Mode::Timeline;
    return write_call_job(request,
                          {.mode = is_timeline ? "timeline" : "counters",
                           .warmups = options_.warmups,
                           .calls = is_timeline ? options_.calls : 1,
                           .result = (scratch / "timeline.json").string()},
                          scratch / "job.json");
  }

  [[nodiscard]] bool is_sandboxed() const { return options_.sandbox == ProfilerSandbox::Required; }

  Result<ProcessOutcome> run(std::vector<std::string> command, const ProfileRequest& request, const fs::path& scratch,
                             std::stop_token stop) {
    ProcessRequest process{.command = std::move(command), .environment = options_.environment};
    set_call_environment(process.environment, options_.installation, request);
    process.timeout = options_.timeout;
    if (is_sandboxed()) return run_in_sandbox(std::move(process), request, scratch, std::move(stop));
    process.working_directory = "/";
    return runner_.run(process, std::move(stop));
  }

  /// Runs the process with the rights of a candidate: it sees toolchains and its GPU, and writes to `scratch` alone.
  Result<ProcessOutcome> run_in_sandbox(ProcessRequest process, const ProfileRequest& request, const fs::path& scratch,
                                        std::stop_token stop) {
    const auto& environment = process.environment;
    KERNELGEN_TRY(process.command.front(), find_program(process.command.front(), environment));
    CallSandbox place{.installation = options_.installation,
                      .python = {},
                      .program = process.command.front(),
                      .readable = {"/opt/rocm"},
                      .work = scratch};
    KERNELGEN_TRY(place.python, find_program(options_.python, environment));
    for (const char* name : {"ROCM_PATH", "CUDA_HOME", "CUDA_PATH"})
      if (const auto found = environment.find(name); found != environment.end())
        place.readable.push_back(found->second);
    return run_call_sandboxed(std::move(process), request, place, runner_, std::move(stop));
  }

  /// The result of the process; empty if it wrote none. A sandboxed one may have left a link there.
  [[nodiscard]] static Result<std::string> read_result(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(file, error)))
      return Error{ErrorCode::NotFound, file.string() + " is no regular file"};
    return read_file(file, k_max_timeline_bytes);
  }

  [[nodiscard]] std::vector<std::string> python_command(const fs::path& job) const {
    return call_command(options_.python, job);
  }

  [[nodiscard]] std::string limit() const {
    return fmt::format("{:.0f} s", std::chrono::duration<double>(options_.timeout).count());
  }

  Result<Profile> timeline(const ProfileRequest& request, const fs::path& scratch, const std::stop_token& stop) {
    KERNELGEN_TRY(const auto job, write_job(request, Mode::Timeline, scratch));
    const auto ran = run(python_command(job), request, scratch, stop);
    if (!ran && is_sandboxed() && ran.error().code == ErrorCode::Unavailable) {
      Profile profile;
      profile.source = "timeline";
      profile.unavailable = ProfileUnavailable{ran.error().message, ""};
      return profile;
    }
    if (!ran) return ran.error();
    const auto& outcome = *ran;
    if (outcome.timed_out) {
      Profile profile;
      profile.source = "timeline";
      profile.unavailable = ProfileUnavailable{"it was not done within " + limit(), ""};
      return profile;
    }
    const auto text = read_result(scratch / "timeline.json");
    if (text) return parse_timeline(*text);
    // Without output, the interpreter or the module ended the process.
    const auto words = last_output_line(outcome);
    if (words.find("No module named") != words.npos)
      return Error{
          ErrorCode::MissingTool, options_.python + ": " + words + "; set KGEN_PYTHON to a Python that has torch", {}};
    Profile profile;
    profile.source = "timeline";
    profile.unavailable = ProfileUnavailable{"its process ended with " + outcome.to_line() + ": " + words,
                                             "evaluate the candidate: its record tells more"};
    return profile;
  }

  Result<void> read_counters(const ProfileRequest& request, const MetricSet& set, const fs::path& scratch,
                             Profile& profile, const std::stop_token& stop) {
    const auto program = platform_of(request.gpu->vendor).counters;
    if (program == CounterProgram::None) {
      profile.no_counters = ProfileUnavailable{"there is no profiler for GPUs of " + request.gpu->vendor, ""};
      return {};
    }
    const bool is_ncu = program == CounterProgram::Ncu;
    const auto tool = is_ncu ? locate_ncu(options_.ncu, options_.environment)
                             : locate_rocprof(options_.rocprof, options_.environment);
    if (!tool) {
      profile.no_counters = tool.error();
      return {};
    }
    KERNELGEN_TRY(const auto job, write_job(request, Mode::Counters, scratch));
    const auto run_behind = [&](std::vector<std::string> command) {
      const auto python = python_command(job);
      command.insert(command.end(), python.begin(), python.end());
      return run(std::move(command), request, scratch, stop);
    };
    const CounterRun counting{.set = set,
                              .architecture = request.gpu->architecture,
                              .scratch = scratch,
                              .max_launches = options_.max_launches,
                              .limit = limit(),
                              .run = run_behind};
    return is_ncu ? read_ncu_counters(counting, *tool, profile) : read_rocprof_counters(counting, *tool, profile);
  }

  const LocalProfilerOptions options_;
  ProcessRunner& runner_;
};

}  // namespace

Result<std::unique_ptr<Profiler>> make_local_profiler(LocalProfilerOptions options, ProcessRunner& runner) {
  std::error_code error;
  if (!fs::is_directory(options.installation.python_dir / "kernelgen_profile", error))
    return Error{
        ErrorCode::NotFound, "cannot profile: no kernelgen_profile in " + options.installation.python_dir.string(), {}};
  if (options.calls < 1 || options.warmups < 0 || options.max_launches < 1)
    return Error{ErrorCode::InvalidArgument, "a profile needs at least one call and one launch", {}};
  return std::unique_ptr<Profiler>(std::make_unique<LocalProfiler>(std::move(options), runner));
}

}  // namespace v0
}  // namespace kernelgen
