#include <algorithm>

#include <fmt/format.h>

#include "profile/counter_run.hpp"
#include "profile/ncu_command.hpp"
#include "profile/ncu_report.hpp"
#include "support/files.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

constexpr std::size_t k_max_ncu_report_bytes = 64u << 20;
/// Each run may show metrics that this ncu does not know; the next one leaves them out.
constexpr int k_max_ncu_runs = 3;

/// True when another try may help: with other names for unknown metrics, or fewer metrics.
bool drop_unknown_metrics(std::vector<std::string>& metrics, const NcuReport& report) {
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

}  // namespace

Result<void> read_ncu_counters(const CounterRun& counting, const std::string& ncu, Profile& profile) {
  auto metrics = ncu_names(counting.set);
  for (int i = 0; i < k_max_ncu_runs; ++i) {
    const auto log = counting.scratch / fmt::format("ncu-{}.csv", i);
    KERNELGEN_TRY(const auto outcome, counting.run(ncu_command(ncu, log.string(), metrics,
                                                               choose_launches(profile, counting.max_launches))));
    if (outcome.timed_out) {
      profile.no_counters = ProfileUnavailable{"reading counters was not done within " + counting.limit,
                                               "a smaller set of metrics needs fewer passes"};
      return {};
    }
    const auto text = read_file(log, k_max_ncu_report_bytes);
    const auto report = read_ncu_report(text ? *text : outcome.standard_output + "\n" + outcome.standard_error);
    if (drop_unknown_metrics(metrics, report)) continue;
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

}  // namespace v0
}  // namespace kernelgen
