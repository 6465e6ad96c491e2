#include "profile/ncu_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include <kernelgen/exec/process.hpp>

#include "profile/ncu_report.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Limits for a choice of kernels: their number, and the share of the time that is enough.
constexpr std::size_t k_max_functions = 8;
constexpr double k_enough_share = 0.95;

bool can_run(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

/// Programs named "ncu" below `parent`/*/: Nsight's packages have a folder for each version. Newest name first.
std::vector<std::string> installed_below(const fs::path& parent) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    found.push_back((entry.path() / "ncu").string());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

/// The name without namespaces, as ncu matches it by default, with regular-expression characters escaped.
std::string pattern_of(const std::string& function) {
  std::string name = function;
  if (const auto colons = name.rfind("::"); colons != name.npos) name = name.substr(colons + 2);
  std::string escaped;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!plain) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

ToolLocation locate_ncu(const std::string& name, const std::map<std::string, std::string>& environment) {
  const auto found = find_program(name.empty() ? "ncu" : name, environment);
  if (found && can_run(*found)) return *found;
  if (!name.empty()) return ProfileUnavailable{"there is no program " + name, ""};
  std::vector<std::string> places{"/usr/local/cuda/bin/ncu"};
  const auto packaged = installed_below("/opt/nvidia/nsight-compute");
  places.insert(places.end(), packaged.begin(), packaged.end());
  const auto place = std::find_if(places.begin(), places.end(), can_run);
  if (place != places.end()) return *place;
  return ProfileUnavailable{"Nsight Compute (ncu) is not installed",
                            "install it with CUDA (Debian and Ubuntu with NVIDIA's repository: apt install "
                            "nsight-compute), or put its folder on the PATH"};
}

std::vector<std::string> ncu_names(const MetricSet& set) {
  std::vector<std::string> names{std::string(k_ncu_duration)};
  for (const auto name : set.metrics)
    if (const auto* metric = find_metric(name); metric != nullptr && !metric->ncu.empty())
      names.emplace_back(metric->ncu);
  return names;
}

std::string other_ncu_name(const std::string& name) {
  for (const auto& metric : all_metrics())
    if (metric.ncu == name) return std::string(metric.ncu_other);
  return {};
}

LaunchChoice choose_launches(const Profile& timeline, int max_launches) {
  LaunchChoice choice{.functions = "", .count = max_launches};
  if (timeline.launches() <= max_launches) return choice;
  std::vector<std::string> patterns;
  double share = 0;
  for (const auto& kernel : timeline.kernels) {
    if (patterns.size() == k_max_functions || share >= k_enough_share) break;
    share += timeline.share_of(kernel);
    if (kernel.origin == KernelOrigin::Copy) continue;
    auto pattern = pattern_of(kernel.function);
    if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end()) patterns.push_back(std::move(pattern));
  }
  if (!patterns.empty()) choice.functions = fmt::format("(^|:)({})$", fmt::join(patterns, "|"));
  return choice;
}

std::vector<std::string> ncu_command(const std::string& ncu, const std::string& log,
                                     const std::vector<std::string>& metrics, const LaunchChoice& choice) {
  std::vector<std::string> command{ncu,
                                   "--log-file",
                                   log,
                                   "--csv",
                                   "--page",
                                   "raw",
                                   "--print-units",
                                   "base",
                                   "--clock-control",
                                   "none",
                                   "--profile-from-start",
                                   "off",
                                   "--target-processes",
                                   "application-only",
                                   "--launch-count",
                                   std::to_string(choice.count),
                                   "--metrics",
                                   fmt::format("{}", fmt::join(metrics, ","))};
  if (!choice.functions.empty()) {
    command.emplace_back("--kernel-name");
    command.push_back("regex:" + choice.functions);
  }
  return command;
}

}  // namespace v0
}  // namespace kernelgen
