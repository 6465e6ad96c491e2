#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "profile/call_job.hpp"
#include "profile/counter_run.hpp"
#include "profile/launches.hpp"
#include "profile/rocprof_command.hpp"
#include "profile/rocprof_report.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t k_max_rocprof_bytes = 256u << 20;

/// Every table below a directory, because versions of the profiler name files and directories differently.
std::vector<KernelLaunch> read_tables_below(const fs::path& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(directory, error); entry != fs::recursive_directory_iterator();
       entry.increment(error)) {
    if (error) break;
    // A process in a sandbox may have left a link there.
    if (entry->path().extension() == ".csv" && !entry->is_symlink(error)) paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<KernelLaunch> launches;
  for (const auto& path : paths) {
    const auto text = read_file(path, k_max_rocprof_bytes);
    auto report = text ? read_rocprof_table(*text) : std::nullopt;
    if (!report) continue;
    launches.insert(launches.end(), std::make_move_iterator(report->launches.begin()),
                    std::make_move_iterator(report->launches.end()));
  }
  return launches;
}

/// Whether a metric is counted, and not a size that each table has.
bool is_counted(const Metric& metric) {
  return metric.name != "grid_blocks" && metric.name != "block_threads" && metric.name != "registers_per_thread" &&
         metric.name != "shared_bytes_per_block";
}

/// Runs the process under rocprofv3 or rocprof, pass by pass.
class RocprofRuns {
 public:
  RocprofRuns(const CounterRun& counting, const std::string& program)
      : counting_(counting), program_(program), version_(rocprof_version(program)) {}

  Result<void> read(Profile& profile) {
    for (const auto& pass : rocprof_passes(counting_.set, counting_.architecture)) {
      KERNELGEN_CHECK(read_pass(pass));
      if (timed_out_ || !has_counters_) break;
    }
    profile.no_counters = reason();
    if (profile.no_counters) return {};
    const auto counted = last_launches(profile, launches_);
    if (counted.empty()) {
      profile.no_counters = ProfileUnavailable{version_ + " counted other kernels than those of the call", ""};
      return {};
    }
    profile.source = version_;
    add_launches(profile, counted);
    return {};
  }

 private:
  /// Counters that this device or version does not know spoil a pass, so its groups are tried one by one then.
  Result<void> read_pass(const RocprofPass& pass) {
    KERNELGEN_TRY(const bool done, run_pass(pass));
    if (done || timed_out_ || pass.size() == 1) return {};
    for (const auto& group : pass) {
      KERNELGEN_CHECK(run_pass({group}));
      if (timed_out_) break;
    }
    return {};
  }

  /// True if the pass was counted.
  Result<bool> run_pass(const RocprofPass& pass) {
    const auto directory = counting_.scratch / fmt::format("rocprof-{}", ++runs_);
    KERNELGEN_CHECK(make_directories(directory / "out"));
    const auto input = directory / "input.txt";
    KERNELGEN_CHECK(write_file_atomic(input, rocprof_input(pass), {.durability = Durability::Rename}));
    KERNELGEN_TRY(const auto outcome, counting_.run(rocprof_command(program_, input, directory / "out")));
    timed_out_ = outcome.timed_out;
    const auto launches = outcome.success() ? read_tables_below(directory / "out") : std::vector<KernelLaunch>();
    if (launches.empty()) {
      if (failure_.empty()) failure_ = explain(outcome);
      return false;
    }
    for (const auto& launch : launches)
      for (const auto& metric : launch.metrics)
        if (is_counted(metric)) {
          has_counters_ = true;
          has_nonzero_ = has_nonzero_ || metric.value != 0;
        }
    add_pass(launches_, launches);
    return true;
  }

  [[nodiscard]] std::string explain(const ProcessOutcome& outcome) const {
    const auto words = last_output_line(outcome);
    return version_ + (outcome.success() ? " wrote no table" : " ended with " + outcome.to_line()) +
           (words.empty() ? "" : ": " + words);
  }

  [[nodiscard]] std::optional<ProfileUnavailable> reason() const {
    if (timed_out_)
      return ProfileUnavailable{"reading counters was not done within " + counting_.limit,
                                "a smaller set of metrics needs fewer passes"};
    if (!has_counters_)
      return ProfileUnavailable{failure_.empty() ? version_ + " has no counters for this GPU" : failure_, ""};
    if (!has_nonzero_)
      return ProfileUnavailable{version_ + " read 0 from every counter", "a newer ROCm may know this GPU"};
    return std::nullopt;
  }

  const CounterRun& counting_;
  const std::string& program_;
  const std::string version_;
  std::vector<KernelLaunch> launches_;
  /// Why the first pass that failed did.
  std::string failure_;
  int runs_ = 0;
  bool timed_out_ = false, has_counters_ = false, has_nonzero_ = false;
};

}  // namespace

Result<void> read_rocprof_counters(const CounterRun& counting, const std::string& rocprof, Profile& profile) {
  return RocprofRuns(counting, rocprof).read(profile);
}

}  // namespace v0
}  // namespace kernelgen
