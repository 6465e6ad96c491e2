#include <kernelgen/profile/report_reader.hpp>

#include <algorithm>
#include <map>

#include "profile/ncu_report.hpp"
#include "profile/rocprof_report.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The launches in one text, and the profiler that wrote it.
struct Report {
  std::string source;
  std::vector<KernelLaunch> launches;
  std::optional<ProfileUnavailable> reason;
};

std::optional<Report> read_report(const std::string& text) {
  if (auto rocprof = read_rocprof_report(text)) {
    Report report{std::move(rocprof->source), std::move(rocprof->launches), std::nullopt};
    if (report.launches.empty()) report.reason = ProfileUnavailable{"no kernel was launched", ""};
    return report;
  }
  auto ncu = read_ncu_report(text);
  const bool spoken = !ncu.errors.empty() || !ncu.warnings.empty();
  if (ncu.launches.empty() && !spoken) return std::nullopt;
  auto reason = explain_missing_counters(ncu);
  return Report{"ncu", std::move(ncu.launches), std::move(reason)};
}

/// Each pass runs the same launches again: the first launch of a kernel in one is the first in the other.
void merge(std::vector<KernelLaunch>& launches, const std::vector<KernelLaunch>& pass) {
  std::map<std::string, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i < launches.size(); ++i) places[launches[i].kernel].push_back(i);
  std::map<std::string, std::size_t> seen;
  for (const auto& launch : pass) {
    const auto& same = places[launch.kernel];
    const auto index = seen[launch.kernel]++;
    if (index >= same.size()) {
      launches.push_back(launch);
      continue;
    }
    auto& into = launches[same[index]];
    if (!(into.duration_ns > 0)) into.duration_ns = launch.duration_ns;
    for (const auto& metric : launch.metrics) {
      const auto known = [&](const Metric& one) { return one.name == metric.name; };
      if (std::none_of(into.metrics.begin(), into.metrics.end(), known)) into.metrics.push_back(metric);
    }
  }
}

}  // namespace

Result<Profile> read_profile_reports(const std::vector<std::string>& texts) {
  Profile profile;
  std::vector<KernelLaunch> launches;
  std::optional<ProfileUnavailable> reason;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto report = read_report(texts[i]);
    if (!report)
      return Error{ErrorCode::InvalidArgument,
                   "report " + std::to_string(i + 1) +
                       " has no table of ncu, rocprof, rocprofv2 or rocprofv3; see docs/profiling.md",
                   {}};
    profile.source = report->source;
    if (!reason) reason = std::move(report->reason);
    merge(launches, report->launches);
  }
  if (texts.empty()) return Error{ErrorCode::InvalidArgument, "there is no report to read", {}};
  add_launches(profile, launches);
  if (profile.kernels.empty()) profile.unavailable = std::move(reason);
  return profile;
}

}  // namespace v0
}  // namespace kernelgen
