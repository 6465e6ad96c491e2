#include <kernelgen/profile/metrics.hpp>
#include <kernelgen/profile/profiler.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "profile/call_job.hpp"
#include "profile/ncu_command.hpp"
#include "profile/ncu_report.hpp"
#include "profile/timeline.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_report_bytes = 64u << 20;
/// Each run may show metrics that this ncu does not know; the next one leaves them out.
constexpr int k_max_runs = 3;

enum class Mode { Timeline, Counters };

class NcuProfiler final : public Profiler {
 public:
  NcuProfiler(NcuProfilerOptions options, ProcessRunner& runner) : options_(std::move(options)), runner_(runner) {}

  Result<Profile> profile(const ProfileRequest& request, std::stop_token stop) override {
    const auto* set = find_metric_set(request.metric_set);
    if (set == nullptr && request.counters == Counters::Read)
      return Error{ErrorCode::InvalidArgument,
                   "unknown set of metrics " + request.metric_set + "; there are " + sets()};
    KERNELGEN_TRY(const auto scratch, TemporaryDirectory::create(options_.scratch_dir, "kgen-profile-"));
    KERNELGEN_TRY(auto profile, timeline(request, scratch.path(), stop));
    if (profile.unavailable || request.counters == Counters::None) return profile;
    profile.metric_set = request.metric_set;
    if (!request.gpu) {
      profile.no_counters = ProfileUnavailable{"a CPU has no counters that this profiler reads", ""};
      return profile;
    }
    const auto ncu = locate_ncu(options_.ncu, options_.environment);
    if (!ncu) {
      profile.no_counters = ncu.error();
      return profile;
    }
    KERNELGEN_CHECK(read_counters(request, *set, *ncu, scratch.path(), profile, stop));
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

  Result<ProcessOutcome> run(std::vector<std::string> command, const ProfileRequest& request, std::stop_token stop) {
    ProcessRequest process{.command = std::move(command), .environment = options_.environment};
    set_call_environment(process.environment, options_.installation, request);
    process.working_directory = "/";
    process.timeout = options_.timeout;
    return runner_.run(process, std::move(stop));
  }

  [[nodiscard]] std::vector<std::string> python_command(const fs::path& job) const {
    return call_command(options_.python, job);
  }

  [[nodiscard]] std::string limit() const {
    return fmt::format("{:.0f} s", std::chrono::duration<double>(options_.timeout).count());
  }

  Result<Profile> timeline(const ProfileRequest& request, const fs::path& scratch, const std::stop_token& stop) {
    KERNELGEN_TRY(const auto job, write_job(request, Mode::Timeline, scratch));
    KERNELGEN_TRY(const auto outcome, run(python_command(job), request, stop));
    if (outcome.timed_out) {
      Profile profile;
      profile.source = "timeline";
      profile.unavailable = ProfileUnavailable{"it was not done within " + limit(), ""};
      return profile;
    }
    const auto text = read_file(scratch / "timeline.json", k_max_report_bytes);
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

  Result<void> read_counters(const ProfileRequest& request, const MetricSet& set, const std::string& ncu,
                             const fs::path& scratch, Profile& profile, const std::stop_token& stop) {
    KERNELGEN_TRY(const auto job, write_job(request, Mode::Counters, scratch));
    auto metrics = ncu_names(set);
    for (int i = 0; i < k_max_runs; ++i) {
      const auto log = scratch / fmt::format("ncu-{}.csv", i);
      auto command = ncu_command(ncu, log.string(), metrics, choose_launches(profile, options_.max_launches));
      const auto python = python_command(job);
      command.insert(command.end(), python.begin(), python.end());
      KERNELGEN_TRY(const auto outcome, run(std::move(command), request, stop));
      if (outcome.timed_out) {
        profile.no_counters = ProfileUnavailable{"reading counters was not done within " + limit(),
                                                 "a smaller set of metrics needs fewer passes"};
        return {};
      }
      const auto text = read_file(log, k_max_report_bytes);
      const auto report = read_ncu_report(text ? *text : outcome.standard_output + "\n" + outcome.standard_error);
      if (drop_unknown(metrics, report)) continue;
      profile.no_counters = explain_missing_counters(report);
      if (!profile.no_counters) {
        profile.source = "ncu";
        add_counters(profile, report);
      }
      return {};
    }
    profile.no_counters = ProfileUnavailable{"this Nsight Compute does not know the metrics", "install a newer one"};
    return {};
  }

  /// True when another try may help: with other names for unknown metrics, or fewer metrics.
  static bool drop_unknown(std::vector<std::string>& metrics, const NcuReport& report) {
    if (!report.launches.empty()) return false;
    const auto unknown = unknown_metrics(report, metrics);
    for (const auto& name : unknown) {
      const auto at = std::find(metrics.begin(), metrics.end(), name);
      const auto other = other_ncu_name(name);
      if (other.empty())
        metrics.erase(at);
      else
        *at = other;
    }
    return !unknown.empty() && !metrics.empty();
  }

  const NcuProfilerOptions options_;
  ProcessRunner& runner_;
};

}  // namespace

Result<std::unique_ptr<Profiler>> make_ncu_profiler(NcuProfilerOptions options, ProcessRunner& runner) {
  std::error_code error;
  if (!fs::is_directory(options.installation.python_dir / "kernelgen_profile", error))
    return Error{
        ErrorCode::NotFound, "cannot profile: no kernelgen_profile in " + options.installation.python_dir.string(), {}};
  if (options.calls < 1 || options.warmups < 0 || options.max_launches < 1)
    return Error{ErrorCode::InvalidArgument, "a profile needs at least one call and one launch", {}};
  return std::unique_ptr<Profiler>(std::make_unique<NcuProfiler>(std::move(options), runner));
}

}  // namespace v0
}  // namespace kernelgen
