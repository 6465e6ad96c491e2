#include "fuzz/profile_fuzz.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

#include <kernelgen/profile/findings.hpp>

#include "profile/ncu_report.hpp"
#include "profile/timeline.hpp"

using namespace kernelgen;

namespace {

/// Numbers are finite, every launch has a name, and a report without launches says why.
void check_report(const NcuReport& report) {
  if (report.launches.empty() != explain_missing_counters(report).has_value()) std::abort();
  for (const auto& launch : report.launches) {
    if (!std::isfinite(launch.duration_ns)) std::abort();
    for (const auto& metric : launch.metrics)
      if (!std::isfinite(metric.value) || find_metric(metric.name) == nullptr) std::abort();
  }
}

void check_profile(const Profile& profile) {
  double before = INFINITY;
  for (const auto& kernel : profile.kernels) {
    if (kernel.duration_ns > before) std::abort();
    before = kernel.duration_ns;
  }
  for (const auto& finding : find_bottlenecks(profile))
    if (finding.message.empty() || std::isnan(finding.weight)) std::abort();
  const auto again = parse_profile(to_json(profile));
  if (!again || again->kernels.size() != profile.kernels.size()) std::abort();
}

}  // namespace

void fuzz_profile(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = read_ncu_report(text);
  check_report(report);
  Profile profile;
  add_counters(profile, report);
  check_profile(profile);
  if (auto timeline = parse_timeline(text)) {
    add_counters(*timeline, report);
    check_profile(*timeline);
  }
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_profile(data, size);
  return 0;
}
#endif
