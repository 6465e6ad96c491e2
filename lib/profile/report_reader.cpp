#include <kernelgen/profile/report_reader.hpp>

#include <kernelgen/platform/platform.hpp>

#include "profile/ncu_report.hpp"
#include "profile/rocprof_report.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// The launches in one file, and the profiler that wrote it.
struct Report {
  RocprofReport content;
  std::optional<ProfileUnavailable> reason;
};

Report of_rocprof(RocprofReport content) {
  Report report{std::move(content), std::nullopt};
  if (report.content.launches.empty()) report.reason = ProfileUnavailable{"no kernel was launched", ""};
  return report;
}

/// Nothing for a file that no profiler wrote.
Result<std::optional<Report>> read_report(const std::string& text) {
  if (is_sqlite(text)) {
    KERNELGEN_TRY(auto rocpd, read_rocpd(text));
    return std::optional(of_rocprof(std::move(rocpd)));
  }
  auto rocprof = read_rocprof_json(text);
  if (!rocprof) rocprof = read_rocprof_table(text);
  if (rocprof) return std::optional(of_rocprof(*std::move(rocprof)));
  auto ncu = read_ncu_report(text);
  const bool spoken = !ncu.errors.empty() || !ncu.warnings.empty();
  if (ncu.launches.empty() && !spoken) return std::optional<Report>();
  auto reason = explain_missing_counters(ncu);
  return std::optional(Report{{"ncu", {}, std::move(ncu.launches)}, std::move(reason)});
}

}  // namespace

Result<Profile> read_profile_reports(const std::vector<std::string>& texts) {
  Profile profile;
  std::vector<KernelLaunch> launches;
  std::optional<ProfileUnavailable> reason;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto number = "report " + std::to_string(i + 1);
    auto report = read_report(texts[i]);
    if (!report)
      return Error{ErrorCode::InvalidArgument,
                   number + " is a database, but not one of rocpd that can be read: " + report.error().message +
                       "; see docs/profiling.md",
                   {}};
    if (!*report)
      return Error{ErrorCode::InvalidArgument,
                   number + " has no table of ncu, rocprof, rocprofv2 or rocprofv3; see docs/profiling.md",
                   {}};
    auto& [content, why] = **report;
    profile.source = content.source;
    if (profile.device.empty()) profile.device = content.device;
    if (!reason) reason = std::move(why);
    add_pass(launches, content.launches);
  }
  if (texts.empty()) return Error{ErrorCode::InvalidArgument, "there is no report to read", {}};
  add_launches(profile, launches);
  if (profile.kernels.empty()) profile.unavailable = std::move(reason);
  return profile;
}

std::optional<GpuFacts> reported_gpu(const Profile& profile, const GpuCatalog& catalog) {
  if (const auto models = find_gpu_models(catalog, profile.device); !models.empty()) return models.front()->facts;
  for (const auto* platform : platforms())
    if (platform->counters == CounterProgram::Rocprof && profile.source.starts_with("rocprof"))
      return GpuFacts{.vendor = platform->vendor};
  return std::nullopt;
}

}  // namespace v0
}  // namespace kernelgen
